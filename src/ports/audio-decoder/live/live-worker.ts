/** The entry of the thread that decodes Opus streams. Each stream has a decoder here from its first chunk on. */
import { parentPort } from "node:worker_threads"
import { OpusDecoder } from "opus-decoder"
import { giveWayHere, HALF_BACKGROUND } from "@dowser/log/process/background"
import { type LiveOpusFormat, RATE } from "../audio-decoder.ts"
import { AudioRefused } from "../format.ts"
import { BarePackets, OggPackets, type OpusSource, WebmPackets } from "./opus-packets.ts"

/** If `bytes` is absent, the stream has ended. */
export interface ToLiveWorker {
  readonly stream: number
  readonly format: LiveOpusFormat
  readonly bytes?: ArrayBuffer
}
export type FromLiveWorker =
  | { readonly kind: "samples"; readonly stream: number; readonly samples: ArrayBuffer }
  | { readonly kind: "refused"; readonly stream: number; readonly message: string }

const sourceOf = (format: LiveOpusFormat): OpusSource =>
  format === "ogg" ? new OggPackets() : format === "webm" ? new WebmPackets() : new BarePackets()

const opened = async ({ channels, preSkip }: NonNullable<OpusSource["head"]>) => {
  const decoder = new OpusDecoder({ channels, preSkip, sampleRate: RATE })
  await decoder.ready
  return decoder
}

class LiveStream {
  readonly #source: OpusSource
  #decoder: Awaited<ReturnType<typeof opened>> | undefined

  constructor(format: LiveOpusFormat) {
    this.#source = sourceOf(format)
  }
  async push(bytes: Uint8Array): Promise<Float32Array> {
    const packets = this.#source.push(bytes)
    const { head } = this.#source
    if (head === undefined || packets.length === 0) return new Float32Array(0)
    this.#decoder ??= await opened(head)
    const { channelData, samplesDecoded } = this.#decoder.decodeFrames([...packets])
    const mixed = new Float32Array(samplesDecoded)
    for (const channel of channelData)
      for (let i = 0; i < samplesDecoded; i++) mixed[i]! += (channel[i] ?? 0) / channelData.length
    return mixed
  }
  end(): void {
    this.#decoder?.free()
    this.#decoder = undefined
  }
}

giveWayHere(HALF_BACKGROUND)
// The library logs a line to it for each broken packet, and anybody may send such a stream.
Object.assign(console, { error() {} })
/** Streams by id; `live-thread.ts` limits their number. */
const streams = new Map<number, LiveStream>()
const send = (report: FromLiveWorker, transfer: ReadonlyArray<ArrayBuffer> = []) =>
  parentPort!.postMessage(report, transfer)

parentPort!.on("message", ({ bytes, format, stream: id }: ToLiveWorker) => {
  const known = streams.get(id)
  if (bytes === undefined) {
    known?.end()
    streams.delete(id)
    return
  }
  const stream = known ?? new LiveStream(format)
  streams.set(id, stream)
  stream.push(new Uint8Array(bytes)).then(
    (made) => {
      const samples = made.buffer as ArrayBuffer
      send({ kind: "samples", stream: id, samples }, [samples])
    },
    (error: unknown) =>
      send({
        kind: "refused",
        stream: id,
        message: error instanceof AudioRefused ? error.message : "The stream cannot be decoded as Opus."
      })
  )
})
