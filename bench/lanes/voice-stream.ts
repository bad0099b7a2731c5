/**
 * Question: what do live voice streams cost while nobody speaks, and how soon does a speaker see words? Workload: 200
 * open streams, first without sound and then with silence as a microphone sends it; then five seconds of speech in
 * real time, transcribed by the program's own model if one is installed, over real sockets.
 */
import { readFileSync } from "node:fs"
import { setTimeout } from "node:timers/promises"
import { WebSocket } from "ws"
import { decodedAudio } from "../../src/ports/audio-decoder/decode.ts"
import { RATE } from "../../src/ports/audio-decoder/audio-decoder.ts"
import { machine, processorSeconds, report, round, rssMb } from "../harness/harness.ts"
import { type RunningProgram, startServer } from "../harness/program.ts"

export interface VoiceStreamOptions {
  readonly streams: number
  readonly seconds: number
  readonly times: number
  readonly out: string | undefined
}
const PIECE_MS = 100
const PIECE = (RATE * PIECE_MS) / 1_000
const START = { type: "start", params: { query_by: "name", encoding: "pcm_s16le", sample_rate: RATE } }
const recording = new URL("../../fixtures/speech/new-washing-machine.ogg", import.meta.url)

interface Frame {
  readonly type: string
  readonly status?: number
  readonly text?: string
}
const opened = async ({ full_key, port }: RunningProgram, onFrame: (frame: Frame) => void): Promise<WebSocket> => {
  const path = "/v1/collections/products/documents/search/voice_stream"
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}?api_key=${full_key}`)
  socket.on("message", (data: Buffer) => onFrame(JSON.parse(data.toString("utf8")) as Frame))
  await new Promise((resolve, reject) => {
    socket.once("open", resolve)
    socket.once("error", reject)
  })
  socket.send(JSON.stringify(START))
  return socket
}
const pcmOf = (samples: Float32Array): Buffer => {
  const bytes = Buffer.alloc(2 * samples.length)
  for (const [i, sample] of samples.entries()) bytes.writeInt16LE(Math.round(sample * 32_767), 2 * i)
  return bytes
}
/** Share of a processor while every stream has some activity now and then. */
const shareOf = async (
  { pid }: RunningProgram,
  sockets: ReadonlyArray<WebSocket>,
  message: string | Buffer,
  every_ms: number,
  seconds: number
): Promise<number> => {
  const before = processorSeconds(pid).process
  const began = performance.now()
  while (performance.now() - began < seconds * 1_000) {
    for (const socket of sockets) socket.send(message)
    await setTimeout(every_ms)
  }
  return round((processorSeconds(pid).process - before) / ((performance.now() - began) / 1_000))
}

/** Milliseconds of sound until the first words, and from `stop` to the end. */
const spoken = async (server: RunningProgram, pcm: Buffer) => {
  let first: number | undefined, refused: number | undefined
  const socket = await opened(server, ({ status, type }) => {
    if (type === "transcript") first ??= performance.now()
    if (type === "error") refused = status
  })
  const from = performance.now()
  for (let at = 0, i = 1; at < pcm.length; at += 2 * PIECE, i++) {
    socket.send(pcm.subarray(at, at + 2 * PIECE))
    await setTimeout(Math.max(0, from + i * PIECE_MS - performance.now()))
  }
  const stopped = performance.now()
  const closed = new Promise((resolve) => socket.once("close", resolve))
  socket.send(JSON.stringify({ type: "stop" }))
  await closed
  if (refused !== undefined) return undefined
  return { first_ms: (first ?? performance.now()) - from, final_ms: performance.now() - stopped }
}

export const benchVoiceStream = async ({ out, seconds, streams, times }: VoiceStreamOptions): Promise<void> => {
  const server = await startServer(["--credit-prices", "voice=0"])
  try {
    const made = await fetch(`http://127.0.0.1:${server.port}/v1/collections`, {
      method: "POST",
      headers: { "x-svc-api-key": server.full_key },
      body: JSON.stringify({ name: "products", fields: [{ name: "name", type: "string" }] })
    })
    if (made.status !== 201) throw new Error(await made.text())
    const { samples: recorded, speech } = await decodedAudio(readFileSync(recording))
    // The recording lasts four seconds; repeating its first second of speech makes it five.
    const begins = Math.round((speech[0]?.start ?? 0) * RATE)
    const samples = Float32Array.from([...recorded, ...recorded.subarray(begins, begins + RATE)])
    const whole = pcmOf(samples)
    // The first speaker loads the model.
    const heard: Array<{ readonly first_ms: number; readonly final_ms: number }> = []
    const model = (await spoken(server, whole)) === undefined ? "none" : "installed"
    for (let i = 0; model !== "none" && i < times; i++) heard.push((await spoken(server, whole))!)
    const most = (name: "first_ms" | "final_ms") => Math.round(Math.max(...heard.map((each) => each[name])))
    const rss_before_mb = rssMb(server.pid)
    const sockets: Array<WebSocket> = []
    for (let i = 0; i < streams; i++) sockets.push(await opened(server, () => {}))
    const idle = await shareOf(server, sockets, JSON.stringify({ type: "ping" }), 5_000, seconds)
    const silent = await shareOf(server, sockets, Buffer.alloc(2 * PIECE), PIECE_MS, seconds)
    const rss_streams_mb = rssMb(server.pid)
    for (const socket of sockets) socket.terminate()
    report(
      "Voice streams",
      {
        machine: machine(),
        streams,
        idle_share: idle,
        silence_share: silent,
        rss_each_mb: round((rss_streams_mb - rss_before_mb) / streams),
        model,
        speech_s: round(samples.length / RATE),
        speech_from_s: round(speech[0]?.start ?? 0),
        ...(heard.length === 0 ? {} : { first_interim_ms: most("first_ms"), final_ms: most("final_ms") })
      },
      out
    )
  } finally {
    await server.stop()
  }
}
