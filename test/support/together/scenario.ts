/**
 * Everything at once: Kafka, Postgres, three OpenSearch nodes, two API processes and two stream processes, each a
 * separate process. A catalogue is imported, events arrive, searches run, and one of each is killed in turn. In the end
 * everything is counted again.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { PgClient } from "@effect/sql-pg"
import { Effect, Exit, Layer, Redacted, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { generateCatalog } from "../../../fixtures/catalog/generate.ts"
import { startOpensearch } from "../../../src/cli/opensearch-node.ts"
import { freePort } from "../../../src/runtime/free-port.ts"
import { folded } from "../folded.ts"
import { type Place, type Process, run } from "../installation.ts"
import { startTestBroker } from "../kafka.ts"
import { opensearchProgramFolder } from "../opensearch.ts"
import { temporaryFolder } from "../postgres.ts"
import { COLLECTION, Load, type LoadCounts } from "./load.ts"
import { acquirePostgres, killManager } from "./servers.ts"

export interface TogetherSize {
  readonly products: number
  readonly events: number
  /** Runs while the installation is complete and otherwise idle. */ readonly before?: (
    bases: ReadonlyArray<string>,
    key: string
  ) => Promise<void>
}
interface Recount {
  readonly documents: number
  readonly events: number
  readonly revenue_micros: number
  /**
   * What was killed, with the share of the events that had been accepted, and how long until its replacement was up.
   */
  readonly kills: ReadonlyArray<{ readonly what: string; readonly at: number; readonly back_s: number }>
  readonly load: LoadCounts
  readonly took_s: number
  /** Time from accepting the last event until the last figure showed it. */ readonly behind_s: number
}
const PARTITIONS = 4
const LEASE_MS = 2_000
/** Maximum share of the work that is done during a kill. */
const WORK_BESIDE = 0.15
/** With up to this many products, nodes finish before optimized compilation would pay off. */
const SHORT_PRODUCTS = 10_000
const DOWN_MS = 2_000
const COUNTED_WITHIN_MS = 300_000

type Scoped<A> = Effect.Effect<A, unknown, Scope.Scope>

/** A process that is killed and restarted under its name; it ends with the scope. */
const keptAlive = (start: Scoped<Process>) =>
  Effect.gen(function* () {
    const outer = yield* Effect.scope
    const begin = Effect.gen(function* () {
      const scope = yield* Scope.fork(outer)
      return { scope, process: yield* Scope.provide(start, scope) }
    })
    let life = yield* begin
    const first = life.process
    return {
      first,
      replace: Effect.gen(function* () {
        process.kill(life.process.child.pid!, "SIGKILL")
        yield* Effect.promise(() => life.process.exited)
        yield* Scope.close(life.scope, Exit.void)
        life = yield* begin
      })
    }
  })

const installed = Effect.fnUntraced(function* (isShort: boolean) {
  const postgres = yield* acquirePostgres
  const broker = yield* Effect.acquireRelease(Effect.promise(startTestBroker), ({ stop }) => Effect.promise(stop))
  const cluster = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const folder = mkdtempSync(join(tmpdir(), "dowser-opensearch-"))
      const started = await startOpensearch({
        folder,
        programFolder: opensearchProgramFolder,
        nodes: 3,
        port: 0,
        isShortLived: isShort,
        report: () => {}
      })
      return { ...started, folder }
    }),
    ({ folder, stop }) =>
      Effect.promise(async () => {
        await stop()
        rmSync(folder, { recursive: true, force: true })
      })
  )
  const folder = yield* temporaryFolder("together")
  const place: Place = { databaseUrl: postgres.databaseUrl, broker, folder, visitorPartitions: PARTITIONS }
  const variables = {
    OPENSEARCH_NODES: cluster.nodes.map(({ address }) => address).join(","),
    OPENSEARCH_REPLICAS: "1"
  }
  const api = (name: string, port: number, more: ReadonlyArray<string>) =>
    run(
      place,
      name,
      ["start", "--mode", "distributed", "--engine", "opensearch", "--port", String(port), ...more],
      variables
    )
  const ports = [yield* Effect.promise(freePort), yield* Effect.promise(freePort)] as const
  const first = yield* keptAlive(api("api-1", ports[0], []))
  const operatorKey = readFileSync(join(folder, "api-1", "operator.key"), "utf8").trim()
  yield* keptAlive(api("api-2", ports[1], ["--operator-key", operatorKey]))
  const streams = (name: string) => keptAlive(run(place, name, ["streams", "--lease-ms", String(LEASE_MS)]))
  const counting = yield* streams("streams-1")
  yield* streams("streams-2")
  return { broker, cluster, counting, first, postgres, ports }
})
type Installed = Effect.Success<ReturnType<typeof installed>>

