/**
 * Decoding of every accepted format, checked by what is heard in the sound, and of files that hold no sound or too
 * much.
 */
import { readFileSync } from "node:fs"
import { Effect, Exit, ManagedRuntime } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { AudioDecoder, RATE, SECONDS_MAX } from "../../src/ports/audio-decoder/audio-decoder.ts"
import { decodedAudio } from "../../src/ports/audio-decoder/decode.ts"
import { audioFormatOf } from "../../src/ports/audio-decoder/format.ts"
import { packet_ms } from "../../src/ports/audio-decoder/opus.ts"
import { resampled } from "../../src/ports/audio-decoder/resample.ts"
import { speechIn } from "../../src/ports/audio-decoder/speech.ts"
import { layerDecoderThread } from "../../src/ports/audio-decoder/thread.ts"
import { readWav, writeWav } from "../../src/ports/audio-decoder/wav.ts"
import { flacOf, noiseOf, oggOf, opusHeadOf, packetsOf, voiceLike, webmOf } from "../support/sound-files.ts"

const spoken = (name: string) => readFileSync(new URL(`../../fixtures/speech/${name}`, import.meta.url))
const ogg = spoken("new-washing-machine.ogg")
/** The loudness of each tenth of a second, which a codec does not change, whatever it does to the waveform. */
const shapeOf = (samples: Float32Array): ReadonlyArray<number> =>
  Array.from({ length: Math.floor(samples.length / 1_600) }, (_, at) =>
    Math.sqrt(samples.subarray(at * 1_600, (at + 1) * 1_600).reduce((sum, x) => sum + x * x, 0) / 1_600)
  )
const correlation = (a: ReadonlyArray<number>, b: ReadonlyArray<number>): number => {
  const n = Math.min(a.length, b.length)
  const mean = (values: ReadonlyArray<number>) => values.slice(0, n).reduce((sum, x) => sum + x, 0) / n
  const [ma, mb] = [mean(a), mean(b)]
  let ab = 0,
    aa = 0,
    bb = 0
  for (let i = 0; i < n; i++) {
    ab += (a[i]! - ma) * (b[i]! - mb)
    aa += (a[i]! - ma) ** 2
    bb += (b[i]! - mb) ** 2
  }
  return ab / Math.sqrt(aa * bb)
}
const refusal = (bytes: Uint8Array) =>
  decodedAudio(bytes).then(
    () => "taken",
    (error: unknown) => (error as Error).message
  )

describe("sound", () => {
  it("is the same in every format", async () => {
    const reference = await decodedAudio(ogg)
    expect(reference.seconds).toBeCloseTo(4.12, 1)
    expect(reference.speech).toHaveLength(1)
    const packets = packetsOf(ogg)
    const files = {
      webm: webmOf(packets, opusHeadOf(1, 312)),
      mp3: spoken("new-washing-machine.mp3"),
      flac: flacOf(reference.samples),
      wav: writeWav(reference.samples, RATE),
      again: oggOf(packets, opusHeadOf(1, 312))
    }
    for (const [name, bytes] of Object.entries(files)) {
      const { samples, seconds } = await decodedAudio(bytes)
      expect([name, Math.abs(seconds - reference.seconds) < 0.15]).toEqual([name, true])
      // MP3 begins with silence as long as its filters.
      const alike = [0, 400, 800, 1_200, 1_600].map((from) =>
        correlation(shapeOf(samples.subarray(from)), shapeOf(reference.samples))
      )
      expect(Math.max(...alike), name).toBeGreaterThan(0.93)
    }
  })
  it("of WAV is read in every width, rate and number of channels, in chunks of any order", () => {
    const samples = voiceLike(0.5, 0, 0.5)
    const wav = Buffer.from(writeWav(samples, RATE))
    const rewritten = (kind: number, bits: number, write: (into: Buffer, at: number, value: number) => void) => {
      const data = Buffer.alloc(samples.length * 2 * (bits / 8))
      for (const [i, value] of samples.entries())
        for (const channel of [0, 1]) write(data, (2 * i + channel) * (bits / 8), channel === 0 ? value : -value / 2)
      const head = Buffer.from(wav.subarray(0, 44))
      head.writeUInt16LE(kind, 20)
      head.writeUInt16LE(2, 22)
      head.writeUInt16LE(bits, 34)
      head.writeUInt32LE(data.length, 40)
      const list = Buffer.concat([Buffer.from("LIST"), Buffer.from([3, 0, 0, 0]), Buffer.from("abc\0")])
      return Buffer.concat([head.subarray(0, 36), list, head.subarray(36), data])
    }
    for (const [kind, bits, write] of [
      [1, 8, (into, at, value) => into.writeUInt8(Math.round(128 + 127 * value), at)],
      [1, 16, (into, at, value) => into.writeInt16LE(Math.round(32_767 * value), at)],
      [1, 24, (into, at, value) => into.writeIntLE(Math.round(8_388_607 * value), at, 3)],
      [1, 32, (into, at, value) => into.writeInt32LE(Math.round(2_147_483_647 * value), at)],
      [3, 32, (into, at, value) => into.writeFloatLE(value, at)],
      [3, 64, (into, at, value) => into.writeDoubleLE(value, at)]
    ] as ReadonlyArray<readonly [number, number, (into: Buffer, at: number, value: number) => void]>) {
      const read = readWav(rewritten(kind, bits, write), SECONDS_MAX)
      expect(read.samples).toHaveLength(samples.length)
      const far = read.samples.reduce((most, value, i) => Math.max(most, Math.abs(value - samples[i]! / 4)), 0)
      expect([kind, bits, far < (bits === 8 ? 0.01 : 0.0001)]).toEqual([kind, bits, true])
    }
    const law = Buffer.concat([wav.subarray(0, 44), Buffer.from([0xff, 0x80, 0x00])])
    law.writeUInt16LE(7, 20)
    law.writeUInt16LE(8, 34)
    law.writeUInt32LE(3, 40)
    expect(Array.from(readWav(law, SECONDS_MAX).samples, (x) => Math.round(x * 32_768))).toEqual([0, 32_124, -32_124])
  })
  it("keeps its tones at another sample rate, and removes those that would alias", () => {
    const tone = (hertz: number, rate: number) =>
      Float32Array.from({ length: rate }, (_, i) => Math.sin((2 * Math.PI * hertz * i) / rate))
    const power = (samples: Float32Array) =>
      Math.sqrt(samples.subarray(500, -500).reduce((sum, x) => sum + x * x, 0) / (samples.length - 1_000))
    for (const rate of [8_000, 22_050, 44_100, 48_000]) {
      const kept = resampled(tone(1_000, rate), rate, RATE)
      expect(kept.length).toBe(RATE)
      expect(power(kept), String(rate)).toBeCloseTo(Math.SQRT1_2, 2)
    }
    expect(power(resampled(tone(9_500, 44_100), 44_100, RATE))).toBeLessThan(0.005)
  })
  it("says how long its packets are before they are decoded", () => {
    expect([0x08, 0x48, 0x78, 0x80, 0x9b, 0xfb].map((toc) => packet_ms(Uint8Array.of(toc, 3)))).toEqual([
      20, 20, 20, 2.5, 60, 60
    ])
  })
})

