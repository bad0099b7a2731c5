/**
 * Rules with a real engine and a real Postgres: increments are applied once through crashes at every point, counts
 * survive crashed flushes, and two tenants are separate.
 */
import { assert, it } from "@effect/vitest"
import { Data, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { createEngine, type SearchEngine } from "../../../engine-sdk/src/mod.ts"
import { createCollection, memoryResources } from "../../../engine-sdk/src/operations/mod.ts"
import { counterStep } from "../../../src/analytics-rules/counter-plan.ts"
import { expireRuleEvents } from "../../../src/analytics-rules/events-retention.ts"
import { publishRules } from "../../../src/analytics-rules/publisher.ts"
import { CatalogResources } from "../../../src/engine-plane/resources.ts"
import { type BehaviouralEvent, EVENTS_SCHEMA_VERSION } from "../../../log/event-schema.ts"
import { Engine } from "../../../src/ports/engine/engine.ts"
import { EventLog } from "../../../log/event-log/event-log.ts"
import { makeCounting } from "../../../streams/processors/counting.ts"
import { encodeRecord } from "../../../log/record.ts"
import { type Progress, runPartition, type RunnerOptions } from "../../../streams/runner/runner.ts"
import { memoryStore } from "../../../streams/state/state.ts"
import { BEHAVIOUR_EVENTS } from "../../../log/topics.ts"
import { seeded } from "../../support/attribution-oracle.ts"
import { atTime } from "../../support/clock.ts"
import { layerUnlimited } from "../../support/entitlements.ts"
import { layerTestSql } from "../../support/postgres.ts"

const NOW = Date.UTC(2026, 5, 1)
class Crash extends Data.TaggedError("Crash")<{ readonly message: string }> {}

const organization = (id: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      sql`INSERT INTO organizations (id, name, status, plan, created_at) VALUES (${id}, ${id}, 'active', 'standard', 0) ON CONFLICT DO NOTHING`
  )
const rule = (organizationId: string, name: string, type: string, event_type: string, params: object, created_at = 0) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      sql`INSERT INTO analytics_rules (organization_id, name, type, collection, event_type, params, created_at, updated_at) VALUES (${organizationId}, ${name}, ${type}, 'c', ${event_type}, ${JSON.stringify(params)}::text::json, ${created_at}, 0)`
  )
const told = (organizationId: string, events: ReadonlyArray<BehaviouralEvent>) => ({
  topic: BEHAVIOUR_EVENTS.name,
  partition: 0,
  value: encodeRecord({
    schema_version: EVENTS_SCHEMA_VERSION,
    organization_id: organizationId,
    occurred_at: NOW,
    payload: { events }
  })
})

