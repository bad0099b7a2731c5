/**
 * Question: what does an experiment cost a search, and are the sums of its units exact? Workload: (1) The step that an
 * experiment adds to a search (who takes part, drawing the variant, merging its parameters), for 100,000 sessions, in
 * process. (2) A month of sessions and users in two experiments, through the real log and the stream worker into an
 * embedded Postgres. Clicks and purchases name their search or only their session, records arrive out of order and
 * twice, and some units see two variants. Every sum of every variant, day and metric is compared with a brute-force
 * recount of the same events that shares no code with the processors, and so is what users did before their experiment
 * began in mid-month. Each user has a personal tendency to click, and the bench prints how much of the variance that
 * knowledge removes (CUPED). (3) Two rankings of 24 and of 250 hits are merged into one list. Excluded: HTTP and the
 * engine, and therefore the second search of an interleaved one. A difference ends the bench with an error.
 */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { makeRandom, type Random } from "../../fixtures/random.ts"
import {
  type BehaviouralEvent,
  EVENTS_SCHEMA_VERSION,
  SERVED_SCHEMA_VERSION,
  type ServedSearch
} from "../../log/event-schema.ts"
import { EventLog } from "../../log/event-log/event-log.ts"
import { layerEmbedded } from "../../log/event-log/lmdb.ts"
import { encodeRecord } from "../../log/record.ts"
import { BEHAVIOUR_EVENTS, SEARCH_SERVED } from "../../log/topics.ts"
import { cupedEstimates, NO_UNITS } from "../../engine-sdk/src/experiments/mod.ts"
import type { FoundAnswer, PlannedSearch } from "../../engine-sdk/src/operations/mod.ts"
import { shownBy, withParams } from "../../src/experiments/experiment-step.ts"
import { ExperimentTable } from "../../src/experiments/running-experiments.ts"
import { layer as layerMigrations } from "../../src/migrations/index.ts"
import { layerSql } from "../../src/runtime/embedded.ts"
import { startEmbeddedPostgres } from "../../src/runtime/embedded-postgres.ts"
import { mergeHits } from "../../src/search/interleaved.ts"
import { StreamWorker } from "../../streams/host/host.ts"
import { machine, percentiles, report, round } from "../harness/harness.ts"

export interface ExperimentsOptions {
  /** Searches and events together. */ readonly events: number
  readonly seed: number
  readonly out: string | undefined
}

const organizationId = "org_bench"
const DAY_MS = 86_400_000
const HALF_HOUR_MS = 30 * 60_000
const SESSIONS_PER_BLOCK = 2_000
const PER_RECORD = 100
const METRICS = ["ctr", "conversion_rate", "revenue_per_search", "zero_result_rate"] as const

/** Microseconds per search, over a thousand searches together. */
const stepCost = () => {
  const table = new ExperimentTable((_row, error) => {
    throw error
  })
  const variants = [
    { id: "a", name: "a", weight: 1 },
    { id: "b", name: "b", weight: 1, params: { num_typos: 1, sort_by: "price:asc", ranking: "relevance" } }
  ]
  const definition = { name: "e", collection: "products", variants, metric: "ctr" as const, traffic: 0.9 }
  const settings = { min_sample: 1, minimum_days: 1, covariate_days: 0, unit: "session" as const }
  table.replace("all", [
    {
      organization_id: organizationId,
      id: "exp_01KAQ5V8Z3N4M6T7W9X0Y1B2L1",
      definition: { ...definition, ...settings },
      status: "running",
      run: 1,
      started_at: 0,
      stopped_at: null,
      winner_variant_id: null,
      promotion: null,
      created_at: 0,
      updated_at: 0
    }
  ])
  const parameters = { q: "red shoes", query_by: "title,brand", facet_by: "brand", per_page: "24", x_device: "mobile" }
  const searchOnce = (collection: string, sessionId: string): number => {
    const running = table.of(organizationId, collection)
    if (running === undefined) return 0
    const drawn = shownBy(running, { preset: undefined, profile: undefined, sessionId, parameters, mayForce: false })
    if (!drawn.ok || drawn.value === undefined) return 0
    const merged = withParams(parameters, drawn.value.variant.params ?? {}, undefined)
    return merged.q!.length
  }
  const cost = (collection: string) => {
    const took: Array<number> = []
    for (let block = 0; block < 200; block++) {
      const startedAt = performance.now()
      for (let i = 0; i < 1_000; i++) searchOnce(collection, `session-${(block % 100) * 1_000 + i}`)
      // The milliseconds of a thousand searches equal the microseconds of one.
      took.push(performance.now() - startedAt)
    }
    const { p50_ms, p99_ms } = percentiles(took.slice(50))
    return { p50_us: p50_ms, p99_us: p99_ms }
  }
  return { running: cost("products"), none: cost("articles") }
}