describe("speech", () => {
  const withNoise = (voice: Float32Array, decibels: number, seed: number) => {
    const next = noiseOf(seed)
    const loud = voice.filter((x) => x !== 0)
    const power = loud.reduce((sum, x) => sum + x * x, 0) / loud.length
    const height = Math.sqrt((3 * power) / 10 ** (decibels / 10))
    return voice.map((x) => x + height * next())
  }
  it("begins within a tenth of a second at 10 dB over noise, wherever it starts, and ends with it", () => {
    for (const [seed, from] of [0.4, 0.81, 1.237, 2.05, 2.613].entries()) {
      const found = speechIn(withNoise(voiceLike(4.5, from, from + 1.3), 10, seed + 1), RATE)
      expect(found).toHaveLength(1)
      expect(Math.abs(found[0]!.start - from), `${from}`).toBeLessThan(0.1)
      expect(Math.abs(found[0]!.end - from - 1.3), `${from}`).toBeLessThan(0.25)
    }
  })
  it("is not found in silence, noise of any loudness, a hum, or a click", () => {
    const next = noiseOf(9)
    const noise = (height: number) => Float32Array.from({ length: 48_000 }, () => height * next())
    const hum = Float32Array.from({ length: 48_000 }, (_, i) => 0.5 + 0.3 * Math.sin((2 * Math.PI * 50 * i) / RATE))
    const click = noise(0.01)
    click.fill(0.9, 20_000, 20_500)
    for (const sound of [new Float32Array(48_000), noise(0.001), noise(0.1), noise(0.9), hum, click])
      expect(speechIn(sound, RATE)).toEqual([])
    expect(speechIn(new Float32Array(10), RATE)).toEqual([])
  })
  it("continues over the pauses between words, and is split where the speaker waits", () => {
    const next = noiseOf(4)
    const words = (gap: number) => {
      const sound = Float32Array.from({ length: 64_000 }, () => 0.005 * next())
      for (const [i, x] of voiceLike(1, 0, 1).entries()) {
        sound[8_000 + i]! += x
        sound[24_000 + Math.round(gap * RATE) + i]! += x
      }
      return speechIn(sound, RATE).length
    }
    expect([words(0.3), words(1)]).toEqual([1, 2])
  })
  it("of a long speaker is cut into pieces that a model accepts", () => {
    const found = speechIn(
      withNoise(
        voiceLike(60, 1, 59).map((x, i) => (i % 16_000 < 1_600 ? 0 : x)),
        20,
        3
      ),
      RATE
    )
    expect(found.length).toBeGreaterThan(3)
    for (const { end, start } of found) expect(end - start).toBeLessThanOrEqual(15)
    expect(found.reduce((sum, { end, start }) => sum + end - start, 0)).toBeGreaterThan(56)
  })
})

