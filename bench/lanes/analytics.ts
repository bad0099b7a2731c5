/**
 * Question: are the figures exact, and how long does reading them take? Workload: a month of visits to a shop with
 * many distinct queries (Zipf), keystrokes, clicks that name their query or only their session, carts, purchases, and
 * records out of order and sent twice, through the real log and the stream worker into an embedded Postgres. Every
 * row that the service then returns is compared with a brute-force recount of the same visits, which shares no code
 * with the processors. Then pages of the month's table are read in process, one after the other: the first of each
 * kind from Postgres, the others while new visits are counted. Excluded: HTTP, the front door. A difference ends the
 * bench with an error.
 */
import { Effect, Layer } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { makeRandom, type Random } from "../../fixtures/random.ts"
import { Rollups } from "../../src/analytics/rollups-repository.ts"
import { Analytics } from "../../src/analytics/service.ts"
import {
  type BehaviouralEvent,
  EVENTS_SCHEMA_VERSION,
  SERVED_SCHEMA_VERSION,
  type ServedSearch
} from "../../log/event-schema.ts"
import { layer as layerMigrations } from "../../src/migrations/index.ts"
import { EventLog } from "../../log/event-log/event-log.ts"
import { layerEmbedded } from "../../log/event-log/lmdb.ts"
import { layerSql } from "../../src/runtime/embedded.ts"
import { startEmbeddedPostgres } from "../../src/runtime/embedded-postgres.ts"
import { StreamWorker } from "../../streams/host/host.ts"
import { encodeRecord } from "../../log/record.ts"
import { BEHAVIOUR_EVENTS, SEARCH_SERVED } from "../../log/topics.ts"
import { oracleRows, type OracleRow } from "../../test/support/attribution-oracle.ts"
import { machine, percentiles, report, round, rssMb } from "../harness/harness.ts"

export interface AnalyticsOptions {
  readonly events: number
  readonly queries: number
  readonly reads: number
  readonly seed: number
  readonly out: string | undefined
}

const organizationId = "org_bench"
const DAY_MS = 86_400_000
const DAYS = 29
/** Visits per step of the generator and per call of the recount. Visits share no state. */
const VISITS = 2_000
const PER_RECORD = 100

interface Block {
  readonly served: ReadonlyArray<ServedSearch>
  readonly events: ReadonlyArray<BehaviouralEvent>
  readonly sent: ReadonlyArray<BehaviouralEvent>
}