/** One unit, as the brute-force recount finds it. */
interface Unit {
  variants: number
  day: number
  searches: number
  clicked: number
  purchased: number
  none: number
  revenue: bigint
}
const newUnit = (): Unit => ({
  variants: 0,
  day: Infinity,
  searches: 0,
  clicked: 0,
  purchased: 0,
  none: 0,
  revenue: 0n
})

/** Microseconds for a merged page. */
const mergeCost = (hits: number) => {
  const page = (from: number) => ({
    asked: true,
    answer: {
      hits: Array.from({ length: hits }, (_, i) => ({ document: { id: `product-${(i * 7 + from) % (2 * hits)}` } }))
    }
  })
  const search = { plan: { limit: hits, offset: 0 } } as unknown as PlannedSearch
  const took: Array<number> = []
  for (let i = 0; i < 2_000; i++) {
    const [a, b] = [page(0), page(3)] as unknown as [FoundAnswer, FoundAnswer]
    const startedAt = performance.now()
    mergeHits(search, a, b, `seed/${i}/red shoes`)
    took.push(1_000 * (performance.now() - startedAt))
  }
  const { p50_ms: p50_us, p99_ms: p99_us } = percentiles(took.slice(500))
  return { p50_us, p99_us }
}

interface Session {
  readonly served: ReadonlyArray<ServedSearch>
  readonly events: ReadonlyArray<BehaviouralEvent>
}

/** Searches some minutes apart, each followed by what the visitor took, which names its search or only the session. */
const sessionOf = (name: string, at: number, { began, users }: Shop, random: Random): Session => {
  const isUser = random.chance(0.5)
  const who = random.below(users)
  const user_id = isUser ? `u${who}` : undefined
  // Some users click nearly always, others hardly ever.
  const taste = isUser ? ((who * 31) % 101) / 100 : 0.8
  const served: Array<ServedSearch> = [],
    events: Array<BehaviouralEvent> = []
  const collection = isUser ? "articles" : "products"
  const unit = user_id ?? name
  const own = [...unit].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 1_000_003, 7) % 3
  for (let s = 0, searches = 1 + random.below(4); s < searches; s++) {
    const query_id = `q${name}-${s}`
    served.push({
      organization_id: organizationId,
      query_id,
      collection,
      q: `query ${random.below(1_000)} number ${s}`,
      found: random.chance(0.1) ? 0 : 7,
      at,
      isCounted: true,
      session_id: name,
      ...(user_id === undefined ? {} : { user_id }),
      ...(random.chance(0.05) || (isUser && at < began)
        ? {}
        : {
            experiment: {
              id: isUser ? "exp_users" : "exp_sessions",
              run: 1,
              variant: random.chance(0.002) ? (own + 1) % 3 : own,
              unit: isUser ? ("user" as const) : ("session" as const)
            }
          })
    })
    for (let i = 0, taken = random.chance(taste) ? 1 + random.below(6) : 0; i < taken; i++) {
      at += 1_000 + random.below(400_000)
      const common = {
        collection,
        document_id: `d${random.below(5_000)}`,
        session_id: name,
        timestamp: at,
        event_id: `e${name}-${s}-${i}`,
        ...(user_id === undefined ? {} : { user_id }),
        ...(random.chance(0.6) ? { query_id } : {})
      }
      events.push(
        random.chance(0.9)
          ? { ...common, type: "click" }
          : { ...common, type: "purchase", revenue: random.below(100_000) / 100 }
      )
    }
    at += 60_000 + random.below(20 * 60_000)
  }
  return { served, events }
}

