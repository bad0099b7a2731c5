/** A model for whole recordings, used live: when it runs, what waits, and what a failure does. */
import { setTimeout } from "node:timers/promises"
import { Effect, Exit, Scope } from "effect"
import { describe, expect, it } from "vitest"
import { RATE } from "../../src/ports/audio-decoder/audio-decoder.ts"
import { openByAgreement } from "../../src/ports/transcriber/live/by-agreement.ts"
import {
  type LiveHeard,
  type LiveTranscription,
  type Transcript,
  type TranscribeOrder,
  TranscriptionUnavailable
} from "../../src/ports/transcriber/transcriber.ts"
import { noiseOf, voiceLike } from "../support/sound-files.ts"

/** Hears one word for each completed half second, and guesses at the incomplete one. */
const byTime = ({ samples, speech: [span] }: TranscribeOrder): Transcript => {
  const halves = ((span!.end - span!.start) * 2) | 0
  const words = Array.from({ length: halves }, (_, i) => ({ text: `word${i}`, score: 1 }))
  return {
    segments: [{ ...span!, words: [...words, { text: `guess${samples.length}`, score: 0.2 }] }],
    language: "en",
    model: "test/halves"
  }
}
interface Held {
  readonly session: LiveTranscription
  readonly heard: Array<LiveHeard>
  readonly orders: Array<TranscribeOrder>
  readonly close: () => Promise<void>
}
const open = async (
  answer: (order: TranscribeOrder) => Effect.Effect<Transcript, TranscriptionUnavailable> = (order) =>
    Effect.succeed(byTime(order))
): Promise<Held> => {
  const heard: Array<LiveHeard> = []
  const orders: Array<TranscribeOrder> = []
  const scope = Effect.runSync(Scope.make())
  const transcribe = (order: TranscribeOrder) => {
    orders.push(order)
    return answer(order)
  }
  const order = { organizationId: "o", language: "en", hints: [], heard: (each: LiveHeard) => void heard.push(each) }
  const session = await Effect.runPromise(Scope.provide(openByAgreement(transcribe, order, "test/halves"), scope))
  return { session, heard, orders, close: () => Effect.runPromise(Scope.close(scope, Exit.void)) }
}
const quiet = (voice: Float32Array): Float32Array => {
  const random = noiseOf(4)
  return voice.map((sample) => sample + 0.001 * random())
}
const send = async ({ session }: Held, samples: Float32Array): Promise<void> => {
  for (let at = 0; at < samples.length; at += RATE / 10) {
    await Effect.runPromise(session.push(samples.subarray(at, at + RATE / 10)))
    // As between two frames from a network: the model may run meanwhile.
    await setTimeout(1)
  }
}
const texts = ({ words }: LiveHeard): string => words.map(({ text }) => text).join(" ")

describe("a live session by agreement", () => {
  it("shows a first word within 1.5 s of sound, takes none back, and ends with the whole run", async () => {
    const held = await open()
    await send(held, quiet(voiceLike(1.7, 0.2, 1.7)))
    const [first] = held.heard
    expect(texts(first!)).toMatch(/^word0/)
    expect(first!.settled).toBe(0)
    const decoded = held.orders.findIndex(({ samples }) => samples.length / RATE + 0.2 - 0.25 > 1.5)
    expect(decoded === -1 || held.heard.length > 1).toBe(true)
    const last = await Effect.runPromise(held.session.close)
    expect(texts(last)).toMatch(/^word0 word1( word2)? guess\d+$/)
    expect(last.settled).toBe(last.words.length)
    for (const [i, each] of held.heard.entries())
      if (i > 0) expect(texts(each)).toContain(texts(held.heard[i - 1]!).split(" guess")[0]!)
    await held.close()
  })
  it("settles a run at its pause, and continues with the next", async () => {
    const held = await open()
    await send(held, quiet(voiceLike(2.5, 0.3, 1.3)))
    const settled = held.heard.at(-1)!
    expect([settled.settled, settled.words.length]).toEqual([settled.words.length, settled.words.length])
    await send(held, quiet(voiceLike(2.5, 0.3, 1.3)))
    expect(texts(await Effect.runPromise(held.session.close)).match(/word0/g)).toHaveLength(2)
    await held.close()
  })
  it("runs no model where nobody speaks", async () => {
    const held = await open()
    await send(held, quiet(new Float32Array(3 * RATE)))
    expect(texts(await Effect.runPromise(held.session.close))).toBe("")
    expect(held.orders).toEqual([])
    await held.close()
  })
  it("makes the sender wait for a slow model, and holds no more than three runs", async () => {
    const held = await open((order) => Effect.as(Effect.sleep(200), byTime(order)))
    const began = performance.now()
    let pushed = 0
    for (let run = 0; run < 6; run++) {
      await send(held, quiet(voiceLike(2, 0.3, 1.2)))
      pushed++
    }
    expect(pushed).toBe(6)
    // Six runs of 200 ms, two of which may be skipped.
    expect(performance.now() - began).toBeGreaterThan(600)
    await held.close()
  })
  it("survives the failure of a provisional decoding, and reports that of a final one", async () => {
    const failure = new TranscriptionUnavailable({ reason: "busy", message: "Too much waits." })
    let isBroken = false
    const held = await open((order) =>
      order.speech[0]!.end < 0.85 || isBroken ? Effect.fail(failure) : Effect.succeed(byTime(order))
    )
    await send(held, quiet(voiceLike(2.5, 0.3, 1.5)))
    expect(held.heard.at(-1)!.settled).toBeGreaterThan(0)
    isBroken = true
    const sent = await Effect.runPromiseExit(
      Effect.andThen(held.session.push(quiet(voiceLike(2.5, 0.3, 1.5))), held.session.close)
    )
    expect(JSON.stringify(sent)).toContain("Too much waits.")
    await held.close()
  })
})
