/**
 * What users did before an experiment, and how much of it is in their variants' sums: the same as a recount of
 * everything sent, in whatever order it came; within an organization's bound; without an erased person.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { join } from "node:path"
import { documentPrint } from "../../engine-sdk/src/experiments/mod.ts"
import { EventLog } from "../../log/event-log/event-log.ts"
import type { BehaviouralEvent, ServedSearch } from "../../log/event-schema.ts"
import { Identifiers } from "../../log/identifiers.ts"
import { Replays } from "../../src/events/replays/replays.ts"
import { expireHistories } from "../../src/experiments/runs-repository.ts"
import type { SearchFacts } from "../../streams/facts/facts.ts"
import { DAY_MS } from "../../streams/figures/grain.ts"
import { ExperimentFacts } from "../../streams/processors/experiments/emitted.ts"
import { HISTORY_ROWS_MAX, writeHistories } from "../../streams/processors/experiments/write-histories.ts"
import { openStateStore } from "../../streams/state/lmdb.ts"
import { seeded } from "../support/attribution-oracle.ts"
import { layerTestSql, temporaryFolder } from "../support/postgres.ts"
import { eventsRecord, jobEnd, makeOrganization, servedRecord, startStreams } from "../support/replays.ts"

const TODAY = Math.floor(Date.now() / DAY_MS) * DAY_MS
const COVARIATE_DAYS = 3
/** In the middle of a day; the part of that day before the start does not count. */
const STARTED_AT = TODAY - 3 * DAY_MS + DAY_MS / 2

interface Did {
  readonly user: string
  readonly at: number
  readonly isEmpty: boolean
  readonly clicks: number
  readonly revenue: number
  readonly variant: number | undefined
}
/** Actions of 60 users over eight days; those who search after the start take part in the run. */
const dids = (): ReadonlyArray<Did> => {
  const random = seeded(7)
  return Array.from({ length: 700 }, () => {
    const user = Math.floor(random() * 60)
    const at = Math.floor(TODAY - 8 * DAY_MS + random() * 8 * DAY_MS)
    return {
      user: `u${user}`,
      at,
      isEmpty: random() < 0.2,
      clicks: Math.floor(random() * 3),
      revenue: random() < 0.3 ? Math.floor(random() * 10_000) / 100 : 0,
      variant: at < STARTED_AT ? undefined : user % 2
    }
  })
}
const [D0, D1] = [documentPrint("d0"), documentPrint("d1")]
/** Each action has a session of its own, so that no search is a keystroke of another. */
const recordsOf = (organizationId: string, all: ReadonlyArray<Did>) => {
  const served: Array<ServedSearch> = [],
    events: Array<BehaviouralEvent> = []
  all.forEach(({ at, clicks, isEmpty, revenue, user: user_id, variant }, i) => {
    const query_id = `q${at}-${i}`
    const common = { collection: i % 2 === 0 ? "goods" : "alias", session_id: `s${at}-${i}`, user_id }
    served.push({
      ...common,
      organization_id: organizationId,
      query_id,
      q: `query ${i}`,
      found: isEmpty ? 0 : 3,
      at,
      isCounted: true,
      device: ["mobile", "desktop", ""][i % 3]!,
      surface: `page ${i % 60}`,
      ...(variant === undefined
        ? {}
        : {
            experiment: {
              id: "exp_1",
              run: 1,
              variant,
              unit: "user" as const,
              took_us: 1_000 + 37 * i,
              ...(i % 2 === 0 ? { teams: i % 5 < 3 ? { a: [D0], b: [D1] } : { a: [D1], b: [D0] } } : {})
            }
          })
    })
    for (let c = 0; c < clicks; c++)
      events.push({ ...common, type: "click", query_id, document_id: `d${c}`, timestamp: at + 1 + c })
    if (revenue > 0) events.push({ ...common, type: "purchase", query_id, revenue, timestamp: at + 9 })
  })
  return { served, events }
}

