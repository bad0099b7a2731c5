/** A migrated embedded Postgres in a temporary folder, gone with the scope. About a second to make. */
import { Effect, Layer } from "effect"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { layer as layerMigrations } from "../../src/migrations/index.ts"
import { layerSql } from "../../src/runtime/embedded.ts"
import { startEmbeddedPostgres } from "../../src/runtime/embedded-postgres.ts"
import { LeaseStore } from "../../streams/ownership/lease-store.ts"
import { layerOffsetStore } from "../../streams/offsets/postgres.ts"

export const temporaryFolder = (name: string) =>
  Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), `dowser-${name}-`))),
    (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
  )

export const acquireTestPostgres = Effect.gen(function* () {
  const folder = yield* temporaryFolder("pg")
  return yield* Effect.acquireRelease(
    Effect.promise(() => startEmbeddedPostgres(join(folder, "postgres"))),
    (server) => Effect.promise(server.stop)
  )
})

export const layerTestSql = Layer.unwrap(
  Effect.map(acquireTestPostgres, (server) =>
    Layer.provideMerge(Layer.mergeAll(layerMigrations, layerOffsetStore, LeaseStore.layerPostgres), layerSql(server))
  )
)
