/**
 * The simulated stores of offsets and leases, compared with Postgres: the same random sequences of operations, answer
 * by answer.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Data, Deferred, Effect, type Exit, Fiber } from "effect"
import { type Unit, unitKey } from "../../streams/offsets/assignment.ts"
import { LeaseStore } from "../../streams/ownership/lease-store.ts"
import { OffsetStore } from "../../streams/offsets/offset-store.ts"
import { commitWith } from "../../streams/offsets/offsets.ts"
import { layerTestSql } from "../support/postgres.ts"
import { SimulatedDatabase } from "../support/simulation/database.ts"
import { Draws } from "../support/simulation/random.ts"
import { SimulatedProcess, World } from "../support/simulation/world.ts"

type Stores = LeaseStore | OffsetStore
class Failed extends Data.TaggedError("Failed")<Record<never, never>> {}
const TOPICS = ["t", "u"]
const HOUR = 3_600_000

/** Runs a sequence of operations on one group and returns their answers. */
const sequence = (seed: number, group: string): Effect.Effect<ReadonlyArray<string>, never, Stores> =>
  Effect.gen(function* () {
    const draws = new Draws(seed)
    const offsets = yield* OffsetStore
    const leases = yield* LeaseStore
    const answers: Array<string> = []
    const positions = () =>
      Object.fromEntries(TOPICS.filter(() => draws.chance(0.7)).map((topic) => [topic, draws.whole(0, 3)]))
    const unitDrawn = (): Unit => ({ group, partition: draws.whole(0, 1) })
    const owner = () => draws.pick(["x", "y"])
    const places = () =>
      Array.from({ length: draws.whole(0, 3) }, () => ({
        topic: draws.pick(TOPICS),
        offset: draws.whole(0, 5),
        index: draws.whole(-1, 2),
        reason: `reason ${draws.whole(0, 99)}`
      }))
    for (let i = 0; i < 60; i++) {
      const unit = unitDrawn()
      const told = <A, E extends { readonly _tag: string }>(what: string, effect: Effect.Effect<A, E, Stores>) =>
        Effect.match(effect, {
          onSuccess: (value) => answers.push(`${what} ${JSON.stringify(value) ?? "done"}`),
          onFailure: (error) => answers.push(`${what} ${error._tag}`)
        })
      const kind = draws.next()
      if (kind < 0.4) {
        const current = Object.fromEntries(Object.entries(yield* Effect.orDie(offsets.offsets(unit))).sort())
        const from = draws.chance(0.7) ? current : positions()
        const to = draws.chance(0.1) ? current : { ...current, ...positions() }
        const fails = draws.chance(0.2)
        const fence = draws.chance(0.5) ? draws.whole(1, 4) : undefined
        const skips = places()
        const write = Effect.andThen(offsets.skip(unit, skips), fails ? Effect.fail(new Failed()) : Effect.void)
        yield* told(
          `commit ${JSON.stringify([unit.partition, from, to, fence ?? null, fails])}`,
          commitWith(group, unit.partition, from, to, write, fence)
        )
      } else if (kind < 0.5)
        yield* told(
          "offsets",
          Effect.map(offsets.offsets(unit), (found) => Object.entries(found).sort())
        )
      else if (kind < 0.6)
        yield* told(
          "skipped",
          Effect.map(offsets.skipped(unit, positions()), (found) => [...found].sort())
        )
      else if (kind < 0.75) yield* told("claim", leases.claim(owner(), unit, draws.chance(0.5) ? HOUR : -1_000))
      else if (kind < 0.85) {
        const held = [0, 1]
          .filter(() => draws.chance(0.6))
          .map((partition) => ({ group, partition, fence: draws.whole(1, 4), progress: undefined }))
        const by = owner()
        const lease_ms = draws.chance(0.6) ? HOUR : -1_000
        yield* told(
          "renew",
          Effect.map(leases.renew(by, held, lease_ms), (kept) => kept.map(unitKey).sort())
        )
      } else if (kind < 0.92) yield* told("release", leases.release(owner(), { ...unit, fence: draws.whole(1, 4) }))
      else if (kind < 0.96) {
        const member = `${group}-${owner()}`
        yield* told(
          "announce",
          Effect.asVoid(
            draws.chance(0.7)
              ? leases.announce({ member, processors: [group] }, draws.chance(0.7) ? HOUR : -1_000)
              : leases.retire(member)
          )
        )
      } else
        yield* told(
          "members",
          Effect.map(leases.liveMembers, (found) =>
            found
              .filter(({ member }) => member.startsWith(group))
              .map(({ member }) => member)
              .sort()
          )
        )
      yield* told(
        "leases",
        Effect.map(leases.all, (found) =>
          found
            .filter((lease) => lease.group === group)
            .map((lease) => [unitKey(lease), lease.owner ?? null])
            .sort()
        )
      )
    }
    return answers
  })

