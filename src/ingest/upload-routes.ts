/** Handlers of feed uploads. */
import { Effect } from "effect"
import type { Caller } from "../identity/caller.ts"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { deletable, reachesOwnName, writable } from "../engine-plane/reached.ts"
import { CatalogNames } from "../catalog/names.ts"
import { Reply } from "../http/reply.ts"
import { implement } from "../api/implement.ts"
import * as contract from "./contract.ts"
import { FeedTooLarge, LengthRequired, UploadNotFound } from "./errors.ts"
import { FEED_BYTES_MAX, KeptFeeds } from "./feeds/kept-feeds.ts"
import { checksumIn, headersOf, lengthIn, metadataIn, offsetIn, requireVersion } from "./tus.ts"
import { type AskedUpload, Uploads } from "./uploads.ts"

type Query = NonNullable<(typeof contract.uploadIngestFeed)["query"]>["Type"]
const given = (text: string | undefined): string | undefined => (text === "" ? undefined : text)
const configOf = ({ confirm_deletes, create_collection, full, id_field }: Query) => ({
  ...(full === "true" ? { full: true } : {}),
  ...(create_collection === "true" ? { create_collection: true } : {}),
  ...(confirm_deletes === "true" ? { confirm_deletes: true } : {}),
  ...(given(id_field) === undefined ? {} : { id_field: given(id_field)! })
})
/** Checks the length before a byte of the body is read. */
const contentLength = (text: string | undefined): Effect.Effect<number, LengthRequired | FeedTooLarge> => {
  const length = text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined
  if (length === undefined) return Effect.fail(new LengthRequired({ message: "Header `Content-Length` is required." }))
  return length > FEED_BYTES_MAX
    ? Effect.fail(new FeedTooLarge({ message: `A feed is at most ${FEED_BYTES_MAX} bytes long.` }))
    : Effect.succeed(length)
}

export const uploadRoutes = Effect.gen(function* () {
  const uploads = yield* Uploads
  const feeds = yield* KeptFeeds
  const names = yield* CatalogNames
  const contextOf = yield* makeContexts
  /** The requested upload, if the key may write to its collection. */
  const asked = Effect.fnUntraced(function* (caller: Caller, query: Query) {
    const { organizationId } = caller
    const context = contextOf(organizationId)
    const collection = names.resolve(organizationId, query.collection) ?? query.collection
    yield* writable(context, caller, collection)
    if (query.full === "true") yield* deletable(context, caller, collection)
    const upload: AskedUpload = {
      organizationId,
      collection,
      format: query.format,
      name: given(query.name),
      config: configOf(query)
    }
    return upload
  })
  /** To a key, an upload into a collection that it may not access does not exist. */
  const found = Effect.fnUntraced(function* (caller: Caller, id: string) {
    const collection = (yield* feeds.get(caller.organizationId, id))?.upload?.collection
    if (collection === undefined || !reachesOwnName(contextOf(caller.organizationId), caller, collection))
      return yield* new UploadNotFound({ message: `Upload ${id} does not exist.` })
    return id
  })
  return [
    implement(
      contract.uploadIngestFeed,
      Effect.fnUntraced(function* ({ again, caller, headers, query, stream }) {
        const upload = yield* asked(caller, yield* query)
        const length = yield* contentLength(headers["content-length"])
        return yield* uploads.raw(upload, { length, stream: yield* stream, isAllowed: again })
      })
    ),
    implement(
      contract.createIngestUpload,
      Effect.fnUntraced(function* ({ caller, headers, query }) {
        const upload = yield* asked(caller, yield* query)
        yield* requireVersion(headers)
        const state = yield* uploads.begin(upload, yield* lengthIn(headers), yield* metadataIn(headers))
        return new Reply(201, JSON.stringify({ id: state.id }), "application/json", {
          ...headersOf(state),
          location: `/v1/ingest/uploads/${state.id}`
        })
      })
    ),
    implement(
      contract.getIngestUpload,
      Effect.fnUntraced(function* ({ caller, params }) {
        const state = yield* uploads.state(caller.organizationId, yield* found(caller, params.uploadId))
        const { metadata: _metadata, job_id, ...shown } = state
        const body = { ...shown, ...(job_id === undefined ? {} : { job_id }) }
        return new Reply(200, JSON.stringify(body), "application/json", headersOf(state))
      })
    ),
    implement(
      contract.appendIngestUpload,
      Effect.fnUntraced(function* ({ caller, headers, params, stream }) {
        const id = yield* found(caller, params.uploadId)
        yield* requireVersion(headers)
        const offset = yield* offsetIn(headers)
        const checksum = yield* checksumIn(headers)
        const state = yield* uploads.append(caller.organizationId, id, { offset, checksum, stream: yield* stream })
        return new Reply(204, "", "application/json", headersOf(state))
      })
    ),
    implement(
      contract.deleteIngestUpload,
      Effect.fnUntraced(function* ({ caller, headers, params }) {
        const id = yield* found(caller, params.uploadId)
        yield* requireVersion(headers)
        yield* uploads.remove(caller.organizationId, id)
        return new Reply(204, "", "application/json", { "tus-resumable": "1.0.0" })
      })
    )
  ]
})