describe("a file that is no sound, or holds too much", () => {
  it("is refused with a sentence, whatever its bytes are", async () => {
    const m4a = Buffer.from("\0\0\0\x20ftypM4A ", "latin1")
    for (const bytes of [Buffer.from("no sound"), Buffer.alloc(0), m4a, Buffer.from("GIF89a")])
      expect(await refusal(bytes)).toBe("Sound is one of wav, ogg (Opus), webm (Opus), mp3, flac.")
    const wav = Buffer.from(writeWav(new Float32Array(10), RATE))
    const changed = (at: number, value: number) => {
      const bytes = Buffer.from(wav)
      bytes.writeUInt16LE(value, at)
      return bytes
    }
    expect(await refusal(changed(22, 0))).toMatch(/number of channels/)
    expect(await refusal(changed(20, 85))).toMatch(/kind 85/)
    expect(await refusal(wav.subarray(0, 30))).toMatch(/head that is too short/)
    expect(await refusal(wav.subarray(0, 40))).toMatch(/no sound in it/)
    expect(await refusal(ogg.subarray(0, 40))).toMatch(/no sound in Opus/)
    expect(await refusal(Buffer.from("\x1a\x45\xdf\xa3\x84webm", "latin1"))).toMatch(/no sound in Opus/)
    const next = noiseOf(8)
    const noise = (length: number) => Buffer.from(Uint8Array.from({ length }, () => 128 + Math.floor(127 * next())))
    for (const beginning of ["RIFF\xff\xff\xff\xffWAVE", "OggS", "\x1a\x45\xdf\xa3", "fLaC", "ID3", "\xff\xfb\x90\x44"])
      for (const length of [0, 10, 1_000, 30_000]) {
        const told = await refusal(Buffer.concat([Buffer.from(beginning, "latin1"), noise(length)]))
        expect(typeof told, beginning).toBe("string")
      }
    // Each of our files with one byte changed gives sound or an error message; nothing hangs and nothing else is
    // thrown.
    for (const bytes of [ogg, webmOf(packetsOf(ogg)), spoken("new-washing-machine.mp3")])
      for (let i = 0; i < 40; i++) {
        const broken = Buffer.from(bytes)
        broken[Math.floor((broken.length * (next() + 1)) / 2)] = Math.floor((next() + 1) * 127)
        expect(typeof (await refusal(broken))).toBe("string")
      }
  })
  it("is refused when its header or its packets say more than five minutes, before it takes memory", async () => {
    const head = Buffer.from(writeWav(new Float32Array(0), 4_000))
    const long = Buffer.concat([head, Buffer.alloc(2 * 4_000 * (SECONDS_MAX + 1))])
    long.writeUInt32LE(long.length - 44, 40)
    expect(await refusal(long)).toBe("The sound is longer than 300 seconds.")
    // Five minutes of silence take a few kilobytes in Opus, and also in FLAC.
    const silent = Array.from({ length: 15_050 }, () => Uint8Array.of(0x08, 0xff, 0xfe))
    expect(await refusal(oggOf(silent))).toBe("The sound is longer than 300 seconds.")
    const flac = flacOf(new Float32Array(16_000 * 305), true)
    expect(flac.length).toBeLessThan(25_000)
    expect(await refusal(flac)).toBe("The sound is longer than 300 seconds.")
  })
})

describe("the thread that decodes", () => {
  const open = (within_ms?: number) => ManagedRuntime.make(layerDecoderThread(within_ms))
  const runtime = open()
  const decode = (bytes: Uint8Array, on = runtime) =>
    on.runPromiseExit(Effect.flatMap(AudioDecoder, ({ decode: run }) => run("org_a", bytes)))
  afterAll(() => runtime.dispose())
  const failureOf = (exit: Exit.Exit<unknown, unknown>) =>
    Exit.isFailure(exit) ? exit.cause.reasons.map((reason) => (reason as { error?: unknown }).error)[0] : undefined

  it("answers every request with its own result, however many there are", async () => {
    const exits = await Promise.all(
      [ogg, Buffer.from("OggSnothing"), ogg, writeWav(voiceLike(1, 0.2, 0.9), RATE)].map((each) => decode(each))
    )
    expect(exits.map(Exit.isSuccess)).toEqual([true, false, true, true])
    expect(failureOf(exits[1]!)).toMatchObject({ kind: "refused" })
  })
  it("is ended when a file takes too long, and the next file gets another thread", async () => {
    const hasty = open(1)
    const long = writeWav(voiceLike(250, 1, 240), RATE)
    expect(failureOf(await decode(long, hasty))).toMatchObject({ kind: "refused", message: /takes too much/ })
    expect(failureOf(await decode(long, hasty))).toMatchObject({ kind: "refused" })
    await hasty.dispose()
  })
  it("refuses more files than may wait", async () => {
    const large = new Uint8Array(24_000_000)
    large.set(Buffer.from("OggS"))
    const exits = await Promise.all([large, large, large].map((each) => decode(each)))
    expect(exits.map((exit) => (failureOf(exit) as { readonly kind: string }).kind)).toEqual([
      "refused",
      "refused",
      "busy"
    ])
    expect(audioFormatOf(large)).toBe("ogg")
  })
})
