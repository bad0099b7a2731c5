/**
 * Figures kept in memory equal those that Postgres sums from scratch, whatever was written between two reads and in
 * whichever order it was committed.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { KeptTablesOptions } from "../../../src/analytics/kept-tables.ts"
import { type RollupFilter, Rollups } from "../../../src/analytics/rollups-repository.ts"
import type { RollupSums } from "../../../streams/processors/rollups/emitted.ts"
import { writeRollups } from "../../../streams/processors/rollups/write.ts"
import { AttributionState } from "../../../streams/processors/attribution/state.ts"
import type { Body } from "../../../streams/processors/attribution/body.ts"
import { step } from "../../../streams/processors/attribution/step.ts"
import { memoryStore } from "../../../streams/state/state.ts"
import { generate, seeded } from "../../support/attribution-oracle.ts"
import { newCounted } from "../../support/facts.ts"
import { layerTestSql } from "../../support/postgres.ts"

const START = Date.UTC(2026, 4, 4, 22)
const HOUR = 3_600_000

/** The flushes of a shop's evening; queries differ by country, so that segments do too. */
function* flushes(seed: number, organizationId: string, rename: (collection: string) => string): Generator<RollupSums> {
  const { events, served } = generate(seed, 500, START)
  const random = seeded(seed)
  const country = () => (random() < 0.5 ? { country: "de" } : { country: "fr" })
  const bodies: ReadonlyArray<Body> = [
    ...served.map((one): Body => ({
      kind: "served",
      served: {
        ...one,
        organization_id: organizationId,
        collection: rename(one.collection),
        filter_by: "shop:=north",
        ...country()
      }
    })),
    ...events.map((event): Body => ({
      kind: "event",
      organizationId,
      event: { ...event, collection: rename(event.collection), ...country() }
    }))
  ]
  const shuffled = bodies.map((body) => ({ body, at: random() })).sort((a, b) => a.at - b.at)
  const state = new AttributionState(memoryStore(), { fingerprintKey: [1, 2, 3, 4] })
  let counted = newCounted()
  for (const [offset, { body }] of shuffled.entries()) {
    step(state, body, { topic: "t", offset, index: 0, appendedAt: START }, counted.facts)
    if (random() < 0.02) {
      yield counted.sums
      counted = newCounted()
    }
  }
  yield counted.sums
}