interface Shop {
  readonly users: number
  /** Start of the experiment on users (ms). */ readonly began: number
}
const COVARIATE_DAYS = 14
/** A unit of an experiment, or a user before the experiment; undefined for events that no figure uses. */
const nameOf = ({ at, experiment, session_id, user_id }: ServedSearch, { began }: Shop): string | undefined => {
  if (experiment !== undefined) return `${experiment.id} ${experiment.unit === "user" ? user_id : session_id}`
  const before = Math.floor(began / DAY_MS) * DAY_MS
  return user_id !== undefined && at < before && at >= before - COVARIATE_DAYS * DAY_MS
    ? `before ${user_id}`
    : undefined
}
/** Adds a session to the units of its searches. Each event scans all searches to find its own. */
const recount = ({ events, served }: Session, shop: Shop, units: Map<string, Unit>): void => {
  for (const search of served) {
    const name = nameOf(search, shop)
    if (name === undefined) continue
    let unit = units.get(name)
    if (unit === undefined) units.set(name, (unit = newUnit()))
    const mine = events.filter((event) =>
      event.query_id !== undefined
        ? event.query_id === search.query_id
        : served
            .filter(({ at }) => at <= event.timestamp)
            .toSorted((a, b) => b.at - a.at)
            .slice(0, 1)
            .some(({ at, query_id }) => query_id === search.query_id && event.timestamp - at <= HALF_HOUR_MS)
    )
    const bought = mine.filter(({ type }) => type === "purchase")
    unit.variants |= search.experiment === undefined ? 0 : 1 << search.experiment.variant
    unit.day = Math.min(unit.day, Math.floor(search.at / DAY_MS) * DAY_MS)
    unit.searches++
    unit.none += search.found === 0 ? 1 : 0
    unit.clicked += mine.some(({ type }) => type === "click") ? 1 : 0
    unit.purchased += bought.length > 0 ? 1 : 0
    for (const { revenue } of bought) unit.revenue += BigInt(Math.round(revenue! * 100)) * 10_000n
  }
}
/** Rows of sums as texts. */
const sumsOf = (units: ReadonlyMap<string, Unit>): ReadonlySet<string> => {
  const rows = new Map<string, Array<bigint>>()
  const figuresOf = ({ clicked, none, purchased, revenue }: Unit) => [
    BigInt(clicked),
    BigInt(purchased),
    revenue,
    BigInt(none)
  ]
  for (const [name, unit] of units) {
    const [id, of] = name.split(" ") as [string, string]
    if (id === "before") continue
    const figures = figuresOf(unit)
    const before = id === "exp_users" ? units.get(`before ${of}`) : undefined
    const variant = [1, 2, 4].indexOf(unit.variants)
    METRICS.forEach((metric, i) => {
      const key = `${id} ${variant} ${unit.day} ${metric}`
      const [x, y] = [figures[i]!, BigInt(unit.searches)]
      const scale = METRICS[i] === "revenue_per_search" ? 1n : 1_000_000n
      const c = before === undefined ? 0n : (scale * figuresOf(before)[i]!) / BigInt(before.searches)
      const wasKnown = before === undefined ? 0n : 1n
      const own = [1n, x, x * x, y, y * y, x * y, c, c * c, x * c, y * c, wasKnown]
      const known = rows.get(key)
      if (known === undefined) rows.set(key, own)
      else own.forEach((sum, at) => (known[at] = known[at]! + sum))
    })
  }
  return new Set([...rows].map(([key, sums]) => `${key}: ${sums.join(" ")}`))
}

const shuffled = <A>(all: Array<A>, { below }: Random): ReadonlyArray<A> => {
  for (let i = all.length - 1; i > 0; i--) {
    const other = below(i + 1)
    ;[all[i], all[other]] = [all[other]!, all[i]!]
  }
  return all
}
const chunks = <A>(all: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(all.length / PER_RECORD) }, (_, i) => all.slice(i * PER_RECORD, (i + 1) * PER_RECORD))

const fill = Effect.fnUntraced(function* ({ events: wanted, seed }: ExperimentsOptions, from: number, shop: Shop) {
  const log = yield* EventLog
  const random = makeRandom(seed).fork("experiments")
  const units = new Map<string, Unit>()
  let made = 0
  for (let block = 0; made < wanted; block++) {
    const served: Array<ServedSearch> = [],
      sent: Array<BehaviouralEvent> = []
    for (let i = 0; i < SESSIONS_PER_BLOCK && made < wanted; i++) {
      const at = from + Math.floor(random.next() * DAY_MS + Math.min(1, made / wanted) * 27 * DAY_MS)
      const session = sessionOf(`s${block}-${i}`, at, shop, random)
      recount(session, shop, units)
      served.push(...session.served)
      sent.push(...session.events, ...session.events.filter(() => random.chance(0.03)))
      made += session.served.length + session.events.length
    }
    const common = { organization_id: organizationId, occurred_at: from }
    yield* log.append([
      ...chunks(shuffled(served, random)).map((part) => ({
        topic: SEARCH_SERVED.name,
        partition: 0,
        value: encodeRecord({ ...common, schema_version: SERVED_SCHEMA_VERSION, payload: { served: part } })
      })),
      ...chunks(shuffled(sent, random)).map((part) => ({
        topic: BEHAVIOUR_EVENTS.name,
        partition: 0,
        value: encodeRecord({ ...common, schema_version: EVENTS_SCHEMA_VERSION, payload: { events: part } })
      }))
    ])
  }
  return { made, units }
})