function* visits({ events: wanted, queries, seed }: AnalyticsOptions, from: number): Generator<Block> {
  const random = makeRandom(seed).fork("analytics")
  /** Few queries are common and most are rare; each occurs at least once where there are enough events. */
  let fresh = 0
  const query = (): string => {
    const n = fresh < queries && random.chance(0.2) ? fresh++ : Math.floor(queries ** random.next()) - 1
    return `query ${n} of ${n % 97}`
  }
  let made = 0
  for (let block = 0; made < wanted; block++) {
    const served: Array<ServedSearch> = []
    const events: Array<BehaviouralEvent> = []
    for (let v = 0; v < VISITS; v++) {
      const session_id = `s${block}-${v}`
      const collection = random.chance(0.8) ? "products" : "articles"
      // In order of time, give or take some hours.
      let at = from + Math.floor(Math.min(1, made / wanted) * DAYS * DAY_MS + (random.next() * DAY_MS) / 4)
      for (let s = 0, searches = 1 + random.below(3); s < searches; s++) {
        const q = query()
        // Keystrokes count as one search, the last.
        for (let typed = random.chance(0.3) ? 6 : q.length; ; typed = q.length) {
          const query_id = `q${block}-${v}-${s}-${typed}`
          served.push({
            organization_id: organizationId,
            query_id,
            collection,
            q: q.slice(0, typed),
            found: random.chance(0.1) ? 0 : 7,
            at,
            isCounted: true,
            session_id
          })
          if (typed === q.length) break
          at += 900
        }
        const query_id = `q${block}-${v}-${s}-${q.length}`
        for (let i = 0, interactions = random.below(8); i < interactions; i++) {
          at += 1_000 + random.below(60_000)
          const common = {
            collection,
            document_id: `d${random.below(5_000)}`,
            session_id,
            timestamp: at,
            event_id: `e${block}-${v}-${s}-${i}`,
            ...(random.chance(0.7) ? { query_id } : {})
          }
          const kind = random.next()
          if (kind < 0.75) events.push({ ...common, type: "click" })
          else if (kind < 0.9) events.push({ ...common, type: "add_to_cart", revenue: 1.1 })
          else events.push({ ...common, type: "purchase", revenue: random.below(10_000) / 100 })
        }
        at += 60_000 + random.below(20 * 60_000)
      }
    }
    made += served.length + events.length
    const again = events.filter(() => random.chance(0.03))
    yield { served, events, sent: shuffled([...events, ...again], random) }
  }
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

/** Returns the recount by `collection|q`, and the number of events. */
const fill = Effect.fnUntraced(function* (options: AnalyticsOptions, from: number) {
  const log = yield* EventLog
  const rows = new Map<string, OracleRow>()
  let events = 0,
    searches = 0,
    records = 0
  for (const block of visits(options, from)) {
    for (const [key, row] of oracleRows({ organizationId, ...block })) {
      const known = rows.get(key)
      if (known === undefined) rows.set(key, row)
      else
        for (const name of Object.keys(row) as Array<keyof OracleRow>)
          known[name] = Math.round((known[name] + row[name]) * 1e6) / 1e6
    }
    events += block.events.length
    searches += block.served.length
    const appended = [
      ...chunks(block.served).map((served) => ({
        topic: SEARCH_SERVED.name,
        partition: 0,
        value: encodeRecord({
          schema_version: SERVED_SCHEMA_VERSION,
          organization_id: "",
          occurred_at: from,
          payload: { served }
        })
      })),
      ...chunks(block.sent).map((sent) => ({
        topic: BEHAVIOUR_EVENTS.name,
        partition: 0,
        value: encodeRecord({
          schema_version: EVENTS_SCHEMA_VERSION,
          organization_id: organizationId,
          occurred_at: from,
          payload: { events: sent }
        })
      }))
    ]
    records += appended.length
    yield* log.append(appended)
    process.stderr.write(
      `\r${(events + searches).toLocaleString("en")} of ${options.events.toLocaleString("en")} made `
    )
  }
  process.stderr.write("\n")
  return { rows, events, searches, records }
})

/** Stores one visit's entries every tenth of a second. */
const trickle = Effect.fnUntraced(function* (options: AnalyticsOptions, from: number) {
  const log = yield* EventLog
  for (const { sent } of visits(options, from)) {
    for (const some of chunks(sent)) {
      yield* log.append([
        {
          topic: BEHAVIOUR_EVENTS.name,
          partition: 0,
          value: encodeRecord({
            schema_version: EVENTS_SCHEMA_VERSION,
            organization_id: organizationId,
            occurred_at: from,
            payload: { events: some.map((event) => ({ ...event, event_id: `new ${event.event_id}` })) }
          })
        }
      ])
      yield* Effect.sleep(100)
    }
  }
})

const untilCounted = Effect.gen(function* () {
  const log = yield* EventLog
  const worker = yield* StreamWorker
  for (let shown = 0; ; shown++) {
    const ends = yield* Effect.all(
      [SEARCH_SERVED, BEHAVIOUR_EVENTS].map((topic) =>
        Effect.map(log.bounds(topic.name, 0), ({ endOffset }) => [topic.name, endOffset] as const)
      )
    )
    const progress = (yield* worker.progress).find(({ group }) => group === "attribution")
    if (progress !== undefined && ends.every(([topic, end]) => (progress.committed[topic] ?? 0) >= end))
      return process.stderr.write("\n")
    if (shown % 50 === 0 && progress !== undefined)
      process.stderr.write(`\r${progress.lag.toLocaleString("en")} records behind      `)
    yield* Effect.sleep(20)
  }
})

/** Compares every row of every page with a recount; throws on the first difference. */
const compare = Effect.fnUntraced(function* (
  range: { readonly from: number; readonly before: number },
  rows: ReadonlyMap<string, OracleRow>,
  events: number
) {
  const analytics = yield* Analytics
  let compared = 0
  for (const collection of ["products", "articles"]) {
    for (let offset: number | null = 0; offset !== null;) {
      const page: typeof import("../../src/analytics/schema.ts").QueryMetrics.Type = yield* analytics.getQueryMetrics({
        organizationId,
        range,
        collection,
        segment: undefined,
        limit: 1_000,
        offset
      })
      for (const row of page.data) {
        const expected = rows.get(`${collection}|${row.q}`)
        const wanted =
          expected === undefined
            ? undefined
            : {
                searches: expected.searches,
                clicks: expected.clicks,
                add_to_carts: expected.add_to_carts,
                purchases: expected.purchases,
                revenue: expected.revenue,
                ctr: expected.searches_with_click / expected.searches,
                results_found_rate: 1 - expected.zero_results / expected.searches,
                conversion_rate: expected.searches_with_purchase / expected.searches
              }
        for (const [name, value] of Object.entries(wanted ?? { q: undefined })) {
          if (value === undefined || Math.abs((row[name as keyof typeof row] as number) - value) > 1e-9)
            throw new Error(
              `${collection}, ${row.q}: ${name} is ${String(row[name as keyof typeof row])}, counted by hand ${String(value)}`
            )
        }
        compared++
      }
      offset = page.next_offset
    }
  }
  if (compared !== rows.size) throw new Error(`${compared} rows were answered, counted by hand ${rows.size}`)
  const overview = yield* analytics.getOverviewMetrics({
    organizationId,
    range,
    collection: undefined,
    segment: undefined
  })
  if (overview.events !== events) throw new Error(`${overview.events} events were answered, counted by hand ${events}`)
  return compared
})

const timed = <E, R>(times: number, read: (i: number) => Effect.Effect<unknown, E, R>) =>
  Effect.gen(function* () {
    const took: Array<number> = []
    for (let i = 0; i < times; i++) {
      const startedAt = performance.now()
      yield* read(i)
      took.push(performance.now() - startedAt)
    }
    return percentiles(took)
  })

export const benchAnalytics = async (options: AnalyticsOptions): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-bench-analytics-"))
  const server = await startEmbeddedPostgres(join(folder, "postgres"))
  const logPath = join(folder, "log")
  const { database, host, password, port, username } = server
  const stack = Layer.mergeAll(
    StreamWorker.layer({
      logPath,
      statePath: join(folder, "streams"),
      visitorPartitions: 1,
      sql: { host, port, username, password, database }
    }),
    Layer.provideMerge(Analytics.layerNoDeps, Rollups.layerSql)
  ).pipe(
    Layer.provideMerge(layerEmbedded({ path: logPath })),
    Layer.provideMerge(Layer.provideMerge(layerMigrations, layerSql(server)))
  )
  const before = Math.floor(Date.now() / DAY_MS) * DAY_MS
  const range = { from: before - 30 * DAY_MS, before: before + DAY_MS }
  const program = Effect.gen(function* () {
    const startedAt = performance.now()
    const { events, records, rows, searches } = yield* fill(options, range.from)
    yield* untilCounted
    const seconds = (performance.now() - startedAt) / 1_000
    const analytics = yield* Analytics
    const { kept } = yield* Rollups
    const first = yield* timed(1, () =>
      analytics.getQueryMetrics({
        organizationId,
        range,
        segment: undefined,
        collection: undefined,
        limit: 100,
        offset: 0
      })
    )
    const firstOverview = yield* timed(1, () =>
      analytics.getOverviewMetrics({ organizationId, range, segment: undefined, collection: undefined })
    )
    const compared = yield* compare(range, rows, events)
    yield* analytics.getZeroResultMetrics({
      organizationId,
      range,
      segment: undefined,
      collection: undefined,
      limit: 1,
      offset: 0
    })
    yield* kept.settled
    yield* Effect.forkChild(
      trickle(
        { ...options, events: Number.POSITIVE_INFINITY, seed: options.seed + 1 },
        range.from + (DAYS - 1) * DAY_MS
      )
    )
    const at = { organizationId, range, segment: undefined, limit: 100 }
    const collectionOf = (i: number) => (i % 2 === 0 ? undefined : "products")
    const pages = yield* timed(options.reads, (i) =>
      analytics.getQueryMetrics({
        ...at,
        collection: collectionOf(i),
        offset: i % 4 === 0 ? 0 : (i * 7_919) % rows.size
      })
    )
    const zero = yield* timed(options.reads, (i) =>
      analytics.getZeroResultMetrics({
        ...at,
        collection: collectionOf(i),
        offset: i % 4 === 0 ? 0 : (i * 997) % 5_000
      })
    )
    const overview = yield* timed(options.reads, (i) =>
      analytics.getOverviewMetrics({ ...at, collection: collectionOf(i) })
    )
    report(
      "analytics",
      {
        machine: machine(),
        rss_mb: rssMb(process.pid),
        entries: events + searches,
        records,
        distinct_queries: rows.size,
        rows_compared: compared,
        differences: 0,
        made_and_counted_seconds: round(seconds, 1),
        first_query_page_ms: first.p50_ms,
        first_overview_ms: firstOverview.p50_ms,
        kept_mb: round(kept.bytes() / 1e6, 1),
        query_pages: pages,
        zero_result_pages: zero,
        overview
      },
      options.out
    )
  })
  try {
    await Effect.runPromise(Effect.scoped(Effect.provide(program, stack)))
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
