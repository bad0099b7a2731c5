/** This program's transcriber with its real weights, and those on other servers by their public interfaces. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Exit, Layer, ManagedRuntime } from "effect"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { Identifiers } from "../../log/identifiers.ts"
import { modelsFolder, readPinned, readPinnedSpeech, readPinnedTranscriber } from "../../src/models/install/pinned.ts"
import { findInstalled } from "../../src/models/install/places.ts"
import { decodedAudio } from "../../src/ports/audio-decoder/decode.ts"
import { layer as layerOutboundHttp } from "../../src/ports/outbound-http/node.ts"
import { layerLocalTranscriber } from "../../src/ports/transcriber/local/local-transcriber.ts"
import { wordsOfTokens } from "../../src/ports/transcriber/moonshine/words.ts"
import type { RemoteTranscriberModel } from "../../src/ports/transcriber/remote/providers.ts"
import { makeRemoteTranscriber } from "../../src/ports/transcriber/remote/remote-transcriber.ts"
import {
  textOfSegment,
  Transcriber,
  type TranscriptionUnavailable,
  type TranscribeOrder
} from "../../src/ports/transcriber/transcriber.ts"
import { openSilero } from "../../src/ports/transcriber/silero/silero.ts"
import { noiseOf, voiceLike } from "../support/sound-files.ts"
import { saying, startTranscriberServer, type TranscriberServer } from "../support/transcriber-server.ts"

const spoken = (name: string) => readFileSync(new URL(`../../fixtures/speech/${name}.ogg`, import.meta.url))
const orderOf = (samples: Float32Array, more: Partial<TranscribeOrder> = {}): TranscribeOrder => ({
  organizationId: "org_a",
  samples,
  speech: [{ start: 0, end: samples.length / 16_000 }],
  language: undefined,
  hints: [],
  ...more
})
const failureOf = (exit: Exit.Exit<unknown, unknown>): TranscriptionUnavailable | undefined =>
  Exit.isFailure(exit)
    ? (exit.cause.reasons.map((reason) => (reason as { error?: unknown }).error)[0] as TranscriptionUnavailable)
    : undefined

describe("pieces of words", () => {
  it("become words, each as certain as its least certain piece, including letters split into bytes", () => {
    const pieces = [
      ["<s>", 1],
      ["▁Sam", 0.9],
      ["sung", 0.6],
      ["▁caf", 0.8],
      ["<0xC3>", 0.7],
      ["<0xA9>", 0.95],
      ["▁", 0.5],
      [".", 0.4]
    ] as const
    expect(wordsOfTokens(pieces.map(([piece, score]) => ({ piece, score })))).toEqual([
      { text: "Samsung", score: 0.6 },
      { text: "café", score: 0.7 },
      { text: ".", score: 0.4 }
    ])
  })
})

describe("the embedded transcriber", () => {
  const places = [join(modelsFolder, "installed")]
  const runtimeFolder = findInstalled(places, readPinned())
  const folder = findInstalled(places, readPinnedTranscriber("tiny"))
  const speech = findInstalled(places, readPinnedSpeech())
  const isThere = runtimeFolder !== undefined && folder !== undefined && process.env.DOWSER_MODELS !== "off"
  const missing = "dowser models install --voice tiny was not run here"
  const installed = () =>
    isThere
      ? ({ state: "installed", size: "tiny", folder, speech, runtime: runtimeFolder } as const)
      : ({ state: "absent", message: "No transcriber is installed" } as const)
  const runtime = ManagedRuntime.make(layerLocalTranscriber({ installed }))
  afterAll(() => runtime.dispose())
  const heard = (order: TranscribeOrder) =>
    runtime.runPromise(Effect.flatMap(Transcriber, ({ transcribe }) => transcribe(order)))

  it.skipIf(!isThere)(`hears what is said, in turns with others (${missing})`, async () => {
    const sounds = await Promise.all([spoken("new-washing-machine"), spoken("kitchen-knife-set")].map(decodedAudio))
    const [long, short] = await Promise.all(
      sounds.map(({ samples, speech }, i) => heard(orderOf(samples, { speech, organizationId: `org_${i}` })))
    )
    const text = long!.segments.map(textOfSegment).join(" ")
    expect(text.toLowerCase()).toMatch(/new washing machine for my apartment/)
    expect(long).toMatchObject({ language: "en", model: "dowser/moonshine-tiny" })
    expect(short!.segments.map(textOfSegment).join(" ").toLowerCase()).toMatch(/kitchen knife/)
    for (const { score } of long!.segments.flatMap(({ words }) => words)) {
      expect(score).toBeGreaterThan(0)
      expect(score).toBeLessThanOrEqual(1)
    }
  })
  it.skipIf(!isThere)(
    `listens for what documents begin with, and tells the first hearing too (${missing})`,
    async () => {
      const { samples, speech: spans } = await decodedAudio(spoken("wireless-bluetooth-headphones"))
      const lines = ["kitchen knife set", "wireless bluetooth headphones black", "lamp"]
      const likely = { name: "of the test", openings: new TextEncoder().encode(lines.join("\n")) }
      const [segment] = (await heard(orderOf(samples, { speech: spans, likely }))).segments
      expect(segment!.readings!.near[0]).toBe("wireless bluetooth headphones black")
      const texts = segment!.readings!.candidates.map(({ words }) =>
        words.map(({ text }) => text.toLowerCase()).join(" ")
      )
      // The synthetic voice's "wireless" is heard as three words at first.
      expect(texts[0]).not.toMatch(/^wireless/)
      expect(
        texts.some((text) => text.startsWith("wireless")),
        texts.join("; ")
      ).toBe(true)
      for (const { heard: logarithm } of segment!.readings!.candidates) expect(logarithm).toBeLessThanOrEqual(0)
      const [first] = (await heard(orderOf(samples, { speech: spans }))).segments
      expect([first!.readings, first!.words]).toEqual([undefined, segment!.words])
    }
  )
  const hasSpeech = isThere && speech !== undefined
  it.skipIf(!hasSpeech)(`does not listen to what is loud and no speech (${missing})`, async () => {
    const noise = Float32Array.from({ length: 32_000 }, noiseOf(5)).map((sample) => sample / 4)
    const hum = noise.map((sample, i) => 0.1 * sample + 0.2 * Math.sin((2 * Math.PI * 130 * i) / 16_000))
    const likely = { name: "of noise", openings: new TextEncoder().encode("hissing brush\nhumming machine") }
    for (const samples of [noise, hum]) expect((await heard(orderOf(samples, { likely }))).segments).toEqual([])
    const silero = await openSilero(speech!, runtimeFolder!)
    const { samples } = await decodedAudio(spoken("kitchen-knife-set"))
    expect([await silero.isSpoken(samples), await silero.isSpoken(new Float32Array())]).toEqual([true, false])
  })
  it.skipIf(!isThere)(`makes up nothing that could be read out of the times of a pause (${missing})`, async () => {
    expect((await heard(orderOf(new Float32Array(16_000), { speech: [] }))).segments).toEqual([])
  })
  it.skipIf(!isThere)(`refuses a language that it does not know (${missing})`, async () => {
    const exit = await runtime.runPromiseExit(
      Effect.flatMap(Transcriber, ({ transcribe }) => transcribe(orderOf(voiceLike(1, 0, 1), { language: "de" })))
    )
    expect(failureOf(exit)).toMatchObject({ reason: "language" })
  })
  it("says so if it is not installed", async () => {
    const none = ManagedRuntime.make(
      layerLocalTranscriber({ installed: () => ({ state: "absent", message: "No transcriber is installed" }) })
    )
    const exit = await none.runPromiseExit(
      Effect.flatMap(Transcriber, ({ transcribe }) => transcribe(orderOf(new Float32Array(10))))
    )
    expect(failureOf(exit)).toMatchObject({ reason: "not_installed" })
    expect(await none.runPromise(Effect.map(Transcriber, ({ inUse }) => inUse()))).toMatchObject({
      name: null,
      state: "absent"
    })
    await none.dispose()
  })
  it("reports a thread that dies or takes too long to its callers, starts another, and makes nobody wait forever", async () => {
    const entry = new URL("../support/transcriber-worker.ts", import.meta.url)
    const lively = ManagedRuntime.make(
      layerLocalTranscriber({
        installed: () => ({ state: "installed", size: "tiny", folder: "f", runtime: "r" }),
        entry,
        within_ms: 3_000
      })
    )
    const ask = (first: number, seconds = 1, organizationId = "org_a") => {
      const samples = new Float32Array(seconds * 16_000)
      samples[0] = first
      return lively.runPromiseExit(
        Effect.flatMap(Transcriber, ({ transcribe }) => transcribe(orderOf(samples, { organizationId })))
      )
    }
    // 1 answers, 2 kills the thread, 3 never answers, 4 throws.
    const [died, after, thrown, last] = await Promise.all([ask(2), ask(1), ask(4), ask(1)])
    expect(failureOf(died!)).toMatchObject({ reason: "failed" })
    expect([after, last].map((exit) => Exit.isSuccess(exit!))).toEqual([true, true])
    expect(failureOf(thrown!)?.message).toMatch(/cannot be heard/)
    const silent = await ask(3)
    expect(failureOf(silent)?.message).toMatch(/took too long/)
    const many = await Promise.all([ask(1, 500), ask(1, 500), ask(1, 500, "org_b"), ask(1, 500, "org_c")])
    expect(many.map((exit) => failureOf(exit)?.reason ?? "heard")).toEqual(["heard", "busy", "heard", "busy"])
    await lively.dispose()
  })
})

describe("transcribers of servers", () => {
  let server: TranscriberServer
  beforeAll(async () => {
    server = await startTranscriberServer()
  })
  beforeEach(() => {
    server.asked.length = 0
    server.misbehaves = undefined
    server.looksBefore = 0
    server.says = saying("Enamel mug", 0.8)
  })
  afterAll(() => server.close())
  const runtime = ManagedRuntime.make(
    Layer.mergeAll(layerOutboundHttp({ allowPrivateAddresses: true }), Identifiers.layer)
  )
  afterAll(() => runtime.dispose())
  const model = (kind: RemoteTranscriberModel["kind"], named = "large"): RemoteTranscriberModel => ({
    kind,
    model: named,
    url: server.url,
    apiKey: "key-of-the-organization"
  })
  const ask = (asked: RemoteTranscriberModel, more: Partial<TranscribeOrder> = {}) =>
    runtime.runPromiseExit(
      Effect.flatMap(makeRemoteTranscriber, (transcribe) => transcribe(asked, orderOf(voiceLike(2, 0, 2), more)))
    )
  const heard = async (...asked: Parameters<typeof ask>) => {
    const exit = await ask(...asked)
    if (Exit.isFailure(exit)) throw failureOf(exit)!
    return exit.value
  }

  it("of OpenAI's interface receive a form with WAV, and answer a text", async () => {
    const found = await heard(model("openai"), { language: "en", hints: ["mug", "enamel"] })
    expect(found).toEqual({
      segments: [
        {
          start: 0,
          end: 2,
          words: [
            { text: "Enamel", score: undefined },
            { text: "mug", score: undefined }
          ]
        }
      ],
      language: "en",
      model: "openai/large"
    })
    const [{ body, headers, path }] = server.asked as [TranscriberServer["asked"][number]]
    expect([path, headers.authorization]).toEqual(["/v1/audio/transcriptions", "Bearer key-of-the-organization"])
    const text = body.toString("latin1")
    for (const [name, value] of [
      ["model", "large"],
      ["language", "en"],
      ["response_format", "json"],
      ["prompt", "mug, enamel"]
    ])
      expect(text).toContain(`name="${name}"\r\n\r\n${value}\r\n`)
  })
  it("of Deepgram receive WAV and answer words with times", async () => {
    const found = await heard(model("deepgram", "nova-3"), { hints: ["mug"] })
    expect(found.segments).toEqual([
      {
        start: 0,
        end: 0.55,
        words: [
          { text: "Enamel", score: 0.8 },
          { text: "mug", score: 0.8 }
        ]
      }
    ])
    const [{ headers, path, query }] = server.asked as [TranscriberServer["asked"][number]]
    expect([path, headers.authorization, headers["content-type"]]).toEqual([
      "/v1/listen",
      "Token key-of-the-organization",
      "audio/wav"
    ])
    expect(Object.fromEntries(query)).toEqual({
      model: "nova-3",
      punctuate: "true",
      detect_language: "true",
      keyterm: "mug"
    })
  })
  it("of AssemblyAI receive an upload and an order, and are polled until it is done", async () => {
    server.looksBefore = 2
    const found = await heard(model("assemblyai", "universal"), { language: "en" })
    expect([found.segments.map(textOfSegment), found.language]).toEqual([["Enamel mug"], "en"])
    expect(server.asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "POST /v2/upload",
      "POST /v2/transcript",
      "GET /v2/transcript/order-1",
      "GET /v2/transcript/order-1",
      "GET /v2/transcript/order-1"
    ])
    expect(JSON.parse(server.asked[1]!.body.toString())).toEqual({
      audio_url: `${server.url}/uploads/1`,
      speech_models: ["universal"],
      language_code: "en"
    })
    expect(server.asked.map(({ headers }) => headers.authorization)).toEqual(
      new Array(5).fill("key-of-the-organization")
    )
  })
  it("are called once more if that may help, and their refusal is reported without anything that looks like a credential", async () => {
    let refusals = 1
    server.misbehaves = (_, response) => {
      if (refusals-- <= 0) return false
      response.writeHead(503).end("later")
      return true
    }
    expect((await heard(model("openai"))).segments).toHaveLength(1)
    expect(server.asked).toHaveLength(2)
    const misbehaving = async (status: number, body: string, kind: RemoteTranscriberModel["kind"] = "openai") => {
      server.misbehaves = (_, response) => {
        response.writeHead(status, { "content-type": "application/json" }).end(body)
        return true
      }
      return failureOf(await ask(model(kind)))?.message
    }
    expect(await misbehaving(401, "{}")).toBe(
      "The server of the transcriber `openai/large` refused the credential (401)."
    )
    expect(await misbehaving(400, '{"error": "bad model sk-abcdefghijklmnopqrstuvwxyz012345"}')).toBe(
      'The server of the transcriber `openai/large` answered 400: {"error": "bad model …"}.'
    )
    expect(await misbehaving(200, "no JSON")).toMatch(/is not JSON/)
    expect(await misbehaving(200, '{"words": []}')).toMatch(/no transcript/)
    expect(await misbehaving(200, `{"text": "${"x".repeat(2_100_000)}"}`)).toMatch(/more than 2 MB/)
    expect(await misbehaving(200, '{"id": "../../keys", "upload_url": "u"}', "assemblyai")).toMatch(/no transcript/)
    expect(await misbehaving(200, '{"results": {"channels": "none"}}', "deepgram")).toMatch(/no transcript/)
  })
  it("at private addresses are not called", async () => {
    const guarded = ManagedRuntime.make(
      Layer.mergeAll(layerOutboundHttp({ allowPrivateAddresses: false }), Identifiers.layer)
    )
    const exit = await guarded.runPromiseExit(
      Effect.flatMap(makeRemoteTranscriber, (transcribe) => transcribe(model("openai"), orderOf(voiceLike(1, 0, 1))))
    )
    expect([failureOf(exit)?.message, server.asked.length]).toEqual([expect.stringMatching(/cannot be asked/), 0])
    await guarded.dispose()
  })
})