interface Own {
  searches: number
  no_results: number
  clicked: number
  purchased: number
  revenue: number
}
const sumOf = (all: ReadonlyArray<Did>): Own => ({
  searches: all.length,
  no_results: all.filter(({ isEmpty }) => isEmpty).length,
  clicked: all.filter(({ clicks }) => clicks > 0).length,
  purchased: all.filter(({ revenue }) => revenue > 0).length,
  revenue: all.reduce((sum, { revenue }) => sum + Math.round(revenue * 1_000_000), 0)
})
const METRICS = {
  ctr: ["clicked", 1_000_000],
  conversion_rate: ["purchased", 1_000_000],
  revenue_per_search: ["revenue", 1],
  zero_result_rate: ["no_results", 1_000_000]
} as const
/** A row for each metric and variant, over all days. */
const expectedSums = (all: ReadonlyArray<Did>): ReadonlyArray<string> => {
  const rows = new Map<string, Array<bigint>>()
  const end = Math.floor(STARTED_AT / DAY_MS) * DAY_MS
  for (const user of new Set(all.map((one) => one.user))) {
    const own = all.filter((one) => one.user === user)
    const shown = own.filter(({ variant }) => variant !== undefined)
    if (shown.length === 0) continue
    const now = sumOf(shown)
    const before = sumOf(own.filter(({ at }) => at >= end - COVARIATE_DAYS * DAY_MS && at < end))
    for (const [metric, [name, scale]] of Object.entries(METRICS)) {
      const [x, y] = [BigInt(now[name]), BigInt(now.searches)]
      const c = before.searches === 0 ? 0n : BigInt(before[name] * scale) / BigInt(before.searches)
      const sums = [1n, x, y, c, c * c, x * c, y * c, before.searches > 0 ? 1n : 0n]
      const row = `${shown[0]!.variant} ${metric}`
      rows.set(row, rows.get(row)?.map((sum, i) => sum + sums[i]!) ?? sums)
    }
  }
  return [...rows].map(([row, sums]) => `${row}: ${sums.join(" ")}`).sort()
}
const storedSums = Effect.fnUntraced(function* (organizationId: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{
    row: string
  }>`SELECT concat(variant, ' ', metric, ': ', sum(n), ' ', sum(x), ' ', sum(y), ' ', sum(c), ' ', sum(cc), ' ', sum(xc), ' ', sum(yc), ' ', sum(known)) AS row
    FROM experiment_sums WHERE organization_id = ${organizationId} AND metric NOT LIKE 'vote%' GROUP BY variant, metric`
  return rows.map(({ row }) => row).sort()
})
/** Everything from which results are computed, without rows whose sums are zero. */
const dump = Effect.fnUntraced(function* (organizationId: string) {
  const sql = yield* SqlClient.SqlClient
  const rows: Record<string, ReadonlyArray<string>> = {}
  for (const [name, isSomething] of Object.entries({
    units: "true",
    sums: "n <> 0",
    splits: "units <> 0",
    exposures: "true",
    latencies: "true",
    histories: "true"
  }))
    rows[name] = (yield* sql.unsafe<{ row: string }>(
      `SELECT (to_jsonb(t) - 'organization_id')::text AS row FROM experiment_${name} t WHERE organization_id = $1 AND ${isSomething} ORDER BY 1`,
      [organizationId]
    )).map(({ row }) => row)
  return rows
})
/** The rows that are equal in two organizations; those with unit ids are not, since ids are keyed by organization. */
const common = ({ exposures, latencies, sums }: Record<string, ReadonlyArray<string>>) => ({
  exposures,
  latencies,
  sums
})
const use = Effect.fnUntraced(function* (organizationId: string) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{
    rows: number
    dropped: number
    stored: number
  }>`SELECT rows::int4 AS rows, dropped::int4 AS dropped, (SELECT count(*)::int4 FROM experiment_histories WHERE organization_id = ${organizationId}) AS stored
    FROM experiment_history_use WHERE organization_id = ${organizationId}`
  return row!
})
const begin = Effect.fnUntraced(function* (organizationId: string) {
  const sql = yield* SqlClient.SqlClient
  const definition = JSON.stringify({ unit: "user", covariate_days: COVARIATE_DAYS })
  yield* makeOrganization(organizationId)
  yield* sql`INSERT INTO experiments (organization_id, id, collection, definition, status, run, created_at, updated_at)
    VALUES (${organizationId}, 'exp_1', 'goods', ${definition}::text::json, 'running', 1, 0, 0)`
  yield* sql`INSERT INTO experiment_runs (organization_id, experiment_id, run, definition, started_at, least_p, split_p, looked_at)
    VALUES (${organizationId}, 'exp_1', 1, ${definition}::text::json, ${String(STARTED_AT)}::text::int8, '{}', 1, 0)`
})

