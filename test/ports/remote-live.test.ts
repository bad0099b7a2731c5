/** Live transcribers on other servers: their frames are replayed by a real WebSocket on loopback. */
import { setTimeout } from "node:timers/promises"
import { Effect, Exit, Layer, Scope } from "effect"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { RATE } from "../../src/ports/audio-decoder/audio-decoder.ts"
import { layer as layerOutbound } from "../../src/ports/outbound-http/node.ts"
import { makeRemoteLive } from "../../src/ports/transcriber/remote/remote-live.ts"
import type { RemoteTranscriberModel } from "../../src/ports/transcriber/remote/providers.ts"
import {
  type LiveHeard,
  type LiveTranscription,
  TranscriptionUnavailable
} from "../../src/ports/transcriber/transcriber.ts"
import { type LiveTranscriberServer, startLiveTranscriberServer } from "../support/live-transcriber-server.ts"
import { voiceLike } from "../support/sound-files.ts"

let server: LiveTranscriberServer
beforeAll(async () => {
  server = await startLiveTranscriberServer()
})
afterAll(() => server.close())
beforeEach(() => {
  server.asked.length = 0
  server.texts.length = 0
  server.pcmBytes = 0
  server.breaks = undefined
})

interface Held {
  readonly session: LiveTranscription
  readonly heard: Array<LiveHeard>
  readonly close: () => Promise<void>
}
const noBatch = () => Effect.fail(new TranscriptionUnavailable({ reason: "failed", message: "Asked as a recording." }))
const open = async (model: RemoteTranscriberModel, language?: string, allowPrivateAddresses = true): Promise<Held> => {
  const heard: Array<LiveHeard> = []
  const scope = Effect.runSync(Scope.make())
  const order = {
    organizationId: "o",
    language,
    hints: ["knife"],
    heard: (each: LiveHeard) => void heard.push(each)
  }
  const opening = Effect.gen(function* () {
    const context = yield* Layer.buildWithScope(layerOutbound({ allowPrivateAddresses }), scope)
    return yield* Effect.provide(
      Effect.flatMap(makeRemoteLive, (live) => live(model, order, noBatch)),
      context
    )
  })
  const session = await Effect.runPromise(Scope.provide(opening, scope))
  return { session, heard, close: () => Effect.runPromise(Scope.close(scope, Exit.void)) }
}
const texts = ({ words }: LiveHeard): string => words.map(({ text }) => text).join(" ")
const speak = async ({ session }: Held, seconds = 1.1): Promise<void> => {
  const voice = voiceLike(seconds, 0, seconds)
  for (let at = 0; at < voice.length; at += RATE / 50) {
    await Effect.runPromise(session.push(voice.subarray(at, at + RATE / 50)))
    await setTimeout(1)
  }
}
const eventually = async (isThere: () => boolean): Promise<void> => {
  for (let i = 0; i < 200 && !isThere(); i++) await setTimeout(10)
  expect(isThere()).toBe(true)
}
const message = (exit: unknown): string => JSON.stringify(exit)

describe("live transcribers of servers", () => {
  it.each([
    ["deepgram", "nova-3"],
    ["assemblyai", "universal-streaming-english"],
    ["openai", "gpt-4o-transcribe"]
  ] as const)("%s: words are reported as they arrive, settled once, and complete at the end", async (kind, name) => {
    const held = await open({ kind, model: name, url: server.url, apiKey: "live-secret" }, "en")
    await speak(held)
    await eventually(() =>
      held.heard.some((each) => texts(each).toLowerCase() === "kitchen knife" && each.settled === 2)
    )
    const last = await Effect.runPromise(held.session.close)
    expect([texts(last).toLowerCase(), last.settled, last.model]).toEqual(["kitchen knife set.", 3, `${kind}/${name}`])
    let settled = 0
    for (const each of held.heard) {
      expect(each.settled).toBeGreaterThanOrEqual(settled)
      settled = each.settled
    }
    // The sound in 16 bits, at the sample rate that each server accepts.
    expect(server.pcmBytes).toBeGreaterThan(kind === "openai" ? 51_000 : 34_000)
    const [asked] = server.asked
    expect(asked!.headers.authorization).toBe(
      { deepgram: "Token live-secret", assemblyai: "live-secret", openai: "Bearer live-secret" }[kind]
    )
    await held.close()
  })
  it("receive the model, the language and likely words in the format of each", async () => {
    const deepgram = await open({ kind: "deepgram", model: "nova-3", url: server.url }, "de")
    expect(Object.fromEntries(server.asked.at(-1)!.query)).toMatchObject({
      model: "nova-3",
      language: "de",
      encoding: "linear16",
      sample_rate: "16000",
      interim_results: "true",
      keyterm: "knife"
    })
    const assembly = await open({ kind: "assemblyai", model: "universal", url: server.url })
    expect(Object.fromEntries(server.asked.at(-1)!.query)).toMatchObject({
      speech_model: "universal-streaming-multilingual",
      sample_rate: "16000",
      keyterms_prompt: '["knife"]'
    })
    const openai = await open({ kind: "openai", model: "gpt-live-transcribe", url: server.url }, "en")
    expect(server.asked.at(-1)!.query.get("intent")).toBe("transcription")
    await eventually(() => server.texts.length > 0)
    expect(server.texts[0]).toMatchObject({
      type: "session.update",
      session: {
        type: "transcription",
        audio: {
          input: {
            format: { type: "audio/pcm", rate: 24_000 },
            transcription: { model: "gpt-live-transcribe", language: "en", prompt: "knife" },
            turn_detection: null
          }
        }
      }
    })
    for (const held of [deepgram, assembly, openai]) await held.close()
  })
  it("keep a connection of Deepgram alive while nobody speaks", { timeout: 20_000 }, async () => {
    const held = await open({ kind: "deepgram", model: "nova-3", url: server.url })
    await setTimeout(4_500)
    expect(server.texts).toContainEqual({ type: "KeepAlive" })
    await held.close()
  })
  it("fail with the server's message, without anything that looks like a credential, and if it hangs up or is no server", async () => {
    server.breaks = {
      frames: [{ type: "error", error: { message: "No quota for sk_abcdefghijklmnopqrstuvwxyz" } }],
      code: 1011
    }
    const held = await open({ kind: "openai", model: "gpt-4o-transcribe", url: server.url })
    await setTimeout(100)
    const said = message(await Effect.runPromiseExit(held.session.push(voiceLike(0.1, 0, 0.1))))
    expect(said).toContain("No quota for …")
    await held.close()
    server.breaks = { frames: ["not json"], code: 1000 }
    const odd = await open({ kind: "deepgram", model: "nova-3", url: server.url })
    await setTimeout(100)
    expect(message(await Effect.runPromiseExit(odd.session.close))).toContain("not JSON")
    await odd.close()
    server.breaks = { frames: [], code: 4008 }
    const gone = await open({ kind: "assemblyai", model: "universal", url: server.url })
    await setTimeout(100)
    expect(message(await Effect.runPromiseExit(gone.session.push(voiceLike(0.1, 0, 0.1))))).toContain("(4008)")
    await gone.close()
    await expect(open({ kind: "deepgram", model: "m", url: "http://127.0.0.1:9" })).rejects.toThrow(/cannot be asked/)
  })
  it("are not connected to at a private address", async () => {
    await expect(open({ kind: "deepgram", model: "m", url: server.url }, "en", false)).rejects.toThrow(/private/)
    expect(server.asked).toEqual([])
  })
})