const untilCounted = Effect.gen(function* () {
  const log = yield* EventLog
  const worker = yield* StreamWorker
  for (;;) {
    const ends = yield* Effect.all(
      [SEARCH_SERVED, BEHAVIOUR_EVENTS].map((topic) =>
        Effect.map(log.bounds(topic.name, 0), ({ endOffset }) => [topic.name, endOffset] as const)
      )
    )
    const progress = (yield* worker.progress).find(({ group }) => group === "attribution")
    if (progress !== undefined && ends.every(([topic, end]) => (progress.committed[topic] ?? 0) >= end)) return
    yield* Effect.sleep(20)
  }
})

const begin = Effect.fnUntraced(function* ({ began }: Shop) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO organizations (id, name, plan, created_at) VALUES (${organizationId}, 'Bench', 'unlimited', 0)`
  for (const id of ["exp_sessions", "exp_users"]) {
    yield* sql`INSERT INTO experiments (organization_id, id, collection, definition, status, run, created_at, updated_at) VALUES (${organizationId}, ${id}, 'c', '{}', 'stopped', 1, 0, 0)`
    yield* sql`INSERT INTO experiment_runs (organization_id, experiment_id, run, definition, started_at, least_p, split_p, looked_at) VALUES (${organizationId}, ${id}, 1, ${JSON.stringify(id === "exp_users" ? { unit: "user", covariate_days: COVARIATE_DAYS } : {})}::text::json, ${String(began)}::text::int8, '{}', 1, 0)`
  }
})
const storedSums = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{
    row: string
  }>`SELECT concat(experiment_id, ' ', variant, ' ', day, ' ', metric, ': ', n, ' ', x, ' ', xx, ' ', y, ' ', yy, ' ', xy, ' ', c, ' ', cc, ' ', xc, ' ', yc, ' ', known) AS row FROM experiment_sums WHERE n <> 0`
  return rows.map(({ row }) => row)
})
/** The share of the variance of clicks per search that the users' earlier actions explain; null if none. */
const reductionOf = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<
    typeof NO_UNITS
  >`SELECT sum(n)::float8 AS n, sum(x)::float8 AS x, sum(xx)::float8 AS xx, sum(y)::float8 AS y, sum(yy)::float8 AS yy, sum(xy)::float8 AS xy,
      sum(c)::float8 AS c, sum(cc)::float8 AS cc, sum(xc)::float8 AS xc, sum(yc)::float8 AS yc, sum(known)::float8 AS known
    FROM experiment_sums WHERE experiment_id = 'exp_users' AND metric = 'ctr' AND variant >= 0 GROUP BY variant ORDER BY variant`
  const reduction = cupedEstimates(rows)?.reduction
  return reduction === undefined ? null : round(reduction, 3)
})

export const benchExperiments = async (options: ExperimentsOptions): Promise<void> => {
  const step = stepCost()
  const interleaving = { merge_24: mergeCost(24), merge_250: mergeCost(250) }
  const folder = mkdtempSync(join(tmpdir(), "dowser-bench-experiments-"))
  const server = await startEmbeddedPostgres(join(folder, "postgres"))
  const logPath = join(folder, "log")
  const { database, host, password, port, username } = server
  const stack = StreamWorker.layer({
    logPath,
    statePath: join(folder, "streams"),
    visitorPartitions: 1,
    sql: { host, port, username, password, database }
  }).pipe(
    Layer.provideMerge(layerEmbedded({ path: logPath })),
    Layer.provideMerge(Layer.provideMerge(layerMigrations, layerSql(server)))
  )
  const program = Effect.gen(function* () {
    const from = Math.floor(Date.now() / DAY_MS) * DAY_MS - 29 * DAY_MS
    const shop = { users: Math.max(100, Math.floor(options.events / 100)), began: from + 15.5 * DAY_MS }
    yield* begin(shop)
    const startedAt = performance.now()
    const { made, units } = yield* fill(options, from, shop)
    yield* untilCounted
    const seconds = round((performance.now() - startedAt) / 1_000, 1)
    const expected = sumsOf(units)
    const stored = new Set(yield* storedSums)
    const differences =
      [...expected].filter((row) => !stored.has(row)).length + Math.max(0, stored.size - expected.size)
    const variance_reduction = yield* reductionOf
    return {
      events: made,
      units: [...units.values()].filter(({ variants }) => variants > 0).length,
      rows_compared: expected.size,
      differences,
      variance_reduction,
      seconds
    }
  })
  try {
    const recounted = await Effect.runPromise(Effect.scoped(Effect.provide(program, stack)))
    report("experiments", { machine: machine(), step, interleaving, recount: recounted }, options.out)
    if (recounted.differences > 0) throw new Error(`${recounted.differences} sums differ from the recount`)
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
