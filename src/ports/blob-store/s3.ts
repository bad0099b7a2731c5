/**
 * Blobs as objects of a bucket that all processes of an installation share: `prefix/organization/id`. One request
 * stores an object, so a process that dies halfway leaves nothing behind.
 */
import { createHash } from "node:crypto"
import type { IncomingMessage } from "node:http"
import { Effect, Layer, Schedule } from "effect"
import { PiecesBroken } from "../piece-files.ts"
import {
  BlobFailure,
  blobFailure,
  type BlobKey,
  type BlobRange,
  BlobStore,
  isBlobName,
  LISTED_MAX,
  missingBlob,
  type NewBlob,
  pathOf
} from "./blob-store.ts"
import { listingOf } from "./s3-listing.ts"
import { type S3Options, S3Requests, textOfAnswer } from "./s3-requests.ts"

/** Number of times that a request without a body is repeated after an error of the server or the connection. */
const AGAIN = 2
const PAUSE_MS = 200

const refused = async (answer: IncomingMessage): Promise<BlobFailure> => {
  const text = await textOfAnswer(answer)
  answer.destroy()
  const code = /<Code>([A-Za-z]{1,60})<\/Code>/.exec(text)?.[1]
  return new BlobFailure({
    kind: "store",
    message: `The S3 server answered ${answer.statusCode}${code === undefined ? "" : ` (${code})`}.`
  })
}
/** Reads the body to its end, so that the connection can be reused. */
const drained = async (answer: IncomingMessage): Promise<void> => void (await textOfAnswer(answer))

const put = async (requests: S3Requests, prefix: string, key: BlobKey, { length, pieces }: NewBlob) => {
  const hash = createHash("sha256")
  const seen = async function* () {
    for await (const piece of pieces) {
      hash.update(piece)
      yield piece
    }
  }
  try {
    const answer = await requests.send({ method: "PUT", key: prefix + pathOf(key), body: { length, pieces: seen() } })
    if (answer.statusCode !== 200) throw await refused(answer)
    await drained(answer)
    return { sha256: hash.digest("hex") }
  } catch (error) {
    if (!(error instanceof PiecesBroken)) throw error
    throw new BlobFailure({ kind: error.kind === "source" ? "source" : "length", message: error.message })
  }
}
const get = async (requests: S3Requests, prefix: string, key: BlobKey, range: BlobRange | undefined) => {
  const headers: Record<string, string> = range === undefined ? {} : { range: `bytes=${range.start}-${range.end}` }
  const answer = await requests.send({ method: "GET", key: prefix + pathOf(key), headers })
  if (answer.statusCode === (range === undefined ? 200 : 206)) return answer
  if (answer.statusCode !== 404) throw await refused(answer)
  await drained(answer)
  throw missingBlob()
}
const remove = async (requests: S3Requests, prefix: string, key: BlobKey): Promise<void> => {
  const answer = await requests.send({ method: "DELETE", key: prefix + pathOf(key) })
  if (answer.statusCode !== 204 && answer.statusCode !== 200 && answer.statusCode !== 404) throw await refused(answer)
  await drained(answer)
}
const listing = async (requests: S3Requests, query: Readonly<Record<string, string>>) => {
  const answer = await requests.send({
    method: "GET",
    key: "",
    query: { "list-type": "2", "max-keys": String(LISTED_MAX), ...query }
  })
  if (answer.statusCode !== 200) throw await refused(answer)
  return listingOf(await textOfAnswer(answer))
}
/** A key that sorts after every key of the organization: `0` follows `/`. */
const behind = (organizationId: string): string => `${organizationId}0`
const organizations = async (requests: S3Requests, prefix: string, after: string) => {
  const { prefixes } = await listing(requests, {
    prefix,
    delimiter: "/",
    ...(after === "" ? {} : { "start-after": prefix + behind(after) })
  })
  return prefixes.map((text) => text.slice(prefix.length, -1)).filter((name) => isBlobName(name) && name > after)
}
const ids = async (requests: S3Requests, prefix: string, organizationId: string, after: string) => {
  const folder = prefix + pathOf({ organizationId, id: "x" }).slice(0, -1)
  const { keys } = await listing(requests, {
    prefix: folder,
    ...(after === "" ? {} : { "start-after": folder + after })
  })
  return keys.map((key) => key.slice(folder.length)).filter(isBlobName)
}

export const layerS3 = (options: S3Options): Layer.Layer<BlobStore> =>
  Layer.effect(
    BlobStore,
    Effect.gen(function* () {
      const { prefix } = options
      const requests = yield* Effect.acquireRelease(
        Effect.sync(() => new S3Requests(options)),
        (own) => Effect.sync(() => own.close())
      )
      const tried = <A>(run: () => Promise<A>) => Effect.tryPromise({ try: run, catch: blobFailure })
      const checked = (key: BlobKey) => Effect.try({ try: () => pathOf(key), catch: blobFailure })
      const triedAgain = <A>(run: () => Promise<A>) =>
        Effect.retry(Effect.tryPromise({ try: run, catch: blobFailure }), {
          times: AGAIN,
          while: ({ kind }) => kind === "store",
          schedule: Schedule.exponential(PAUSE_MS)
        })
      return BlobStore.of({
        put: (key, blob) => tried(() => put(requests, prefix, key, blob)),
        get: (key, range) =>
          Effect.andThen(
            checked(key),
            triedAgain(() => get(requests, prefix, key, range))
          ),
        remove: (key) =>
          Effect.andThen(
            checked(key),
            triedAgain(() => remove(requests, prefix, key))
          ),
        organizations: (after) => triedAgain(() => organizations(requests, prefix, after)),
        ids: (organizationId, after) => triedAgain(() => ids(requests, prefix, organizationId, after))
      })
    })
  )
