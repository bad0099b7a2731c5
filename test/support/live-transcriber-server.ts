/**
 * A server of live transcribers on loopback, a real WebSocket, that replays frames as the public documentation of
 * Deepgram (live audio), AssemblyAI (streaming, message sequence) and OpenAI (realtime transcription) shows them.
 */
import type { IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { type WebSocket, WebSocketServer } from "ws"

export interface LiveTranscriberServer {
  readonly url: string
  readonly asked: Array<{ readonly path: string; readonly query: URLSearchParams; readonly headers: any }>
  /** Text frames, parsed. */ readonly texts: Array<any>
  /** Of PCM. */ pcmBytes: number
  /** Sent instead of everything else; the socket is then closed with the code. */ breaks:
    | { readonly frames: ReadonlyArray<unknown>; readonly code: number }
    | undefined
  readonly close: () => Promise<void>
}

const deepgramResults = (words: ReadonlyArray<string>, is_final: boolean, speech_final = false) => ({
  type: "Results",
  channel_index: [0, 1],
  duration: 1.5,
  start: 0,
  is_final,
  speech_final,
  channel: {
    alternatives: [
      {
        transcript: words.join(" "),
        confidence: 0.98,
        words: words.map((word, i) => ({
          word: word.toLowerCase(),
          punctuated_word: word,
          start: i * 0.3,
          end: i * 0.3 + 0.25,
          confidence: 0.97
        }))
      }
    ]
  },
  metadata: {
    request_id: "4c1f",
    model_info: { name: "general", version: "2026-01", arch: "nova-3" },
    model_uuid: "m"
  },
  from_finalize: false
})
const assemblyTurn = (turn_order: number, words: ReadonlyArray<readonly [string, boolean]>, end_of_turn: boolean) => ({
  turn_order,
  turn_is_formatted: false,
  end_of_turn,
  transcript: words
    .filter(([, isFinal]) => isFinal)
    .map(([text]) => text)
    .join(" "),
  end_of_turn_confidence: end_of_turn ? 0.99 : 0.01,
  words: words.map(([text, word_is_final], i) => ({
    start: 1_920 + 300 * i,
    end: 2_100 + 300 * i,
    text,
    confidence: 0.87,
    word_is_final
  })),
  utterance: "",
  type: "Turn"
})
const openai = (kind: string, item_id: string, fields: object) => ({
  event_id: "event_1",
  type: `conversation.item.input_audio_transcription.${kind}`,
  item_id,
  content_index: 0,
  ...fields
})

type Send = (...frames: ReadonlyArray<unknown>) => void
/** How a provider's server reacts to audio, to the last message, and to any other message. */
interface Script {
  readonly begins: (send: Send) => void
  /** Once, after this many bytes. */ readonly hears: ReadonlyArray<
    readonly [bytes: number, frames: ReadonlyArray<unknown>]
  >
  readonly told: (message: any, send: Send, end: () => void) => void
}
const scripts: ReadonlyMap<string, Script> = new Map([
  [
    "/v1/listen",
    {
      begins: () => {},
      hears: [
        [16_000, [deepgramResults(["Kitchen"], false)]],
        [24_000, [deepgramResults(["Kitchen", "knife"], true)]],
        [32_000, [deepgramResults([], true, true), deepgramResults(["sat"], false)]]
      ],
      told: ({ type }, send, end) => {
        if (type !== "CloseStream") return
        send(deepgramResults(["set."], true), { type: "Metadata", request_id: "4c1f", duration: 1.5, channels: 1 })
        end()
      }
    }
  ],
  [
    "/v3/ws",
    {
      begins: (send) => send({ type: "Begin", id: "de5d9927", expires_at: 1_759_796_682 }),
      hears: [
        [16_000, [{ type: "SpeechStarted", timestamp: 1_900 }, assemblyTurn(0, [["kitchen", false]], false)]],
        [
          24_000,
          [
            assemblyTurn(
              0,
              [
                ["kitchen", true],
                ["knife", false]
              ],
              false
            )
          ]
        ],
        [
          32_000,
          [
            assemblyTurn(
              0,
              [
                ["kitchen", true],
                ["knife", true]
              ],
              true
            ),
            assemblyTurn(1, [["sat", false]], false)
          ]
        ]
      ],
      told: ({ type }, send, end) => {
        if (type !== "Terminate") return
        send(assemblyTurn(1, [["set.", true]], true), {
          type: "Termination",
          audio_duration_seconds: 1,
          session_duration_seconds: 2
        })
        end()
      }
    }
  ],
  [
    "/v1/realtime",
    {
      begins: (send) => send({ type: "session.created", session: { type: "transcription" } }),
      hears: [
        [24_000, [{ type: "input_audio_buffer.speech_started", item_id: "i1", audio_start_ms: 300 }]],
        [
          32_000,
          [
            { type: "input_audio_buffer.committed", item_id: "i1", previous_item_id: null },
            openai("delta", "i1", { delta: "Kit" }),
            openai("delta", "i1", { delta: "chen knife" })
          ]
        ],
        [40_000, [openai("completed", "i1", { transcript: "Kitchen knife", usage: { type: "duration", seconds: 1 } })]]
      ],
      told: ({ type }, send) => {
        if (type === "session.update") send({ type: "session.updated", session: { type: "transcription" } })
        if (type !== "input_audio_buffer.commit") return
        send({ type: "input_audio_buffer.committed", item_id: "i2", previous_item_id: "i1" })
        send(openai("delta", "i2", { delta: "set" }), openai("completed", "i2", { transcript: "set." }))
      }
    }
  ]
])

export const startLiveTranscriberServer = async (): Promise<LiveTranscriberServer> => {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" })
  const serve = (socket: WebSocket, request: IncomingMessage) => {
    const { pathname, searchParams } = new URL(request.url!, "http://localhost")
    made.asked.push({ path: pathname, query: searchParams, headers: request.headers })
    const send: Send = (...frames) => {
      for (const frame of frames) socket.send(JSON.stringify(frame))
    }
    if (made.breaks !== undefined) {
      for (const frame of made.breaks.frames) socket.send(typeof frame === "string" ? frame : JSON.stringify(frame))
      return socket.close(made.breaks.code, "no")
    }
    const script = scripts.get(pathname)!
    let left = script.hears
    let bytes = 0
    const hear = (length: number) => {
      made.pcmBytes += length
      bytes += length
      while (left.length > 0 && bytes >= left[0]![0]) {
        send(...left[0]![1])
        left = left.slice(1)
      }
    }
    script.begins(send)
    socket.on("message", (data: Buffer, isBinary) => {
      if (isBinary) return hear(data.length)
      const message = JSON.parse(data.toString("utf8"))
      if (message.type === "input_audio_buffer.append") return hear(Buffer.from(message.audio, "base64").length)
      made.texts.push(message)
      script.told(message, send, () => socket.close(1000))
    })
  }
  server.on("connection", serve)
  await new Promise<void>((resolve) => server.once("listening", resolve))
  const made: LiveTranscriberServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: [],
    texts: [],
    pcmBytes: 0,
    breaks: undefined,
    close: () =>
      new Promise((resolve) => {
        for (const socket of server.clients) socket.terminate()
        server.close(() => resolve())
      })
  }
  return made
}
