/** Where speech begins and pauses: bursts like syllables in noise, steady noise, clicks, a fan. */
import { describe, expect, it } from "vitest"
import { RATE } from "../../../src/ports/audio-decoder/audio-decoder.ts"
import { VoiceActivity, type VoiceEvent } from "../../../src/ports/transcriber/live/voice-activity.ts"
import { noiseOf, voiceLike } from "../../support/sound-files.ts"

const powerOf = (samples: Float32Array): number => samples.reduce((sum, each) => sum + each * each, 0) / samples.length
/** Adds noise whose power is lower by `snr_dB` than that of the voice while it speaks. */
const noisy = (voice: Float32Array, spoken: number, snr_dB: number, seed: number): Float32Array => {
  const random = noiseOf(seed)
  const speech = (powerOf(voice) * voice.length) / RATE / spoken
  // Numbers from -1 to 1 have a power of one third.
  const gain = Math.sqrt((3 * speech) / 10 ** (snr_dB / 10))
  return voice.map((sample) => sample + gain * random())
}
/** In pieces of any size, as a network delivers them. */
const eventsOf = (samples: Float32Array, piece = 1_111, activity = new VoiceActivity()): ReadonlyArray<VoiceEvent> => {
  const events: Array<VoiceEvent> = []
  for (let at = 0; at < samples.length; at += piece) events.push(...activity.push(samples.subarray(at, at + piece)))
  return events
}
const onsets = (events: ReadonlyArray<VoiceEvent>) =>
  events.flatMap(({ at, kind }) => (kind === "onset" ? [at / RATE] : []))

describe("voice activity", () => {
  it("finds the beginning within 100 ms with noise at a tenth of the power, and the following pause", () => {
    const errors: Array<number> = []
    for (let seed = 1; seed <= 40; seed++) {
      const from = 0.5 + (seed % 7) * 0.137
      const events = eventsOf(noisy(voiceLike(4, from, from + 1.5), 1.5, 10, seed), 200 + 97 * seed)
      expect(
        events.map(({ kind }) => kind),
        `seed ${seed}`
      ).toEqual(["onset", "end"])
      errors.push(Math.abs(onsets(events)[0]! - from))
      expect(events[1]).toMatchObject({ isClick: false, isCut: false })
      expect(Math.abs(events[1]!.at / RATE - (from + 1.5)), `seed ${seed}`).toBeLessThan(0.2)
    }
    expect(Math.max(...errors)).toBeLessThanOrEqual(0.1)
  })
  it("finds nothing in silence, in steady noise of any loudness, and in a hum with an offset", () => {
    for (const gain of [0, 1e-4, 0.01, 0.3]) {
      const random = noiseOf(3)
      expect(eventsOf(Float32Array.from({ length: 10 * RATE }, () => gain * random())), String(gain)).toEqual([])
    }
    const hum = Float32Array.from({ length: 5 * RATE }, (_, i) => 0.2 + 0.05 * Math.sin((2 * Math.PI * 50 * i) / RATE))
    expect(eventsOf(hum)).toEqual([])
  })
  it("is not misled by a microphone that starts with silence, and finds speech right after it", () => {
    const random = noiseOf(9)
    const late = Float32Array.from({ length: 4 * RATE }, (_, i) => (i < 0.3 * RATE ? 0 : 0.001 * random()))
    expect(eventsOf(late)).toEqual([])
    expect(onsets(eventsOf(voiceLike(2, 0.4, 1.6)))[0]).toBeCloseTo(0.4, 1)
  })
  it("ignores a click, splits at a pause of 600 ms, and cuts continuous speech after 15 s", () => {
    const click = noisy(voiceLike(2, 1, 1.08), 0.08, 20, 5)
    expect(eventsOf(click).at(-1)).toMatchObject({ kind: "end", isClick: true })
    const twice = voiceLike(6, 0.5, 1.5)
    twice.set(voiceLike(6, 0.5, 1.5).subarray(0, 3 * RATE), 3 * RATE)
    expect(onsets(eventsOf(noisy(twice, 2, 20, 6)))).toHaveLength(2)
    const long = eventsOf(noisy(voiceLike(20, 1, 19), 18, 20, 7))
    expect(long.map((event) => event.kind === "end" && event.isCut)).toEqual([false, true, false, false])
  })
  it("reports a fan that is switched on once and not again", () => {
    const random = noiseOf(11)
    const fan = Float32Array.from({ length: 40 * RATE }, (_, i) => (i < 2 * RATE ? 0.001 : 0.05) * random())
    expect(onsets(eventsOf(fan))).toHaveLength(1)
  })
  it("ends the current span when nobody listens any more", () => {
    const activity = new VoiceActivity()
    eventsOf(noisy(voiceLike(2, 0.5, 2), 1.5, 20, 8), 999, activity)
    expect(activity.isSpeaking).toBe(true)
    expect(activity.end()).toMatchObject({ kind: "end", isClick: false })
    expect(activity.end()).toBeUndefined()
  })
})
