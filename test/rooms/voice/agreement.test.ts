/** What two decodings agree on, and sound that arrives in pieces. */
import { describe, expect, it } from "vitest"
import { PcmSound, WavSound } from "../../../src/ports/audio-decoder/live/pcm.ts"
import { resampled } from "../../../src/ports/audio-decoder/resample.ts"
import { writeWav } from "../../../src/ports/audio-decoder/wav.ts"
import { Agreement } from "../../../src/ports/transcriber/live/agreement.ts"
import { saying } from "../../support/transcriber-server.ts"
import { voiceLike } from "../../support/sound-files.ts"

const spoken = (text: string) => saying(text).map(({ confidence, text: word }) => ({ text: word, score: confidence }))
const shown = (texts: ReadonlyArray<string>) => {
  const agreement = new Agreement()
  return texts.map((text) =>
    agreement
      .add(spoken(text))
      .map((word) => word.text)
      .join(" ")
  )
}

describe("local agreement", () => {
  it("shows the words that two decodings in a row begin with", () => {
    expect(shown(["Water", "waterproof back", "Waterproof backpack for", "waterproof backpack for hiking."])).toEqual([
      "",
      "",
      "Waterproof",
      "Waterproof backpack for"
    ])
  })
  it("takes nothing back, and goes on behind it", () => {
    expect(shown(["red shoes", "red shoes", "", "read shoes", "red shoes size ten", "red shoes size ten"])).toEqual([
      "",
      "red shoes",
      "red shoes",
      "red shoes",
      "red shoes",
      "red shoes size ten"
    ])
  })
})

describe("sound that arrives", () => {
  const bytesOf = (samples: Float32Array) => Buffer.from(writeWav(samples, 16_000)).subarray(44)
  const joined = (pieces: ReadonlyArray<Float32Array>) => Float32Array.from(pieces.flatMap((piece) => [...piece]))
  const cut = (bytes: Uint8Array, size: number, sound: { readonly push: (bytes: Uint8Array) => Float32Array }) => {
    const pieces: Array<Float32Array> = []
    for (let at = 0; at < bytes.length; at += size) pieces.push(sound.push(bytes.subarray(at, at + size)))
    return joined(pieces)
  }
  it("is what it would be in one piece, whatever its cut and its rate", () => {
    for (const [rate, size] of [
      [16_000, 333],
      [48_000, 1_001],
      [44_100, 4_410],
      [8_000, 7]
    ] as const) {
      const voice = voiceLike(0.5, 0, 0.5, rate)
      const whole = resampled(voice, rate, 16_000)
      const live = cut(bytesOf(voice), size, new PcmSound(rate))
      expect(whole.length - live.length, String(rate)).toBeLessThan(60)
      const worst = live.reduce((most, value, i) => Math.max(most, Math.abs(value - whole[i]!)), 0)
      expect(worst, String(rate)).toBeLessThan(1e-3)
    }
  })
  it("may be a WAV file, of any cut; what is none of 16 bits is refused", () => {
    const voice = voiceLike(0.2, 0, 0.2)
    const live = cut(writeWav(voice, 16_000), 13, new WavSound())
    expect(live).toHaveLength(voice.length)
    expect(live[1_000]).toBeCloseTo(voice[1_000]!, 3)
    const other = writeWav(voice, 16_000)
    other[34] = 8
    expect(() => new WavSound().push(other)).toThrow(/16 bits/)
    expect(() => new WavSound().push(writeWav(voice, 96_000))).toThrow(/48000/)
  })
})