/** What is killed, and after which share of the events. */
const killsOf = ({ broker, cluster, counting, first, postgres }: Installed) =>
  [
    {
      what: "the node that leads OpenSearch",
      at: 0.15,
      kill: Effect.asVoid(Effect.promise(() => killManager(cluster.nodes)))
    },
    { what: "an API process", at: 0.3, kill: first.replace },
    { what: "a stream process", at: 0.45, kill: counting.replace },
    {
      what: "the broker of Kafka",
      at: 0.6,
      kill: Effect.promise(broker.kill).pipe(
        Effect.andThen(Effect.sleep(DOWN_MS)),
        Effect.andThen(Effect.promise(broker.restart))
      )
    },
    {
      what: "Postgres",
      at: 0.75,
      kill: Effect.promise(postgres.kill).pipe(
        Effect.andThen(Effect.sleep(DOWN_MS)),
        Effect.andThen(Effect.promise(postgres.restart))
      )
    }
  ] as const

const figures = Effect.fnUntraced(function* (organizationId: string) {
  const sql = yield* SqlClient.SqlClient
  yield* folded
  const [row] = yield* sql<{ events: number; revenue_micros: number }>`
    SELECT (SELECT coalesce(sum(events), 0) FROM analytics_event_rollup WHERE organization_id = ${organizationId} AND grain = 3)::float8 AS events,
      (SELECT coalesce(sum(revenue_micros), 0) FROM analytics_product_rollup WHERE organization_id = ${organizationId} AND grain = 3)::float8 AS revenue_micros`
  return row!
})

/** `tell`: prints an occasional line for a person. */
export const together = ({ before, events, products }: TogetherSize, tell: (line: string) => void): Scoped<Recount> =>
  Effect.gen(function* () {
    const began = performance.now()
    const sinceStart = () => ((performance.now() - began) / 1_000).toFixed(0)
    const installation = yield* installed(products <= SHORT_PRODUCTS)
    const { first, ports, postgres } = installation
    tell(`${sinceStart()} s: all of it runs`)
    const documents = [...generateCatalog({ products, seed: 7, prose: true })].map((one) => JSON.stringify(one))
    const bases = ports.map((port) => `http://127.0.0.1:${port}/v1`)
    const { full_key: key, organization_id } = first.first.ready as Record<string, string>
    if (before !== undefined) yield* Effect.promise(() => before(bases, key!))
    const load = new Load({ bases, key: key!, documents, events })
    load.allowed = WORK_BESIDE
    const loading = load.run()

    const kills: Array<Recount["kills"][number]> = []
    for (const { at, kill, what } of killsOf(installation)) {
      load.allowed = at + WORK_BESIDE
      while (load.share < at) yield* Effect.sleep(50)
      const { share } = load
      const killed = performance.now()
      yield* kill
      kills.push({ what, at: share, back_s: (performance.now() - killed) / 1_000 })
      tell(`${sinceStart()} s: killed ${what} at ${(100 * share).toFixed(0)} % of the events`)
    }
    load.allowed = 1
    yield* Effect.promise(() => loading)
    const taken = performance.now()
    tell(`${sinceStart()} s: all of it was taken`)

    const layerSql = PgClient.layer({ url: Redacted.make(postgres.databaseUrl), maxConnections: 2 })
    const counted = yield* Effect.gen(function* () {
      let now = yield* figures(organization_id!)
      for (
        ;
        now.events < events && performance.now() - taken < COUNTED_WITHIN_MS;
        now = yield* figures(organization_id!)
      )
        yield* Effect.sleep(250)
      const behind_s = (performance.now() - taken) / 1_000
      // An event that is wrongly counted twice may show in the figures late.
      yield* Effect.sleep(2_000)
      return { ...(yield* figures(organization_id!)), behind_s }
    }).pipe(Effect.provide(Layer.orDie(layerSql)))
    const found = yield* Effect.promise(async () => {
      const path = `/collections/${COLLECTION}/documents/export?include_fields=id`
      const response = await fetch(`${bases[1]}${path}`, { headers: { "x-svc-api-key": key! } })
      return new Set((await response.text()).split("\n").filter((line) => line !== "")).size
    })
    return {
      documents: found,
      events: counted.events,
      revenue_micros: counted.revenue_micros,
      kills,
      load: load.counts,
      took_s: (performance.now() - began) / 1_000,
      behind_s: counted.behind_s
    }
  })
