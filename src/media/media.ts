/**
 * Media of organizations: assets whose bytes are uploaded once and never change. Rows are in Postgres, bytes in the
 * blob store.
 *
 * Decision: a plan's limits count empty assets, and bytes from their announcement on, so that concurrent uploads never
 * exceed them.
 */
import { Identifiers } from "@dowser/log/identifiers"
import type { Outbox } from "@dowser/log/outbox"
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { Readable } from "node:stream"
import { NotFound } from "../http/errors.ts"
import type { RowReaders } from "../identity/row-readers.ts"
import { Installation } from "../installation.ts"
import type { Entitlements } from "../metering/entitlements.ts"
import type { FeatureNotInPlan } from "../metering/errors.ts"
import type { BlobRange, BlobStore } from "../ports/blob-store/blob-store.ts"
import type { StoredAsset } from "./assets-repository.ts"
import { asDefect, makeStoring, missingAsset, type NewContent, type StoreFailure, type Storing } from "./storing.ts"
import { sweeping } from "./sweeping.ts"

interface NewAsset {
  readonly filename: string | undefined
  readonly contentType: string | undefined
}
interface MediaShape {
  /** Sorted by id. */
  readonly list: (
    organizationId: string,
    page: { readonly cursor: string | undefined; readonly limit: number }
  ) => Effect.Effect<ReadonlyArray<StoredAsset>>
  readonly get: (organizationId: string, id: string) => Effect.Effect<StoredAsset, NotFound>
  readonly create: (organizationId: string, asset: NewAsset) => Effect.Effect<StoredAsset, FeatureNotInPlan>
  /** Succeeds only once for each asset. */
  readonly put: <E>(asset: StoredAsset, content: NewContent<E>) => Effect.Effect<StoredAsset, E | StoreFailure>
  /** An asset together with its content, or neither. Not a change of configuration, so not in the audit log. */
  readonly add: (asset: StoredAsset, content: NewContent<never>) => Effect.Effect<StoredAsset, StoreFailure>
  /** For a complete asset. A reader that does not read the stream to its end must destroy it. */
  readonly read: (asset: StoredAsset, range?: BlobRange) => Effect.Effect<Readable, NotFound>
  readonly remove: (organizationId: string, id: string) => Effect.Effect<{ readonly id: string }, NotFound>
  /** Since this process started. */ readonly counts: { readonly uploads: number; readonly bytes: number }
}

/** A driver failure is a defect: no caller can act on it. */
const orDie = <A, E, R>(effect: Effect.Effect<A, E | SqlError.SqlError, R>) =>
  Effect.catchTag(effect as Effect.Effect<A, SqlError.SqlError, R>, "SqlError", (error) =>
    Effect.die(error)
  ) as Effect.Effect<A, Exclude<E, SqlError.SqlError>, R>

const makeChanges = Effect.fnUntraced(function* ({
  audit,
  claim,
  dropBlob,
  fill,
  newBlob,
  repository,
  sql,
  takeRoom,
  usage
}: Storing) {
  const identifiers = yield* Identifiers
  const counts = { uploads: 0, bytes: 0 }
  const create: MediaShape["create"] = Effect.fn("Media.create")(function* (organizationId, { contentType, filename }) {
    const now = yield* Clock.currentTimeMillis
    const id = yield* identifiers.make("med")
    const asset: StoredAsset = {
      id,
      organization_id: organizationId,
      kind: "file",
      filename: filename ?? null,
      content_type: contentType ?? null,
      size: null,
      sha256: null,
      blob: null,
      width: null,
      height: null,
      created_at: now,
      updated_at: now,
      expires_at: null
    }
    const change = Effect.andThen(takeRoom(organizationId, 1, 0), repository.insert(asset))
    yield* orDie(sql.withTransaction(audit.recorded({ kind: "media_asset", organizationId, id }, change)))
    return asset
  })
  const put = <E>(asset: StoredAsset, content: NewContent<E>): Effect.Effect<StoredAsset, E | StoreFailure> =>
    orDie(
      Effect.gen(function* () {
        const writing = yield* newBlob
        yield* sql.withTransaction(claim(asset, writing, content.length))
        const done = yield* fill(asset, writing, content)
        counts.uploads++
        counts.bytes += content.length
        return done
      })
    )
  const forget = ({ id, organization_id }: StoredAsset) =>
    sql.withTransaction(
      Effect.flatMap(repository.remove(organization_id, id), (gone) =>
        gone === undefined ? Effect.void : Effect.asVoid(usage.free(organization_id, { assets: 1, bytes: gone.bytes }))
      )
    )
  const add: MediaShape["add"] = (asset, content) =>
    orDie(
      Effect.andThen(
        sql.withTransaction(Effect.andThen(takeRoom(asset.organization_id, 1, 0), repository.insert(asset))),
        Effect.onError(put(asset, content), () => Effect.ignore(forget(asset)))
      )
    )
  const remove: MediaShape["remove"] = Effect.fn("Media.remove")(function* (organizationId, id) {
    const change = Effect.gen(function* () {
      const gone = yield* repository.remove(organizationId, id)
      if (gone === undefined) return yield* missingAsset(id)
      yield* usage.free(organizationId, { assets: 1, bytes: gone.bytes })
      return gone
    })
    const { blob } = yield* orDie(
      sql.withTransaction(audit.recorded({ kind: "media_asset", organizationId, id }, change))
    )
    if (blob !== null) yield* dropBlob({ id, organization_id: organizationId }, blob)
    return { id }
  })
  return { add, counts, create, put, remove }
})

const make = Effect.gen(function* () {
  const storing = yield* makeStoring
  const { blobs, repository, writers } = storing
  if ((yield* Installation).isAlone) yield* Effect.orDie(writers.endWriters)
  yield* sweeping(storing)
  return {
    ...(yield* makeChanges(storing)),
    list: (organizationId, { cursor, limit }) => Effect.orDie(repository.page(organizationId, cursor, limit)),
    get: (organizationId, id) =>
      Effect.flatMap(Effect.orDie(repository.get(organizationId, id)), (asset) =>
        asset === undefined ? Effect.fail(missingAsset(id)) : Effect.succeed(asset)
      ),
    read: ({ blob, id, organization_id }, range) =>
      blob === null
        ? Effect.fail(new NotFound({ message: `Media asset ${id} has no content yet.` }))
        : Effect.catch(blobs.get({ organizationId: organization_id, id: blob }, range), (error) =>
            // Deleted after its row was read.
            error.kind === "missing" ? Effect.fail(missingAsset(id)) : asDefect(error)
          )
  } satisfies MediaShape
})

export class Media extends Context.Service<Media, MediaShape>()("dowser/media/Media") {
  static readonly layer: Layer.Layer<
    Media,
    never,
    BlobStore | Entitlements | Identifiers | Installation | Outbox | RowReaders | SqlClient.SqlClient
  > = Layer.effect(Media, make)
}
