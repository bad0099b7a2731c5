/** The behaviour of every dedupe window, whatever its storage, compared with a plain Map of times. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer, type Scope } from "effect"
import { makeRandom } from "../../fixtures/random.ts"
import { DEDUPE_WINDOW_HOURS } from "../../log/event-schema.ts"
import { DedupeWindow } from "../../src/ports/dedupe/dedupe-window.ts"
import { EventLog, type EventLogUnavailable } from "../../log/event-log/event-log.ts"
import { makeSetClock } from "../support/clock.ts"

export const HOUR = 3_600_000
/** Ten minutes into an hour, so that an adjustment of the real clock does not matter. */
export const START = Date.UTC(2026, 0, 1) + 600_000
export const TOPIC = "blocks"
export const request = (organizationId: string, ...eventIds: ReadonlyArray<string>) => ({ organizationId, eventIds })

/** As the events service does: admitted ids are appended, or taken back if the append fails. */
export const admitAndStore = Effect.fnUntraced(function* (
  window: DedupeWindow["Service"],
  requests: ReadonlyArray<ReturnType<typeof request>>,
  isStored = true
) {
  const log = yield* EventLog
  const admission = yield* window.admit(requests)
  if (!isStored) yield* window.forget(admission)
  else if (admission.block.length > 0) yield* log.append([{ topic: TOPIC, partition: 0, value: admission.block }])
  return admission.seen.map((flags) => [...flags])
})

/** The model: when each id of each organization was first admitted. */
export class Model {
  readonly #admitted = new Map<string, number>()
  admit(requests: ReadonlyArray<ReturnType<typeof request>>, now: number, isStored: boolean): Array<Array<number>> {
    const hour = Math.floor(now / HOUR)
    const taken: Array<string> = []
    const seen = requests.map(({ eventIds, organizationId }) =>
      eventIds.map((id) => {
        const key = `${organizationId} ${id}`
        const held = this.#admitted.get(key)
        if (held !== undefined && hour - held <= DEDUPE_WINDOW_HOURS) return 1
        this.#admitted.set(key, hour)
        taken.push(key)
        return 0
      })
    )
    if (!isStored) for (const key of taken) this.#admitted.delete(key)
    return seen
  }
}

/** Random calls of two organizations that use the same ids, with hours between them; `between` runs after each. */
export const againstModel = Effect.fnUntraced(function* <E, R>(options: {
  readonly seed: number
  readonly calls: number
  readonly ids: number
  readonly now: () => number
  readonly forward: (ms: number) => void
  readonly model?: Model
  readonly window: Effect.Effect<DedupeWindow["Service"], never, R>
  readonly between?: (call: number) => Effect.Effect<void, E, R>
}) {
  const chance = makeRandom(options.seed).next
  const model = options.model ?? new Model()
  for (let call = 0; call < options.calls; call++) {
    const requests = Array.from({ length: 1 + Math.floor(chance() * 3) }, () =>
      request(
        chance() < 0.5 ? "one" : "two",
        ...Array.from({ length: Math.floor(chance() * 40) }, () => `id-${Math.floor(chance() * options.ids)}`)
      )
    )
    const isStored = chance() < 0.9
    const expected = model.admit(requests, options.now(), isStored)
    const window = yield* options.window
    assert.deepStrictEqual(
      yield* admitAndStore(window, requests, isStored),
      expected,
      `seed ${options.seed}, call ${call}`
    )
    if (chance() < 0.3) options.forward(Math.floor(chance() * 30) * HOUR)
    if (options.between !== undefined) yield* options.between(call)
  }
})

type Build = Effect.Effect<Layer.Layer<DedupeWindow, EventLogUnavailable, EventLog>, never, Scope.Scope>

export const dedupeWindowSuite = (name: string, build: Build) =>
  describe(name, () => {
    const over = <A, E>(
      body: (
        window: DedupeWindow["Service"],
        time: { readonly now: () => number; readonly forward: (ms: number) => void }
      ) => Effect.Effect<A, E, EventLog>
    ) =>
      Effect.scoped(
        Effect.gen(function* () {
          const time = yield* makeSetClock(START)
          const layer = yield* build
          return yield* Effect.flatMap(DedupeWindow, (window) => body(window, time)).pipe(
            Effect.provide(Layer.provideMerge(layer, EventLog.layerMemory)),
            Effect.provideService(Clock.Clock, time.clock)
          )
        })
      )

    it.live("distinguishes seen ids from new ones, within and across calls, for each organization", () =>
      over((window) =>
        Effect.gen(function* () {
          const first = yield* window.admit([
            request("one", "a", "b", "a"),
            request("two", "a"),
            request("one", "b", "c")
          ])
          assert.deepStrictEqual(
            first.seen.map((flags) => [...flags]),
            [[0, 0, 1], [0], [1, 0]]
          )
          yield* window.forget(first)
          const again = yield* window.admit([request("one", "a", "c"), request("two", "a")])
          assert.deepStrictEqual(
            again.seen.map((flags) => [...flags]),
            [[0, 0], [0]]
          )
        })
      )
    )

    it.live("has nothing to append to the log when nothing was new", () =>
      over((window) =>
        Effect.gen(function* () {
          yield* admitAndStore(window, [request("one", "a")])
          const again = yield* window.admit([request("one", "a"), request("two"), request("one", "a")])
          assert.strictEqual(again.block.length, 0)
        })
      )
    )

    it.live("answers as a map of times does for random calls, ids taken back, and ids that expire", () =>
      over((window, time) =>
        Effect.gen(function* () {
          for (const seed of [1, 2, 3])
            yield* againstModel({
              seed,
              calls: 120,
              ids: 1_500,
              ...time,
              model: new Model(),
              window: Effect.succeed(window),
              between: () => Effect.void
            }).pipe(Effect.andThen(Effect.sync(() => time.forward((DEDUPE_WINDOW_HOURS + 1) * HOUR))))
        })
      )
    )

    it.live("keeps an id for the hours of the window and no longer", () =>
      over((window, time) =>
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* admitAndStore(window, [request("one", "a")]), [[0]])
          time.forward(DEDUPE_WINDOW_HOURS * HOUR)
          assert.deepStrictEqual(yield* admitAndStore(window, [request("one", "a")]), [[1]])
          time.forward(HOUR)
          assert.deepStrictEqual(yield* admitAndStore(window, [request("one", "a")]), [[0]])
        })
      )
    )
  })
