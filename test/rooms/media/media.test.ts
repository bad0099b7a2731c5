/**
 * Media in one process with a set clock: limits under concurrency, expiry, leftovers of a killed process, and a deleted
 * organization.
 */
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Outbox } from "@dowser/log/outbox"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Identifiers } from "../../../log/identifiers.ts"
import { RowReaders } from "../../../src/identity/row-readers.ts"
import { Installation } from "../../../src/installation.ts"
import { Media } from "../../../src/media/media.ts"
import { room } from "../../../src/media/room.ts"
import { Entitlements } from "../../../src/metering/entitlements.ts"
import { FeatureNotInPlan } from "../../../src/metering/errors.ts"
import { plans } from "../../../src/metering/plans.ts"
import { BlobStore } from "../../../src/ports/blob-store/blob-store.ts"
import { layerFiles } from "../../../src/ports/blob-store/files.ts"
import { layerTestSql } from "../../support/postgres.ts"

const CAPS = new Map([
  ["media_assets", 10],
  ["media_bytes", 1_000]
])
const layerCapped = Layer.succeed(
  Entitlements,
  Entitlements.of({
    of: () => ({ plan: plans.free, quotaUnits: 0, hasOverage: false }),
    require: () => Effect.void,
    cap: (_, feature) => ({
      max: CAPS.get(feature) ?? 0,
      refusal: new FeatureNotInPlan({ message: "full", feature, plan: "free" })
    }),
    requireRoom: () => Effect.void,
    featuresOf: ({ features }) => features,
    set: () => Effect.die(new Error("plans are not changed here"))
  })
)
const layerInstallation = Layer.succeed(Installation, {
  countryHeader: undefined,
  serviceDomain: undefined,
  weights: undefined,
  visitorPartitions: 1,
  isAlone: true
} as Installation["Service"])
const folder = mkdtempSync(join(tmpdir(), "dowser-media-room-"))
const layerFolder = Layer.effectDiscard(
  Effect.acquireRelease(Effect.void, () => Effect.sync(() => rmSync(folder, { recursive: true, force: true })))
)
const ground = Layer.provideMerge(
  Layer.mergeAll(
    Identifiers.layer,
    layerInstallation,
    layerCapped,
    layerFiles(folder),
    Layer.succeed(RowReaders, new Map(Object.entries(room.audited!))),
    layerFolder
  ),
  Layer.fresh(layerTestSql)
)
const whole = Layer.provideMerge(Outbox.layer, ground)
/** The service is started in each test, under the test's clock. */
const within = <A, E>(body: Effect.Effect<A, E, Media | BlobStore | SqlClient.SqlClient>) =>
  Effect.provide(body, Media.layer)

const organization = (id: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`INSERT INTO organizations (id, name, plan, created_at) VALUES (${id}, 'x', 'free', 0)`
  )
const pieces = async function* (bytes: number) {
  yield new Uint8Array(bytes)
}
const content = (bytes: number) => ({
  length: bytes,
  pieces: pieces(bytes),
  contentType: undefined,
  isAllowed: Effect.void
})
/** The stored counts must equal the actual ones. */
const counted = (id: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      sql<{
        n: number
        bytes: number
        assets: number
        used: number
      }>`SELECT count(a.id)::float8 AS n, coalesce(sum(coalesce(a.size, 0) + a.bytes_reserved), 0)::float8 AS bytes,
        max(u.assets)::float8 AS assets, max(u.bytes)::float8 AS used FROM media_usage u LEFT JOIN media_assets a ON a.organization_id = u.organization_id WHERE u.organization_id = ${id}`,
      ([row]) => {
        expect([row!.n, row!.bytes]).toEqual([row!.assets, row!.used])
        return { assets: row!.n, bytes: row!.bytes }
      }
    )
  )
const names = (id: string) => {
  try {
    return readdirSync(join(folder, id)).sort()
  } catch {
    return []
  }
}
const blobs = (id: string) => Effect.flatMap(BlobStore, (store) => store.ids(id, ""))