layer(layerTestSql, { timeout: 60_000, excludeTestServices: true })("kept figures", (it) => {
  const filtersOf = (organizationId: string): ReadonlyArray<RollupFilter> => {
    const filter = (over: Partial<RollupFilter>): RollupFilter => ({
      organizationId,
      range: { from: START - 24 * HOUR, before: START + 48 * HOUR },
      collection: undefined,
      segment: undefined,
      ...over
    })
    return [
      filter({}),
      filter({ collection: "products" }),
      filter({ collection: "products", segment: { dimension: "country", value: "de" } }),
      filter({ segment: { dimension: "country", value: undefined } }),
      // Over midnight, with both ends within a minute.
      filter({ range: { from: START + 61_007, before: START + 3 * HOUR + 1_234 } })
    ]
  }
  const answers = (rollups: Rollups["Service"], filter: RollupFilter) =>
    rollups.atOneMoment(
      Effect.all({
        popular: rollups.queryPage(filter, { limit: 1_000, offset: 0, order: "popular" }),
        second: rollups.queryPage(filter, { limit: 2, offset: 3, order: "popular" }),
        zero: rollups.queryPage(filter, { limit: 1_000, offset: 0, order: "zero-results" }),
        products: rollups.productPage(filter, { limit: 1_000, offset: 0 }),
        filters: rollups.filterPage(filter, { limit: 1_000, offset: 0 }),
        totals: rollups.totals(filter),
        events: rollups.events(filter)
      })
    )
  const made = (options: KeptTablesOptions) =>
    Effect.map(Layer.build(Layer.fresh(Rollups.layerWith(options))), Context.get(Rollups))
  /** One keeps figures from the first look on, the other never does. */
  const both = Effect.all([made({ worth_ms: 0 }), made({ worth_ms: Number.POSITIVE_INFINITY })])

  it.effect(
    "equal sums from scratch after every flush, for every view, range and segment, and for one organization only",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const [kept, plain] = yield* both
          for (const seed of [1, 2]) {
            const organizationId = `org_kept_${seed}`
            const other = flushes(seed + 10, "org_other", (name) => name)
            for (const emitted of flushes(seed, organizationId, (name) => name)) {
              yield* sql.withTransaction(writeRollups(emitted))
              const theirs = other.next()
              if (theirs.done !== true) yield* sql.withTransaction(writeRollups(theirs.value))
              for (const filter of filtersOf(organizationId))
                assert.deepStrictEqual(yield* answers(kept, filter), yield* answers(plain, filter))
              yield* kept.kept.settled
            }
            assert.isAbove(kept.kept.bytes(), 0)
            assert.isAbove((yield* answers(kept, filtersOf(organizationId)[0]!)).popular.total, 5)
          }
          assert.strictEqual(plain.kept.bytes(), 0)
        })
      )
  )

  it.effect("see what is committed late, after transactions that began later", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const [kept, plain] = yield* both
        const organizationId = "org_late"
        const [filter] = filtersOf(organizationId) as [RollupFilter]
        const late = [...flushes(3, organizationId, (name) => `late ${name}`)]
        const early = [...flushes(4, organizationId, (name) => name)]
        for (let i = 0; i < Math.min(late.length, early.length); i++) {
          const [written, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
          const open = yield* Effect.forkChild(
            sql.withTransaction(
              Effect.andThen(
                writeRollups(late[i]!),
                Effect.andThen(Deferred.succeed(written, undefined), Deferred.await(go))
              )
            )
          )
          yield* Deferred.await(written)
          yield* sql.withTransaction(writeRollups(early[i]!))
          assert.deepStrictEqual(yield* answers(kept, filter), yield* answers(plain, filter))
          yield* kept.kept.settled
          yield* Deferred.succeed(go, undefined)
          yield* Fiber.join(open)
          assert.deepStrictEqual(yield* answers(kept, filter), yield* answers(plain, filter))
        }
      })
    )
  )

  it.effect("are read again after a rewrite, and a transaction that began earlier does not see later ones", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const [kept, plain] = yield* both
        const organizationId = "org_rewritten"
        const [filter] = filtersOf(organizationId) as [RollupFilter]
        const [first, second] = [...flushes(5, organizationId, (name) => name)] as [RollupSums, RollupSums]
        yield* sql.withTransaction(writeRollups(first))
        const before = yield* answers(kept, filter)
        yield* kept.kept.settled
        const [started, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const old = yield* Effect.forkChild(
          kept.atOneMoment(
            Effect.andThen(
              kept.events(filter),
              Effect.andThen(
                Deferred.succeed(started, undefined),
                Effect.andThen(
                  Deferred.await(go),
                  kept.queryPage(filter, { limit: 1_000, offset: 0, order: "popular" })
                )
              )
            )
          )
        )
        yield* Deferred.await(started)
        yield* sql.withTransaction(writeRollups(second))
        assert.deepStrictEqual(yield* answers(kept, filter), yield* answers(plain, filter))
        yield* Deferred.succeed(go, undefined)
        assert.deepStrictEqual(yield* Fiber.join(old), before.popular)

        yield* sql.withTransaction(
          Effect.gen(function* () {
            for (const table of ["analytics_query_rollup", "analytics_instants"])
              yield* sql`DELETE FROM ${sql(table)} WHERE organization_id = ${organizationId}`
            yield* sql`INSERT INTO analytics_rewrites (organization_id, rewrites) VALUES (${organizationId}, 1) ON CONFLICT (organization_id) DO UPDATE SET rewrites = analytics_rewrites.rewrites + 1`
          })
        )
        assert.deepStrictEqual((yield* answers(kept, filter)).popular, { total: 0, rows: [] })
      })
    )
  )

  it.effect("stay within their bytes", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const small = yield* made({ worth_ms: 0, bytesMax: 400_000 })
        const plain = yield* made({ worth_ms: Number.POSITIVE_INFINITY })
        for (const organizationId of ["org_a", "org_b", "org_c"]) {
          for (const emitted of flushes(6, organizationId, (name) => name))
            yield* sql.withTransaction(writeRollups(emitted))
          for (const filter of filtersOf(organizationId)) {
            assert.deepStrictEqual(yield* answers(small, filter), yield* answers(plain, filter))
            yield* small.kept.settled
            assert.isAtMost(small.kept.bytes(), 400_000)
          }
        }
      })
    )
  )
})
