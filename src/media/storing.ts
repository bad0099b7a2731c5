/**
 * Uploads content into an asset. Room is reserved before a byte is read, under a claim that expires when its process
 * ends. The bytes are stored under a name of their own, which is written to the row when all have arrived. So an asset
 * has its complete content or none, and a killed process leaves only bytes without a row (`sweeping.ts`).
 */
import { Identifiers } from "@dowser/log/identifiers"
import { Outbox } from "@dowser/log/outbox"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/record.ts"
import { type InputInvalid, inputInvalid, NotFound } from "../http/errors.ts"
import { Entitlements } from "../metering/entitlements.ts"
import type { FeatureNotInPlan } from "../metering/errors.ts"
import { type BlobFailure, BlobStore } from "../ports/blob-store/blob-store.ts"
import { makeAssetsRepository, type StoredAsset } from "./assets-repository.ts"
import { ContentThere } from "./errors.ts"
import { UNKNOWN_TYPE } from "./schema.ts"
import { makeUsageRepository } from "./usage-repository.ts"
import { makeWritersRepository } from "./writers-repository.ts"

export interface NewContent<E> {
  readonly length: number
  readonly pieces: AsyncIterable<Uint8Array>
  /** Used if the asset does not state one. */ readonly contentType: string | undefined
  /** Checked once more when all bytes have arrived. */ readonly isAllowed: Effect.Effect<unknown, E>
}
export type StoreFailure = ContentThere | FeatureNotInPlan | InputInvalid | NotFound

/** How often the claim is renewed; it expires after ten seconds. */
const RENEW_MS = 3_000

export const missingAsset = (id: string) => new NotFound({ message: `Media asset ${id} does not exist.` })
export const contentThere = (id: string) => new ContentThere({ message: `Media asset ${id} has its content already.` })
/** A failing disk or bucket is not the caller's fault. */
export const asDefect = (error: BlobFailure) => Effect.die(new Error(`The blob store failed: ${error.message}`))

const makeParts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const identifiers = yield* Identifiers
  return {
    sql,
    newBlob: identifiers.make("blb"),
    blobs: yield* BlobStore,
    entitlements: yield* Entitlements,
    outbox: yield* Outbox,
    audit: yield* makeAuditRecorder,
    repository: yield* makeAssetsRepository,
    usage: yield* makeUsageRepository,
    writers: yield* makeWritersRepository
  }
})
type Parts = Effect.Success<typeof makeParts>

/** Room in the plan, and the writer's claim. */
const makeClaims = ({ entitlements, repository, sql, usage, writers }: Parts) => {
  /** Reserves room for more of an organization's media; the row is locked until the transaction ends. */
  const takeRoom = Effect.fnUntraced(function* (organizationId: string, assets: number, bytes: number) {
    const cap = (feature: string, wanted: number) =>
      wanted > 0 ? entitlements.cap(organizationId, feature) : { max: Infinity, refusal: undefined }
    const ofAssets = cap("media_assets", assets),
      ofBytes = cap("media_bytes", bytes)
    if (yield* usage.use(organizationId, { assets, bytes }, { assets: ofAssets.max, bytes: ofBytes.max })) return
    const used = yield* usage.used(organizationId)
    const refusal = used.assets + assets > ofAssets.max ? ofAssets.refusal : ofBytes.refusal
    return yield* refusal ?? ofAssets.refusal!
  })
  const claim = Effect.fnUntraced(function* ({ id, organization_id }: StoredAsset, writing: string, length: number) {
    const before = yield* writers.takeWriter(organization_id, id, writing, length)
    if (before === undefined) {
      const there = yield* repository.get(organization_id, id)
      if (there === undefined) return yield* missingAsset(id)
      return yield* there.blob === null
        ? new ContentThere({ message: `Another request sends the content of ${id}.` })
        : contentThere(id)
    }
    yield* takeRoom(organization_id, 0, length - before)
  })
  /** Releases the claim and the room; does nothing if another writer has it. */
  const giveBack = ({ id, organization_id }: Pick<StoredAsset, "id" | "organization_id">, writing: string) =>
    sql.withTransaction(
      Effect.flatMap(writers.freeWriter(id, writing), (bytes) =>
        bytes === undefined ? Effect.void : Effect.asVoid(usage.free(organization_id, { assets: 0, bytes }))
      )
    )
  const renewing = (id: string, writing: string) =>
    Effect.forever(Effect.andThen(Effect.sleep(RENEW_MS), Effect.ignore(writers.renewWriter(id, writing))))

  return { takeRoom, claim, giveBack, renewing }
}

const makeStored = (parts: Parts, { giveBack, renewing }: ReturnType<typeof makeClaims>) => {
  const { audit, blobs, outbox, repository, sql } = parts
  const blobOf = ({ organization_id }: Pick<StoredAsset, "organization_id">, blob: string) => ({
    organizationId: organization_id,
    id: blob
  })
  const dropBlob = (asset: Pick<StoredAsset, "id" | "organization_id">, blob: string) =>
    Effect.catch(blobs.remove(blobOf(asset, blob)), (error) =>
      Effect.logWarning(`Bytes of ${asset.id} could not be removed; they are with the next sweep: ${error.message}`)
    )
  /** Writes the bytes to the store. */
  const store = (
    asset: StoredAsset,
    writing: string,
    { length, pieces }: Pick<NewContent<never>, "length" | "pieces">
  ) =>
    Effect.catch(
      Effect.raceFirst(blobs.put(blobOf(asset, writing), { length, pieces }), renewing(asset.id, writing)),
      (error): Effect.Effect<never, InputInvalid> => {
        if (error.kind === "length")
          return Effect.fail(
            inputInvalid("body", `The body is not as long as \`Content-Length\` says: ${error.message}`)
          )
        return error.kind === "source"
          ? Effect.fail(inputInvalid("body", `The body ended early: ${error.message}`))
          : asDefect(error)
      }
    )
  const complete = Effect.fnUntraced(function* (
    asset: StoredAsset,
    writing: string,
    size: number,
    sha256: string,
    contentType: string
  ) {
    const now = yield* Clock.currentTimeMillis
    const { id, organization_id: organizationId } = asset
    const change = Effect.gen(function* () {
      const done = yield* repository.complete(id, writing, { size, sha256, contentType }, now)
      // Deleted meanwhile, or considered abandoned by another process.
      if (done === undefined) return yield* missingAsset(id)
      if (asset.expires_at === null)
        yield* outbox.put(organizationId, "media.uploaded", { media_id: id, content_type: contentType, size })
      return done
    })
    const recorded =
      asset.kind === "file" ? audit.recorded({ kind: "media_asset", organizationId, id }, change) : change
    return yield* sql.withTransaction(recorded)
  })
  /** Stores the content of an asset whose claim is held; on failure the claim is released and the bytes are removed. */
  const fill = <E>(asset: StoredAsset, writing: string, content: NewContent<E>) =>
    Effect.onError(
      Effect.gen(function* () {
        const { sha256 } = yield* store(asset, writing, content)
        yield* content.isAllowed
        const contentType = asset.content_type ?? content.contentType ?? UNKNOWN_TYPE
        return yield* complete(asset, writing, content.length, sha256, contentType)
      }),
      () => Effect.andThen(Effect.ignore(giveBack(asset, writing)), dropBlob(asset, writing))
    )
  return { fill, dropBlob }
}

export const makeStoring = Effect.map(makeParts, (parts) => {
  const claims = makeClaims(parts)
  return { ...parts, ...claims, ...makeStored(parts, claims) }
})
export type Storing = Effect.Success<typeof makeStoring>