/** The second transaction waits for the first and reads what it wrote; a failed one wrote nothing. */
const contention = (group: string) =>
  Effect.gen(function* () {
    const store = yield* OffsetStore
    const unit = { group, partition: 0 }
    const locked = yield* Deferred.make<void>()
    const go = yield* Deferred.make<void>()
    const order: Array<string> = []
    const first = yield* Effect.forkChild(
      store.transaction(
        Effect.gen(function* () {
          yield* store.lock(unit)
          yield* Deferred.succeed(locked, undefined)
          yield* Deferred.await(go)
          order.push("first")
          yield* store.moveOffsets(unit, { t: 1 })
        })
      )
    )
    yield* Deferred.await(locked)
    const second = yield* Effect.forkChild(
      store.transaction(
        Effect.gen(function* () {
          yield* store.lock(unit)
          order.push("second")
          const seen = yield* store.offsets(unit)
          yield* store.moveOffsets(unit, { t: 2 })
          yield* store.skip(unit, [{ topic: "t", offset: 1, index: 0, reason: "never" }])
          return yield* Effect.fail(JSON.stringify(seen))
        })
      )
    )
    // The lock of another unit is free.
    yield* store.transaction(store.lock({ group, partition: 1 }))
    yield* Effect.sleep(100)
    yield* Deferred.succeed(go, undefined)
    yield* Fiber.join(first)
    const failure = yield* Effect.flip(Fiber.join(second))
    return [order.join(), failure, JSON.stringify(yield* store.offsets(unit)), (yield* store.skipped(unit, {})).size]
  })

const simulated = <A>(seed: number, program: Effect.Effect<A, unknown, Stores>): Effect.Effect<A> =>
  Effect.promise(async () => {
    const world = new World(seed)
    world.isFaulty = false
    const database = new SimulatedDatabase(world, { before: 0, after: 0 })
    const process = new SimulatedProcess(world, "p", 0)
    const ended: { exit?: Exit.Exit<unknown, unknown> } = {}
    process.start(
      program,
      Context.mergeAll(
        Context.make(OffsetStore, database.offsetStore(process)),
        Context.make(LeaseStore, database.leaseStore(process))
      ),
      (exit) => {
        ended.exit = exit
      }
    )
    await world.run(() => ended.exit !== undefined, 1e9)
    if (ended.exit?._tag !== "Success") throw new Error(`the program did not succeed: ${String(ended.exit)}`)
    return ended.exit.value as A
  })

layer(layerTestSql, { timeout: 60_000, excludeTestServices: true })(
  "the simulated stores of offsets and leases",
  (it) => {
    it.effect("answer as Postgres does", () =>
      Effect.gen(function* () {
        for (let seed = 1; seed <= 25; seed++) {
          const expected = yield* sequence(seed, `drawn-${seed}`)
          assert.deepStrictEqual(yield* simulated(seed, sequence(seed, `drawn-${seed}`)), expected, `seed ${seed}`)
        }
      })
    )

    it.effect("lock and roll back as Postgres does", () =>
      Effect.gen(function* () {
        const expected = yield* contention("contended")
        assert.deepStrictEqual(expected, ["first,second", '{"t":1}', '{"t":1}', 0])
        for (let seed = 1; seed <= 50; seed++)
          assert.deepStrictEqual(yield* simulated(seed, contention("contended")), expected, `seed ${seed}`)
      })
    )
  }
)
