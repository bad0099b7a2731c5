/** What two decodings agree on, and sound that arrives in pieces. */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { AudioRefused } from "../../../src/ports/audio-decoder/format.ts"
import { OggPackets, WebmPackets } from "../../../src/ports/audio-decoder/live/opus-packets.ts"
import { PcmSound, WavSound } from "../../../src/ports/audio-decoder/live/pcm.ts"
import { resampled } from "../../../src/ports/audio-decoder/resample.ts"
import { writeWav } from "../../../src/ports/audio-decoder/wav.ts"
import { Agreement } from "../../../src/ports/transcriber/live/agreement.ts"
import { saying } from "../../support/transcriber-server.ts"
import { noiseOf, packetsOf, voiceLike, webmOf } from "../../support/sound-files.ts"

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
  it("shows the words with which two consecutive decodings begin", () => {
    expect(shown(["Water", "waterproof back", "Waterproof backpack for", "waterproof backpack for hiking."])).toEqual([
      "",
      "",
      "Waterproof",
      "Waterproof backpack for"
    ])
  })
  it("takes nothing back, and continues after it", () => {
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
  it("equals the sound in one piece, whatever its splits and its rate", () => {
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
  it("gives the same packets of Opus for any split of its file", () => {
    const ogg = readFileSync(new URL("../../../fixtures/speech/new-washing-machine.ogg", import.meta.url))
    const packets = packetsOf(ogg)
    expect(packets.length).toBeGreaterThan(50)
    const webm = webmOf(packets)
    for (const [bytes, make] of [
      [ogg, () => new OggPackets()],
      [webm, () => new WebmPackets()]
    ] as const)
      for (const size of [1, 7, 333, 5_000, bytes.length]) {
        const source = make()
        const found: Array<Uint8Array> = []
        for (let at = 0; at < bytes.length; at += size) found.push(...source.push(bytes.subarray(at, at + size)))
        expect(
          found.map((packet) => Buffer.from(packet).toString("hex")),
          String(size)
        ).toEqual(packets.map((packet) => Buffer.from(packet).toString("hex")))
        expect(source.head?.channels).toBe(1)
      }
  })
  it("that is not Opus is refused before much of it is stored", () => {
    const endless = () => {
      const source = new WebmPackets()
      source.push(
        Buffer.from([0x1a, 0x45, 0xdf, 0xa3, 0x80, 0x16, 0x54, 0xae, 0x6b, 0x08, 0x40, 0, 0, 0xae, 0x08, 0x30, 0, 0])
      )
      for (let i = 0; i < 300; i++) source.push(new Uint8Array(1_000))
    }
    expect(endless).toThrow(/too large|broken/)
    expect(() => new OggPackets().push(new Uint8Array(100))).toThrow(/broken/)
    const seeds = noiseOf(5)
    const ogg = Buffer.from(readFileSync(new URL("../../../fixtures/speech/new-washing-machine.ogg", import.meta.url)))
    for (const bytes of [ogg, webmOf(packetsOf(ogg))])
      for (let i = 0; i < 200; i++) {
        const hurt = Buffer.from(bytes)
        for (let j = 0; j < 5; j++)
          hurt[Math.floor(((seeds() + 1) / 2) * hurt.length)] = Math.floor((seeds() + 1) * 128)
        const source = bytes === ogg ? new OggPackets() : new WebmPackets()
        try {
          for (let at = 0; at < hurt.length; at += 999) source.push(hurt.subarray(at, at + 999))
        } catch (error) {
          expect(error).toBeInstanceOf(AudioRefused)
        }
      }
  })
  it("may be a WAV file, split anywhere; other than 16 bits is refused", () => {
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
