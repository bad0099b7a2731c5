/** A model for whole recordings that listens live: which documents it receives, and what it returns. */
import { Effect } from "effect"
import { describe, expect, it } from "@effect/vitest"
import { openByAgreement } from "../../../src/ports/transcriber/live/by-agreement.ts"
import type { LiveHeard, Readings, TranscribeOrder } from "../../../src/ports/transcriber/transcriber.ts"
import { noiseOf, voiceLike } from "../../support/sound-files.ts"

const likely = { name: "goods", openings: new TextEncoder().encode("red shoes") }
const words = [{ text: "red", score: 0.9 }]
const PIECE = 1_600
const readings: Readings = { candidates: [{ words, heard: -1 }], near: ["red shoes"] }

const listened = (sound: Float32Array) =>
  Effect.gen(function* () {
    const orders: Array<TranscribeOrder> = []
    const shown: Array<LiveHeard> = []
    const transcribe = (order: TranscribeOrder) =>
      Effect.sync(() => {
        orders.push(order)
        const own = order.likely === undefined ? undefined : readings
        return { segments: [{ start: 0, end: 1, words, readings: own }], language: "en", model: "m" }
      })
    const order = {
      organizationId: "a",
      language: "en",
      hints: [],
      likely,
      heard: (heard: LiveHeard) => shown.push(heard)
    }
    const session = yield* openByAgreement(transcribe, order, "m")
    const random = noiseOf(3)
    const noisy = sound.map((sample) => sample + 0.0005 * random())
    for (let at = 0; at < noisy.length; at += PIECE) {
      yield* session.push(noisy.subarray(at, at + PIECE))
      for (let i = 0; i < 5; i++) yield* Effect.yieldNow
    }
    return { orders, shown, heard: yield* session.close }
  }).pipe(Effect.scoped)

describe("readings of live speech", () => {
  it.effect("are requested once it is complete, not for what is only shown", () =>
    Effect.gen(function* () {
      const { heard, orders, shown } = yield* listened(voiceLike(2.5, 0.3, 1.7))
      expect(orders.length).toBeGreaterThan(1)
      expect(orders.map((order) => order.likely)).toEqual([...orders.slice(1).map(() => undefined), likely])
      expect(shown.filter((each) => each.settled === 0).every((each) => each.readings === undefined)).toBe(true)
      expect(heard.readings).toEqual(readings)
    })
  )
  it.effect("are not given for the whole if it was spoken in two pieces", () =>
    Effect.gen(function* () {
      const one = voiceLike(2.5, 0.3, 1.7)
      const { heard, orders } = yield* listened(Float32Array.from([...one, ...one]))
      expect(orders.filter((order) => order.likely !== undefined)).toHaveLength(2)
      expect([heard.words.length, heard.readings]).toEqual([2, undefined])
    })
  )
})