it.live("a counter reaches the document once, wherever a round is interrupted", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const real = createEngine()
    const resources = memoryResources()
    /** Ends the round at the n-th call of the engine, before or after the write has happened. */
    let crashIn = Number.POSITIVE_INFINITY
    const touch = () => {
      if (--crashIn === 0) throw new Crash({ message: "killed" })
    }
    const engine: SearchEngine = {
      capabilities: () => real.capabilities(),
      createCollection: (...given) => real.createCollection(...given),
      alterCollection: (...given) => real.alterCollection(...given),
      dropCollection: (...given) => real.dropCollection(...given),
      listCollections: (...given) => real.listCollections(...given),
      describeCollection: (...given) => real.describeCollection(...given),
      search: (...given) => real.search(...given),
      union: (...given) => real.union(...given),
      scan: (...given) => real.scan(...given),
      usage: (...given) => real.usage(...given),
      health: () => real.health(),
      close: () => real.close(),
      get: (...given) => {
        touch()
        return real.get(...given)
      },
      write: async (...given) => {
        touch()
        const answer = await real.write(...given)
        touch()
        return answer
      }
    }
    const layers = Layer.mergeAll(
      layerUnlimited,
      Layer.succeed(Engine, engine),
      Layer.succeed(
        CatalogResources,
        CatalogResources.of({ ...resources, organizations: () => [], on: () => resources })
      )
    )
    const random = seeded(11)
    const expected = new Map<string, number>()
    for (const id of ["org_a", "org_b"]) {
      yield* organization(id)
      yield* rule(id, "clicks", "counter", "click", { counter_field: "n", weight: 3 })
      yield* rule(id, "buys", "counter", "purchase", { counter_field: "n", weight: 5 })
      yield* Effect.promise(async () =>
        createCollection(
          { engine: real, resources, namespace: id, now_s: 1 },
          JSON.stringify({ name: "c", fields: [{ name: "n", type: "int64" }] }),
          {}
        )
      )
      const made = yield* Effect.promise(() =>
        real.write(
          id,
          "c",
          Array.from({ length: 6 }, (_, i) => ({
            kind: "put" as const,
            action: "create" as const,
            dirtyValues: undefined,
            document: { id: `d${i}`, n: 100 * i }
          }))
        )
      )
      assert.isTrue(made.ok && made.value.every(({ result }) => result.ok))
      for (let i = 0; i < 6; i++) expected.set(`${id} d${i}`, 100 * i)
    }
    const round = Effect.provide(publishRules, layers)
    let crashes = 0
    for (let turn = 0; turn < 60; turn++) {
      // Written as a flush does; one of the documents does not exist.
      for (const id of ["org_a", "org_b"]) {
        for (const [name, weight] of [
          ["clicks", 3],
          ["buys", 5]
        ] as const) {
          const document = `d${Math.floor(random() * 7)}`
          const count = 1 + Math.floor(random() * 4)
          yield* sql`INSERT INTO analytics_rule_counters (organization_id, rule, document_id, counted) VALUES (${id}, ${name}, ${document}, ${count}) ON CONFLICT (organization_id, rule, document_id) DO UPDATE SET counted = analytics_rule_counters.counted + EXCLUDED.counted`
          const key = `${id} ${document}`
          if (expected.has(key)) expected.set(key, expected.get(key)! + weight * count)
        }
      }
      crashIn = 1 + Math.floor(random() * 14)
      if ((yield* Effect.exit(round))._tag === "Failure") crashes++
    }
    crashIn = Number.POSITIVE_INFINITY
    yield* round
    assert.isAtLeast(crashes, 20)
    const [waiting] = yield* sql<{
      n: number
    }>`SELECT count(*)::int4 AS n FROM analytics_rule_counters WHERE counted <> applied`
    assert.strictEqual(waiting!.n, 0)
    for (const [key, value] of expected) {
      const [id, document] = key.split(" ") as [string, string]
      const answer = yield* Effect.promise(async () => real.get(id, "c", [document]))
      assert.strictEqual(Number(answer.ok ? answer.value[0]?.n : undefined), value, key)
    }
    // A value set by its owner is kept, and counting continues from it.
    yield* Effect.promise(() =>
      real.write("org_a", "c", [
        { kind: "put", action: "update", dirtyValues: undefined, document: { id: "d0", n: 7 } }
      ])
    )
    yield* sql`UPDATE analytics_rule_counters SET counted = counted + 2 WHERE organization_id = 'org_a' AND rule = 'clicks' AND document_id = 'd0'`
    yield* round
    const answer = yield* Effect.promise(async () => real.get("org_a", "c", ["d0"]))
    assert.strictEqual(Number(answer.ok ? answer.value[0]?.n : undefined), 13)
    yield* Effect.promise(() => real.close())
  }).pipe(Effect.provide(layerTestSql), Effect.scoped)
)

it("the next step of a counter depends only on the document's field", () => {
  const counter = { document_id: "d", counted: 5, applied: 2, before: null, after: null, intended: null }
  assert.deepStrictEqual(counterStep(counter, 10, 4), { kind: "intend", before: 10, after: 22, intended: 5 })
  const meant = { ...counter, counted: 9, before: 10, after: 22, intended: 5 }
  assert.deepStrictEqual(counterStep(meant, 10, 4), { kind: "write", after: 22, intended: 5 })
  assert.deepStrictEqual(counterStep(meant, 22, 4), { kind: "settle", applied: 5 })
  assert.deepStrictEqual(counterStep(meant, 3, 4), { kind: "settle", applied: 5 })
  assert.deepStrictEqual(counterStep(meant, undefined, 4), { kind: "settle", applied: 9 })
})

