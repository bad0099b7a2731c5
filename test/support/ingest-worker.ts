/** Ingest jobs over a real database and an engine that is a map: processes that start and die within a test. */
import { Effect, Exit, Layer, Scope, Stream } from "effect"
import { SqlClient } from "effect/sql"
import type { SearchEngine, WriteOperation } from "../../engine-sdk/src/mod.ts"
import { Identifiers } from "../../log/identifiers.ts"
import { Seal } from "../../src/access/seal.ts"
import { CatalogResources } from "../../src/engine-plane/resources.ts"
import { Installation } from "../../src/installation.ts"
import { makeWorker, type WorkerOptions } from "../../src/ingest/running/worker.ts"
import { makeJobsRepository, type NewJob } from "../../src/ingest/jobs-repository.ts"
import { noStats } from "../../src/ingest/schema.ts"
import type { IngestBatch, IngestSource, IngestTask } from "../../src/ingest/sources/source.ts"
import { Schema } from "effect"
import { Engine } from "../../src/ports/engine/engine.ts"
import { layerUnlimited } from "./entitlements.ts"
import { layerTestSql } from "./postgres.ts"

/** Documents of collections, by organization; `wrote` is called with each write before it is done. */
export class MapEngine {
  readonly documents = new Map<string, Map<string, unknown>>()
  writes = 0
  wrote: (operations: ReadonlyArray<WriteOperation>) => Promise<void> = () => Promise.resolve()
  of(organizationId: string): Map<string, unknown> {
    let own = this.documents.get(organizationId)
    if (own === undefined) this.documents.set(organizationId, (own = new Map()))
    return own
  }
  readonly engine = {
    describeCollection: (_: string, name: string) => ({ schema: { name }, num_documents: 0 }),
    write: async (organizationId: string, _: string, operations: ReadonlyArray<WriteOperation>) => {
      const own = this.of(organizationId)
      for (const operation of operations) {
        this.writes++
        if (operation.kind === "delete") own.delete(operation.id)
        else own.set((operation.document as { readonly id: string }).id, operation.document)
      }
      await this.wrote(operations)
      return { ok: true, value: operations.map(() => ({ result: { ok: true, value: { id: "", changed: true } } })) }
    },
    scan: (organizationId: string, { after = 0, limit }: { readonly after?: number; readonly limit: number }) => {
      const ids = [...this.of(organizationId).keys()].sort()
      const page = ids.slice(after, after + limit)
      return {
        ok: true,
        value: { ids: page, documents: [], next: after + limit < ids.length ? after + limit : undefined }
      }
    }
  } as unknown as SearchEngine
}

const layerInstallation = Layer.succeed(Installation, {
  countryHeader: undefined,
  serviceDomain: undefined,
  weights: undefined,
  visitorPartitions: 1,
  isAlone: false
})
const layerResources = Layer.succeed(CatalogResources, {
  get: () => undefined,
  list: () => []
} as unknown as CatalogResources["Service"])
export const layerProcesses = Layer.provideMerge(
  Layer.mergeAll(
    Identifiers.layer,
    Seal.layer(new Uint8Array(32).fill(7)),
    layerInstallation,
    layerUnlimited,
    layerResources
  ),
  Layer.fresh(layerTestSql)
)

/** Starts a process; running the returned effect kills it. */
export const startWorker = Effect.fnUntraced(function* (
  engine: MapEngine,
  sources: ReadonlyArray<IngestSource<never>>,
  ended: WorkerOptions["ended"] = () => Effect.void
) {
  const scope = yield* Scope.make()
  const table = new Map(sources.map((source) => [source.name, source as unknown as IngestSource<unknown>]))
  const worker = Effect.provideService(makeWorker({ sources: table, ended }), Engine, engine.engine)
  const { wake } = yield* Scope.provide(worker, scope)
  yield* wake
  return Scope.close(scope, Exit.void)
})

export const putOrganization = (id: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      sql`INSERT INTO organizations (id, name, plan, created_at) VALUES (${id}, 'x', 'free', 0) ON CONFLICT DO NOTHING`
  )
export const noJobs = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.andThen(sql`DELETE FROM ingest_jobs`, sql`DELETE FROM ingest_turns`)
)
export const putJob = Effect.fnUntraced(function* (
  organizationId: string,
  id: string,
  source = "test",
  more: Partial<NewJob> & { readonly created_at?: number; readonly config?: Record<string, unknown> } = {}
) {
  yield* putOrganization(organizationId)
  const { insert } = yield* makeJobsRepository
  const { config = {}, created_at = 0, ...rest } = more
  yield* insert({
    organizationId,
    load: "import",
    options: {},
    job: {
      id,
      type: "ingest",
      name: id,
      collection: "goods",
      source,
      status: "queued",
      progress: 0,
      config,
      stats: noStats,
      created_at,
      updated_at: created_at
    },
    ...rest
  })
})
export const jobRow = (id: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      sql<{
        status: string
        stats: any
        error: string | null
        state: any
        attempts: number
      }>`SELECT status, stats, error, state, attempts FROM ingest_jobs WHERE id = ${id}`,
      ([row]) => row!
    )
  )
export const until = Effect.fnUntraced(function* <A, R>(
  look: Effect.Effect<A, unknown, R>,
  isIt: (seen: A) => boolean
) {
  for (let i = 0; i < 3_000; i++) {
    const seen = yield* Effect.orDie(look)
    if (isIt(seen)) return seen
    yield* Effect.sleep(20)
  }
  return yield* Effect.die(new Error("it did not come"))
})

/**
 * A source of `batches` batches of ten documents each, which starts over when read again, as a feed does, or continues
 * from a given place.
 */
export const counting = (
  batches: number,
  more: Partial<IngestSource<never>> & {
    readonly goesOn?: boolean
    readonly before?: (task: IngestTask<unknown>, n: number) => Effect.Effect<void>
  } = {}
): IngestSource<never> => {
  const { before = () => Effect.void, goesOn = false, ...rest } = more
  return {
    name: "test",
    config: Schema.Struct({}) as never,
    load: "import",
    isFull: () => false,
    read: (task) =>
      Effect.succeed(
        Stream.mapEffect(Stream.range(goesOn ? task.place.cursor / 10 + 1 : 1, batches), (n) =>
          Effect.as(before(task, n), {
            changes: Array.from({ length: 10 }, (_, i) => ({
              op: "upsert",
              document: { id: `d${(n - 1) * 10 + i}`, of: task.organizationId }
            })),
            cursor: n * 10,
            fetched: 10,
            errors: [],
            progress: n / batches,
            state: { n }
          } satisfies IngestBatch)
        )
      ),
    ...rest
  }
}
