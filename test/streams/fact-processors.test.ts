/**
 * A processor of facts is a folder and a line in a list: one that exists only in this test counts beside the others, is
 * rebuilt by a replay, and forgets an erased person, though nothing else names it.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { join } from "node:path"
import { EventLog } from "../../log/event-log/event-log.ts"
import type { BehaviouralEvent, ServedSearch } from "../../log/event-schema.ts"
import { Identifiers } from "../../log/identifiers.ts"
import { Replays } from "../../src/events/replays/replays.ts"
import { FACT_PROCESSORS } from "../../streams/processors/counting.ts"
import { rejections } from "../../streams/processors/rejections/processor.ts"
import { openStateStore } from "../../streams/state/lmdb.ts"
import { temporaryFolder, layerTestSql } from "../support/postgres.ts"
import { eventsRecord, jobEnd, makeOrganization, servedRecord, startStreams } from "../support/replays.ts"
import { makeVisitorTables, visitorCounts } from "../support/visitor-counts.ts"

const DAY = 86_400_000
const START = Math.floor(Date.now() / DAY) * DAY - 2 * DAY + 3_600_000

const view = (n: number, over: Partial<BehaviouralEvent> = {}): BehaviouralEvent => ({
  type: "view",
  collection: "c",
  event_id: `e${n}`,
  document_id: "d",
  session_id: `s${n}`,
  timestamp: START + n * 1_000,
  ...over
})
const answer = (organization_id: string, n: number, over: Partial<ServedSearch> = {}): ServedSearch => ({
  organization_id,
  query_id: `qry_${n}`,
  collection: "c",
  q: `hat ${n}`,
  found: 3,
  session_id: `s${n}`,
  at: START + n * 60_000,
  isCounted: true,
  ...over
})

const read = Effect.fnUntraced(function* (organizationId: string) {
  const sql = yield* SqlClient.SqlClient
  const [counts] = yield* sql<{
    events: number
    searches: number
  }>`SELECT coalesce(sum(events), 0)::int4 AS events, coalesce(sum(searches), 0)::int4 AS searches FROM visitor_counts WHERE organization_id = ${organizationId}`
  const [total] = yield* sql<{
    events: number
  }>`SELECT events::int4 AS events FROM visitor_totals WHERE organization_id = ${organizationId}`
  const [kept] = yield* sql<{
    n: number
  }>`SELECT count(*)::int4 AS n FROM visitor_events WHERE organization_id = ${organizationId}`
  return { ...counts!, total: total!.events, kept: kept!.n }
})

layer(layerTestSql, { timeout: 60_000, excludeTestServices: true })("a processor of facts", (it) => {
  const environment = Layer.provideMerge(
    Replays.layer({ visitorPartitions: 1 }),
    Layer.mergeAll(Layer.fresh(EventLog.layerMemory), Identifiers.layer)
  )
  const start = Effect.gen(function* () {
    const folder = yield* temporaryFolder("facts")
    return yield* startStreams({
      openStore: (group, partition) => openStateStore(join(folder, `${group}-${partition}`)),
      openShadowStore: (partition) => openStateStore(join(folder, `shadow-${partition}`)),
      processors: [...FACT_PROCESSORS, visitorCounts]
    })
  })

  it.effect("that is one additional line counts, is rebuilt and forgets a person of one organization only", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const log = yield* EventLog
      yield* makeVisitorTables
      for (const id of ["org_facts_a", "org_facts_b"]) yield* makeOrganization(id)
      const streams = yield* start
      for (const id of ["org_facts_a", "org_facts_b"]) {
        const events = Array.from({ length: 30 }, (_, n) => view(n, n % 3 === 0 ? { user_id: "gone" } : {}))
        yield* log.append([
          // A duplicate counts once, and of two keystrokes only the last.
          eventsRecord(id, [...events, events[0]!]),
          servedRecord([
            ...Array.from({ length: 5 }, (_, n) => answer(id, n)),
            answer(id, 6, { session_id: "s4", q: "hat 4x", at: START + 4 * 60_000 + 500 })
          ])
        ])
      }
      yield* streams.caughtUp
      const counted = { events: 30, searches: 5, total: 30, kept: 30 }
      assert.deepStrictEqual([yield* read("org_facts_a"), yield* read("org_facts_b")], [counted, counted])

      // A replay rebuilds its rows and replaces its part of the state.
      yield* sql`UPDATE visitor_counts SET events = events + 7, searches = 0`
      const replays = yield* Replays
      const replayed = yield* jobEnd(
        (yield* replays.replay("org_facts_a", { from: START - DAY, before: Date.now() + DAY })).id
      )
      assert.deepStrictEqual([replayed.status, replayed.error], ["ready", null])
      assert.deepInclude(replayed.result!["tables"], { name: "visitor_counts", rows: 1 })
      assert.deepStrictEqual(yield* read("org_facts_a"), counted)
      assert.deepStrictEqual(yield* read("org_facts_b"), { ...counted, events: 37, searches: 0 })

      // An erasure removes the person from rows, from state and from whatever is kept as sent.
      const erased = yield* jobEnd((yield* replays.erase("org_facts_a", "gone")).id)
      assert.deepStrictEqual([erased.status, erased.error], ["ready", null])
      const tables = new Map<string, number>(
        (erased.result!["tables"] as ReadonlyArray<{ name: string; rows: number }>).map(({ name, rows }) => [
          name,
          rows
        ])
      )
      assert.deepStrictEqual([tables.get("visitor_counts"), tables.get("visitor_events")], [1, 10])
      // Every keeper of personal data has a row, including the one of this test.
      const models = erased.result!["models"] as ReadonlyArray<{ name: string; outcome: string; rows?: number }>
      assert.deepStrictEqual(
        models.map(({ name }) => name),
        [rejections, ...FACT_PROCESSORS, visitorCounts].map(({ name }) => name).concat("recommendations")
      )
      assert.deepInclude(models, { name: visitorCounts.name, outcome: "removed", rows: 10 })
      assert.deepInclude(models, { name: "rollups", outcome: "rebuilt" })
      yield* log.append([eventsRecord("org_facts_a", [view(100)]), eventsRecord("org_facts_b", [view(100)])])
      yield* streams.caughtUp
      // Searches of the sessions that were seen with the person (0 and 3) are the person's.
      assert.deepStrictEqual(yield* read("org_facts_a"), { events: 21, searches: 3, total: 21, kept: 21 })
      assert.deepStrictEqual(yield* read("org_facts_b"), { events: 38, searches: 0, total: 31, kept: 31 })
      yield* streams.stop

      // What existed before has lost nothing.
      const [rollups] = yield* sql<{
        n: number
      }>`SELECT sum(n)::int4 AS n FROM (SELECT count(*) AS n FROM analytics_instants WHERE organization_id = 'org_facts_a') c`
      assert.isAbove(rollups!.n, 0)
    }).pipe(Effect.provide(environment), Effect.scoped)
  )
})