/** Facts of users who each searched once on each of the days, as a flush writes them. */
const searched = (organizationId: string, users: ReadonlyArray<number>, days: ReadonlyArray<number>, sign: 1 | -1) => {
  const facts = new ExperimentFacts()
  for (const user of users)
    for (const day of days) {
      const search = { at: day, who: [user, 0, 0, 0], hasNoResults: false, exposure: undefined }
      facts.search({ key: [organizationId] } as never, search as unknown as SearchFacts, sign)
    }
  return facts.histories
}

/** Each test starts with an empty log. */
const clean = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) =>
    sql`TRUNCATE stream_offsets, stream_generations, stream_replays, stream_replay_partitions, event_tombstones, jobs CASCADE`
)
const replaying = (visitorPartitions: number) =>
  Layer.provideMerge(
    Replays.layer({ visitorPartitions }),
    Layer.mergeAll(Layer.fresh(EventLog.layerMemory), Identifiers.layer)
  )

layer(layerTestSql, { timeout: 60_000, excludeTestServices: true })("what users did before an experiment", (it) => {
  it.effect("is in the sums as a recount has it, in whatever order it came; an erased user's is in none", () =>
    Effect.gen(function* () {
      yield* clean
      const log = yield* EventLog
      const folder = yield* temporaryFolder("histories")
      const streams = yield* startStreams({
        openStore: (group, partition) => openStateStore(join(folder, `${group}-${partition}`)),
        openShadowStore: (partition) => openStateStore(join(folder, `shadow-${partition}`)),
        visitorPartitions: 2
      })
      const [inOrder, late] = ["org_his_order", "org_his_late"] as const
      yield* begin(inOrder)
      yield* begin(late)
      const all = dids().toSorted((a, b) => a.at - b.at)
      const append = Effect.fnUntraced(function* (organizationId: string, part: ReadonlyArray<Did>) {
        // A user's sessions are in two partitions.
        for (const partition of [0, 1]) {
          const { events, served } = recordsOf(
            organizationId,
            part.filter(({ at }) => at % 2 === partition)
          )
          yield* log.append([servedRecord(served, partition), eventsRecord(organizationId, events, partition)])
        }
        yield* streams.caughtUp
      })
      yield* append(inOrder, all)
      // First the run, in pieces; then what its users did before, the newest day first.
      for (let piece = 0; piece < 6; piece++)
        yield* append(
          late,
          all.toReversed().filter((_, i) => Math.floor((i * 6) / all.length) === piece)
        )
      const expected = expectedSums(all)
      assert.strictEqual(expected.length, 8)
      assert.isTrue(expected.every((row) => !row.endsWith(" 0")))
      assert.deepStrictEqual(yield* storedSums(inOrder), expected)
      assert.deepStrictEqual(yield* storedSums(late), expected)
      const days = new Set(all.map(({ at, user }) => `${user} ${Math.floor(at / DAY_MS)}`)).size
      assert.deepStrictEqual(yield* use(inOrder), { rows: days, dropped: 0, stored: days })

      const replays = yield* Replays
      const erased = yield* jobEnd((yield* replays.erase(inOrder, "u5")).id)
      assert.deepStrictEqual([erased.status, erased.error], ["ready", null])
      const left = all.filter(({ user }) => user !== "u5")
      assert.deepStrictEqual(yield* storedSums(inOrder), expectedSums(left))
      const daysLeft = new Set(left.map(({ at, user }) => `${user} ${Math.floor(at / DAY_MS)}`)).size
      assert.deepStrictEqual(yield* use(inOrder), { rows: daysLeft, dropped: 0, stored: daysLeft })
      assert.deepInclude(erased.result!["tables"], { name: "experiment_histories", rows: days - daysLeft })
      assert.deepStrictEqual(yield* storedSums(late), expected)
      yield* streams.stop
    }).pipe(Effect.provide(replaying(2)), Effect.scoped)
  )

  it.effect("is counted once however often the partition is killed, whichever state it restarts with", () =>
    Effect.gen(function* () {
      yield* clean
      const log = yield* EventLog
      const folder = yield* temporaryFolder("histories")
      const [killed, untouched] = ["org_his_killed", "org_his_calm"] as const
      yield* begin(killed)
      yield* begin(untouched)
      const random = seeded(11)
      let kills = 0,
        lives = 0,
        isArmed = true
      const streams = yield* startStreams({
        // Every other run finds the stored state; the others rebuild it from the log.
        openStore: (group, partition) =>
          openStateStore(
            join(folder, group === "attribution" && ++lives % 2 === 0 ? `lost-${lives}` : `${group}-${partition}`)
          ),
        openShadowStore: (partition) => openStateStore(join(folder, `shadow-${partition}`)),
        probe: (point) =>
          Effect.suspend(() =>
            isArmed && (point === "flushed" || point === "committed") && kills < 12 && random() < 0.4
              ? Effect.die(new Error(`killed ${++kills}`))
              : Effect.void
          )
      })
      const all = dids()
      const append = Effect.fnUntraced(function* (organizationId: string, part: ReadonlyArray<Did>) {
        const { events, served } = recordsOf(organizationId, part)
        yield* log.append([servedRecord(served), eventsRecord(organizationId, events)])
        yield* streams.caughtUp
      })
      for (let piece = 0; piece < 12; piece++)
        yield* append(
          killed,
          all.filter((_, i) => i % 12 === piece)
        )
      assert.isAbove(kills, 5)
      isArmed = false
      for (let piece = 0; piece < 12; piece++)
        yield* append(
          untouched,
          all.filter((_, i) => i % 12 === piece)
        )
      assert.deepStrictEqual(yield* storedSums(killed), expectedSums(all))
      const [dumped, calm] = [yield* dump(killed), yield* dump(untouched)]
      assert.deepStrictEqual(common(dumped), common(calm))
      assert.isAbove(dumped["latencies"]!.length, 20)
      assert.isTrue(dumped["sums"]!.some((row) => row.includes("vote_ctr")))
      yield* streams.stop
    }).pipe(Effect.provide(replaying(1)), Effect.scoped)
  )

  for (const point of ["none", "shadowed", "adopted", "exchanging"] as const)
    it.effect(`is rebuilt from the log as live counting has it, with a kill at: ${point}`, () =>
      Effect.gen(function* () {
        yield* clean
        const log = yield* EventLog
        const sql = yield* SqlClient.SqlClient
        const folder = yield* temporaryFolder("histories")
        const [broken, other] = [`org_his_broken_${point}`, `org_his_whole_${point}`]
        yield* begin(broken)
        yield* begin(other)
        let kills = 0,
          isArmed = false
        const streams = yield* startStreams({
          openStore: (group, partition) => openStateStore(join(folder, `${group}-${partition}`)),
          openShadowStore: (partition) => openStateStore(join(folder, `shadow-${partition}`)),
          visitorPartitions: 2,
          probe: (at) =>
            Effect.suspend(() =>
              isArmed && at === point && kills++ < 2 ? Effect.die(new Error("killed")) : Effect.void
            )
        })
        const all = dids()
        const append = Effect.fnUntraced(function* (organizationId: string, part: ReadonlyArray<Did>) {
          for (const partition of [0, 1]) {
            const { events, served } = recordsOf(
              organizationId,
              part.filter(({ at }) => at % 2 === partition)
            )
            yield* log.append([servedRecord(served, partition), eventsRecord(organizationId, events, partition)])
          }
          yield* streams.caughtUp
        })
        const [first, rest] = [all.slice(0, 500), all.slice(500)]
        yield* append(broken, first)
        yield* append(other, first)
        const [live, theirs] = [yield* dump(broken), yield* dump(other)]
        const spoil = Effect.gen(function* () {
          yield* sql`UPDATE experiment_units SET searches = searches + 3, device = 'fridge' WHERE organization_id = ${broken}`
          yield* sql`DELETE FROM experiment_sums WHERE organization_id = ${broken} AND metric = 'ctr'`
          yield* sql`UPDATE experiment_histories SET clicked = 0 WHERE organization_id = ${broken}`
          yield* sql`UPDATE experiment_latencies SET exposures = exposures + 1 WHERE organization_id = ${broken}`
          yield* sql`DELETE FROM experiment_exposures WHERE organization_id = ${broken}`
          yield* sql`UPDATE experiment_splits SET units = 1 WHERE organization_id = ${broken}`
        })
        yield* spoil
        const spoilt = yield* dump(broken)
        const replays = yield* Replays
        const ended = Effect.fnUntraced(function* (from: number, target: "analytics" | "experiments") {
          const job = yield* jobEnd((yield* replays.replay(broken, { from, before: TODAY + DAY_MS }, target)).id)
          assert.deepStrictEqual([job.status, job.error], ["ready", null])
          return job.result!
        })
        if (point === "none") {
          // Replays of another target, or of days on which the run did not begin, do not change it.
          yield* ended(TODAY - 9 * DAY_MS, "analytics")
          assert.deepStrictEqual(yield* dump(broken), spoilt)
          yield* ended(Math.floor(STARTED_AT / DAY_MS) * DAY_MS + DAY_MS, "experiments")
          const after = yield* dump(broken)
          assert.deepStrictEqual({ ...after, histories: [] }, { ...spoilt, histories: [] })
        }
        isArmed = true
        const result = yield* ended(TODAY - 9 * DAY_MS, "experiments")
        assert.deepStrictEqual(kills > 0, point !== "none")
        assert.deepStrictEqual(yield* dump(broken), live)
        assert.strictEqual(result["target"], "experiments")
        assert.deepInclude(result["tables"], { name: "experiment_runs", rows: 1 })
        // Later events are counted on top of it; no other organization changed.
        assert.deepStrictEqual(yield* dump(other), theirs)
        yield* append(broken, rest)
        yield* append(other, rest)
        assert.deepStrictEqual(yield* storedSums(broken), expectedSums(all))
        assert.deepStrictEqual(common(yield* dump(broken)), common(yield* dump(other)))
        yield* streams.stop
      }).pipe(Effect.provide(replaying(2)), Effect.scoped)
    )

  it.effect("is bounded for each organization; the newest days are kept, and dropped rows are counted", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      assert.strictEqual(HISTORY_ROWS_MAX, 1_000_000)
      const [full, other] = ["org_his_full", "org_his_other"] as const
      const daysOf = (organizationId: string) =>
        Effect.map(
          sql<{
            day: number
          }>`SELECT ((day - ${String(TODAY)}::text::int8) / ${String(DAY_MS)}::text::int8)::int4 AS day FROM experiment_histories WHERE organization_id = ${organizationId} ORDER BY day, unit`,
          (rows) => rows.map(({ day }) => day)
        )
      const both = searched(full, [1, 2, 3], [TODAY - DAY_MS, TODAY], 1)
      for (const change of searched(other, [1], [TODAY], 1).changes(other))
        both.of(other, { at: change.day, who: [1, 0, 0, 0] } as unknown as SearchFacts)!.searches++
      yield* writeHistories(both, 4)
      assert.deepStrictEqual(yield* daysOf(full), [-1, 0, 0, 0])
      assert.deepStrictEqual(yield* use(full), { rows: 4, dropped: 2, stored: 4 })
      assert.deepStrictEqual(yield* use(other), { rows: 1, dropped: 0, stored: 1 })
      // Existing rows are still updated; taking back a search of a dropped row creates none.
      yield* writeHistories(searched(full, [1], [TODAY], 1), 4)
      yield* writeHistories(searched(full, [3], [TODAY - DAY_MS], -1), 4)
      assert.deepStrictEqual(yield* use(full), { rows: 4, dropped: 2, stored: 4 })
      // A day whose searches were all taken back is removed, which makes room.
      yield* writeHistories(searched(full, [2], [TODAY], -1), 4)
      assert.deepStrictEqual(yield* use(full), { rows: 3, dropped: 2, stored: 3 })
      yield* writeHistories(searched(full, [9], [TODAY], 1), 4)
      assert.deepStrictEqual(yield* use(full), { rows: 4, dropped: 2, stored: 4 })
    })
  )

  it.effect("is kept for 121 days, and longer where a run still uses it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [none, running] = ["org_his_none", "org_his_running"] as const
      yield* begin(running)
      const old = TODAY - 200 * DAY_MS
      yield* sql`UPDATE experiment_runs SET started_at = ${String(old)}::text::int8 WHERE organization_id = ${running}`
      for (const id of [none, running])
        yield* writeHistories(
          searched(id, [1], [TODAY - 120 * DAY_MS, TODAY - 122 * DAY_MS, old - DAY_MS, old - 9 * DAY_MS], 1)
        )
      assert.strictEqual(yield* expireHistories(1_000), 5)
      assert.deepStrictEqual(yield* use(none), { rows: 1, dropped: 0, stored: 1 })
      assert.deepStrictEqual(yield* use(running), { rows: 2, dropped: 0, stored: 2 })
      yield* sql`UPDATE experiment_runs SET stopped_at = ${String(old)}::text::int8 WHERE organization_id = ${running}`
      assert.strictEqual(yield* expireHistories(1_000), 1)
      assert.deepStrictEqual(yield* use(running), { rows: 1, dropped: 0, stored: 1 })
    })
  )
})