layer(whole, { excludeTestServices: true })("media", (it) => {
  it.effect("of two organizations at once are exactly as many, and as large, as their plans allow", () =>
    within(
      Effect.gen(function* () {
        const media = yield* Media
        for (const id of ["org_a", "org_b"]) yield* organization(id)
        const all = yield* Effect.forEach(
          Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? "org_a" : "org_b")),
          (id) => Effect.option(media.create(id, { filename: undefined, contentType: undefined })),
          { concurrency: 32 }
        )
        for (const id of ["org_a", "org_b"]) {
          const made = all.flatMap((one) =>
            one._tag === "Some" && one.value.organization_id === id ? [one.value] : []
          )
          expect(made.length).toBe(10)
          const kept = yield* Effect.forEach(made, (asset) => Effect.option(media.put(asset, content(180))), {
            concurrency: 16
          })
          expect(kept.filter(({ _tag }) => _tag === "Some").length).toBe(5)
          expect(yield* counted(id)).toEqual({ assets: 10, bytes: 900 })
          expect(names(id)).toEqual(yield* blobs(id))
          expect(names(id).length).toBe(5)
          const ready = kept.flatMap((one) => (one._tag === "Some" ? [one.value] : []))
          yield* media.remove(id, ready[0]!.id)
          expect(yield* counted(id)).toEqual({ assets: 9, bytes: 720 })
          const empty = made.find(({ id }) => !ready.some((one) => one.id === id))!
          yield* media.put(empty, content(280))
          expect(yield* counted(id)).toEqual({ assets: 9, bytes: 1_000 })
        }
      })
    )
  )
  it.effect("that fail in progress return what they took", () =>
    within(
      Effect.gen(function* () {
        const media = yield* Media
        yield* organization("org_c")
        const asset = yield* media.create("org_c", { filename: undefined, contentType: undefined })
        const failures = [
          { ...content(500), length: 501 },
          { ...content(500), isAllowed: Effect.fail("the key is gone") },
          {
            ...content(500),
            pieces: (async function* () {
              yield new Uint8Array(10)
              throw new Error("gone")
            })()
          }
        ]
        for (const failing of failures) {
          expect((yield* Effect.exit(media.put(asset, failing)))._tag).toBe("Failure")
          expect([yield* counted("org_c"), names("org_c")]).toEqual([{ assets: 1, bytes: 0 }, []])
        }
        expect((yield* media.put(asset, content(500))).size).toBe(500)
        expect((yield* Effect.flip(media.put(asset, content(500))))._tag).toBe("ContentThere")
      })
    )
  )
  it.effect("of a killed process are cleaned up by the next one: its claims, its room and its bytes", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const store = yield* BlobStore
      yield* organization("org_d")
      const id = yield* within(
        Effect.gen(function* () {
          const media = yield* Media
          const asset = yield* media.create("org_d", { filename: undefined, contentType: undefined })
          return (yield* media.put(asset, content(100))).id
        })
      )
      // Leftovers of a kill: an unexpired claim, reserved room, bytes without a row.
      const { id: half } = yield* within(
        Effect.flatMap(Media, (media) => media.create("org_d", { filename: undefined, contentType: undefined }))
      )
      yield* sql`UPDATE media_assets SET writing = 'blb_half', writing_until = clock_timestamp() + interval '10 seconds', bytes_reserved = 300 WHERE id = ${half}`
      yield* sql`UPDATE media_usage SET bytes = bytes + 300 WHERE organization_id = 'org_d'`
      yield* store.put({ organizationId: "org_d", id: "blb_half" }, { length: 300, pieces: pieces(300) })
      yield* store.put({ organizationId: "org_d", id: "blb_lost" }, { length: 3, pieces: pieces(3) })
      yield* within(
        Effect.gen(function* () {
          for (let i = 0; i < 3_000 && names("org_d").length > 1; i++)
            yield* Effect.promise(() => new Promise((settle) => setTimeout(settle, 20)))
          expect(names("org_d").length).toBe(1)
          const media = yield* Media
          expect(yield* counted("org_d")).toEqual({ assets: 2, bytes: 100 })
          expect((yield* media.get("org_d", half)).blob).toBeNull()
          expect((yield* media.get("org_d", id)).size).toBe(100)
          expect((yield* media.put(yield* media.get("org_d", half), content(200))).size).toBe(200)
        })
      )
      // Nothing is left of a deleted organization.
      yield* sql`DELETE FROM audit_log WHERE organization_id = 'org_d'`
      yield* sql`DELETE FROM outbox WHERE organization_id = 'org_d'`
      yield* sql`DELETE FROM organizations WHERE id = 'org_d'`
      yield* within(
        Effect.gen(function* () {
          for (let i = 0; i < 3_000 && names("org_d").length > 0; i++)
            yield* Effect.promise(() => new Promise((settle) => setTimeout(settle, 20)))
          expect(names("org_d")).toEqual([])
          expect(names("org_a").length).toBe(5)
        })
      )
    })
  )
  it.effect("that expire are removed with the next sweep", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* organization("org_e")
      yield* Effect.provide(
        within(
          Effect.gen(function* () {
            const media = yield* Media
            const asset = yield* media.create("org_e", { filename: undefined, contentType: undefined })
            yield* media.put(asset, content(100))
            yield* sql`UPDATE media_assets SET expires_at = 86400000 WHERE id = ${asset.id}`
            const settled = Effect.promise(() => new Promise((settle) => setTimeout(settle, 300)))
            yield* settled
            yield* TestClock.setTime(86_300_000)
            yield* settled
            expect(names("org_e").length).toBe(1)
            yield* TestClock.setTime(86_400_000 + 600_000)
            yield* settled
            expect(names("org_e")).toEqual([])
            expect(yield* counted("org_e")).toEqual({ assets: 0, bytes: 0 })
          })
        ),
        TestClock.layer()
      )
    })
  )
})
