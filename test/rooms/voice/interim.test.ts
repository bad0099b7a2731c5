/** Searches while somebody speaks, by a set clock: how often, how many at a time, and what is not shown any more. */
import { Deferred, Effect, Exit } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect, it } from "@effect/vitest"
import { NotFound, Throttled } from "../../../src/http/errors.ts"
import { type Found, InterimSearches } from "../../../src/voice/stream/interim.ts"
import { LiveTranscript } from "../../../src/voice/stream/live-transcript.ts"

type Failure = NotFound | Throttled
interface Asked {
  readonly tokens: string
  readonly at_ms: number
  readonly answer: (exit?: Exit.Exit<never, Failure>) => Effect.Effect<void>
}
/** Searches that end when the test answers them. */
const made = Effect.gen(function* () {
  const asked: Array<Asked> = []
  const rung: Array<string> = []
  const scope = yield* Effect.scope
  const searches = new InterimSearches<Failure>(
    (transcript) =>
      Effect.gen(function* () {
        const { tokens } = transcript
        const answered = yield* Deferred.make<Found, Failure>()
        const at_ms = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
        asked.push({
          tokens,
          at_ms,
          answer: (exit) =>
            Effect.andThen(
              Deferred.done(answered, exit ?? Exit.succeed({ tokens, transcript: "{}", results: `"${tokens}"` })),
              Effect.yieldNow
            )
        })
        return yield* Deferred.await(answered)
      }),
    () => void rung.push("rung"),
    scope
  )
  const transcript = new LiveTranscript("en")
  const say = (text: string) =>
    Effect.suspend(() => {
      transcript.send(text, false)
      return Effect.tap(searches.next(transcript), () => Effect.yieldNow)
    })
  return { asked, rung, searches, transcript, say, next: Effect.suspend(() => searches.next(transcript)) }
})

describe("searches while somebody speaks", () => {
  it.effect("are made when the words are others, one at a time, at most every 150 ms", () =>
    Effect.gen(function* () {
      const { asked, next, rung, say } = yield* made
      yield* say("")
      expect(asked).toHaveLength(0)
      yield* say("Kitchen")
      yield* say("kitchen!")
      yield* say("kitchen knife")
      expect(asked.map(({ tokens }) => tokens)).toEqual(["kitchen"])
      yield* TestClock.adjust(20)
      yield* asked[0]!.answer()
      expect(rung.length).toBe(1)
      expect(yield* next).toBeUndefined()
      yield* TestClock.adjust(129)
      expect(asked).toHaveLength(1)
      yield* TestClock.adjust(1)
      expect(rung.length).toBe(2)
      yield* next
      yield* Effect.yieldNow
      expect(asked.map(({ at_ms, tokens }) => [tokens, at_ms])).toEqual([
        ["kitchen", 0],
        ["kitchen knife", 150]
      ])
      yield* asked[1]!.answer()
      expect((yield* next)?.results).toBe('"kitchen knife"')
      expect(yield* next).toBeUndefined()
    }).pipe(Effect.scoped)
  )
  it.effect("are not shown where the words are others by now", () =>
    Effect.gen(function* () {
      const { asked, say } = yield* made
      yield* say("red")
      yield* TestClock.adjust(500)
      yield* say("red shoes")
      expect(asked).toHaveLength(1)
      yield* asked[0]!.answer()
      expect(yield* say("red shoes")).toBeUndefined()
    }).pipe(Effect.scoped)
  )
  it.effect("tell what was found last again at the end, and ask once more where words were added", () =>
    Effect.gen(function* () {
      const { asked, transcript, say, searches } = yield* made
      yield* say("red")
      yield* asked[0]!.answer()
      expect((yield* searches.last(transcript)).results).toBe('"red"')
      expect(asked).toHaveLength(1)
      transcript.send("red shoes", true)
      const last = yield* Effect.forkChild(searches.last(transcript))
      yield* Effect.yieldNow
      yield* Effect.yieldNow
      expect(asked).toHaveLength(2)
      yield* asked[1]!.answer()
      expect(last.pollUnsafe()).toMatchObject({ value: { results: '"red shoes"' } })
    }).pipe(Effect.scoped)
  )
  it.effect("are made once more at the end where the same words may be understood otherwise", () =>
    Effect.gen(function* () {
      const { asked, transcript, searches } = yield* made
      const words = [{ text: "red", score: 0.5 }]
      const heard = { words, settled: 1, language: "en", model: "m" }
      transcript.hear(heard)
      yield* Effect.tap(searches.next(transcript), () => Effect.yieldNow)
      yield* asked[0]!.answer()
      transcript.hear({ ...heard, readings: { candidates: [{ words, heard: -1 }], near: ["red shoes"] } })
      yield* Effect.forkChild(searches.last(transcript))
      yield* Effect.yieldNow
      yield* Effect.yieldNow
      expect(asked.map(({ tokens }) => tokens)).toEqual(["red", "red"])
      yield* asked[1]!.answer()
    }).pipe(Effect.scoped)
  )
  it.effect("pass over a limit, and end the stream by what stays", () =>
    Effect.gen(function* () {
      const { asked, next, say } = yield* made
      yield* say("red")
      yield* asked[0]!.answer(Exit.fail(new Throttled({ message: "Slow", kind: "rate", retry_after_s: 1 })))
      expect(yield* next).toBeUndefined()
      yield* TestClock.adjust(200)
      yield* say("red shoes")
      yield* asked[1]!.answer(Exit.fail(new NotFound({ message: "No such field" })))
      expect(Exit.isFailure(yield* Effect.exit(next))).toBe(true)
    }).pipe(Effect.scoped)
  )
})
