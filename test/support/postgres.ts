/** An embedded Postgres in a temporary folder, removed with the scope. Starting one takes half a second. */
import { Effect, Layer } from "effect"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { layer as layerMigrations } from "../../src/migrations/index.ts"
import { layerSql } from "../../src/runtime/embedded.ts"
import { startEmbeddedPostgres } from "../../src/runtime/embedded-postgres.ts"
import { preparePostgres } from "./prepared-postgres.ts"
import { LeaseStore } from "../../streams/ownership/lease-store.ts"
import { layerOffsetStore } from "../../streams/offsets/postgres.ts"

export const temporaryFolder = (name: string) =>
  Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), `dowser-${name}-`))),
    (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
  )

const acquired = (prepare: (folder: string) => Promise<void>) =>
  Effect.gen(function* () {
    const folder = join(yield* temporaryFolder("pg"), "postgres")
    yield* Effect.promise(() => prepare(folder))
    return yield* Effect.acquireRelease(
      Effect.promise(() => startEmbeddedPostgres(folder)),
      (server) => Effect.promise(server.stop)
    )
  })
/** In the state that migrations leave. */
export const acquireTestPostgres = acquired(preparePostgres)
/** Without a table: two seconds. */
export const acquireEmptyPostgres = acquired(() => Promise.resolve())

export const layerTestSql = Layer.unwrap(
  Effect.map(acquireTestPostgres, (server) =>
    Layer.provideMerge(Layer.mergeAll(layerMigrations, layerOffsetStore, LeaseStore.layerPostgres), layerSql(server))
  )
)