it.live("rules count through crashed flushes, from their creation on, each for its organization", () =>
  Effect.provide(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const log = yield* EventLog
      for (const id of ["org_x", "org_y", "org_z"]) yield* organization(id)
      for (const id of ["org_x", "org_y"]) {
        yield* rule(
          id,
          "top",
          "popular_queries",
          "search",
          { destination_collection: "d", limit: 5, meta_fields: ["analytics_tag"] },
          NOW
        )
        yield* rule(id, "none", "nohits_queries", "search", { destination_collection: "d", limit: 5 }, NOW)
        yield* rule(id, "clicks", "counter", "click", { counter_field: "n", weight: 1 }, NOW)
        yield* rule(id, "all clicks", "log", "click", {}, NOW)
      }
      const random = seeded(3)
      const expected = new Map<string, number>()
      const bump = (key: string) => void expected.set(key, (expected.get(key) ?? 0) + 1)
      for (let i = 0; i < 300; i++) {
        const id = `org_${"xyz"[i % 3]}`
        const isLate = random() < 0.2
        const timestamp = isLate ? NOW - 1 : NOW + i
        const isCounted = !isLate && id !== "org_z"
        if (random() < 0.6) {
          const q = `q${Math.floor(random() * 4)}`,
            isMissed = random() < 0.3,
            tag = random() < 0.5 ? "a" : undefined
          const one: BehaviouralEvent = {
            type: "search",
            collection: "c",
            q,
            timestamp,
            results_found: isMissed ? 0 : 2,
            event_id: `e${i}`,
            ...(tag === undefined ? {} : { metadata: { analytics_tag: tag } })
          }
          yield* log.append([told(id, random() < 0.3 ? [one, one] : [one])])
          if (isCounted) bump(isMissed ? `${id} none ${q} ` : `${id} top ${q} ${tag ?? ""}`)
        } else {
          const document_id = `d${Math.floor(random() * 3)}`
          yield* log.append([
            told(id, [
              {
                type: "click",
                collection: "c",
                document_id,
                timestamp,
                event_id: `e${i}`,
                metadata: { odd: "a\u0000b\ud800" }
              }
            ])
          ])
          if (isCounted) bump(`${id} clicks ${document_id}`)
        }
      }
      let crashes = 0
      const store = memoryStore()
      const seen: { progress: Progress | undefined } = { progress: undefined }
      const options: RunnerOptions = {
        partition: 0,
        openStore: () => ({ ...store, close: async () => {} }),
        recordsPerFetch: 5,
        emittedMax: 10,
        snapshotEvery_ms: 0,
        restartAfter_ms: 1,
        report: (progress) => {
          seen.progress = progress
        },
        probe: () =>
          Effect.suspend(() =>
            crashes < 8 && random() < 0.2 ? (crashes++, Effect.die(new Crash({ message: "killed" }))) : Effect.void
          )
      }
      const fiber = yield* Effect.forkChild(
        runPartition({ ...makeCounting({ fingerprintKey: [1, 2, 3, 4] }), name: "rules" }, options)
      )
      while (seen.progress === undefined || seen.progress.isReplaying || seen.progress.lag > 0) yield* Effect.sleep(5)
      yield* Fiber.interrupt(fiber)
      assert.isAtLeast(crashes, 4)
      const queries = yield* sql<{
        id: string
        count: number
      }>`SELECT organization_id || ' ' || rule || ' ' || q || ' ' || analytics_tag AS id, count::int4 AS count FROM analytics_rule_queries WHERE count <> 0`
      const counters = yield* sql<{
        id: string
        count: number
      }>`SELECT organization_id || ' ' || rule || ' ' || document_id AS id, counted::int4 AS count FROM analytics_rule_counters`
      assert.deepStrictEqual(
        new Map([...queries, ...counters].map(({ count, id }) => [id, count] as const).sort()),
        new Map([...expected].sort())
      )
      const kept = yield* sql<{
        organization_id: string
        n: number
        distinct: number
      }>`SELECT organization_id, count(*)::int4 AS n, count(DISTINCT event ->> 'event_id')::int4 AS distinct FROM analytics_rule_events GROUP BY 1 ORDER BY 1`
      const clicks = (id: string) =>
        [...expected].filter(([key]) => key.startsWith(`${id} clicks`)).reduce((sum, [, count]) => sum + count, 0)
      assert.deepStrictEqual(
        kept.map((row) => ({ ...row })),
        ["org_x", "org_y"].map((id) => ({ organization_id: id, n: clicks(id), distinct: clicks(id) }))
      )
      // Bounded by age and by number, for each rule.
      assert.strictEqual(
        yield* atTime(NOW + 1_000)(expireRuleEvents(1_000, 10)),
        clicks("org_x") + clicks("org_y") - 20
      )
      assert.strictEqual(yield* atTime(NOW + 40 * 86_400_000)(expireRuleEvents(1_000, 10)), 20)
      // Deleting a rule deletes its figures.
      yield* sql`DELETE FROM analytics_rules WHERE organization_id = 'org_x'`
      const [left] = yield* sql<{
        n: number
      }>`SELECT count(*)::int4 AS n FROM analytics_rule_counters WHERE organization_id = 'org_x'`
      assert.strictEqual(left!.n, 0)
    }),
    Layer.merge(layerTestSql, Layer.fresh(EventLog.layerMemory))
  ).pipe(Effect.scoped)
)
