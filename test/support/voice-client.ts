/** A client of the live voice stream, over a real socket: what it was sent, and how it was closed. */
import { once } from "node:events"
import { setTimeout } from "node:timers/promises"
import { WebSocket } from "ws"

interface Closed {
  readonly code: number
  readonly reason: string
}
export interface VoiceClient {
  readonly frames: Array<any>
  readonly send: (frame: unknown) => void
  /** Sends chunks of a tenth of a second of PCM at 16,000 samples a second. */
  readonly speak: (pcm: Uint8Array, every_ms?: number) => Promise<void>
  readonly closed: Promise<Closed>
  /** The first frame of a kind after those already taken. */
  readonly next: (type: string) => Promise<any>
  readonly socket: WebSocket
}
/** Returns the status if it is not upgraded. */
export const openVoice = async (
  base: string,
  path: string,
  headers: Readonly<Record<string, string>> = {}
): Promise<VoiceClient | { readonly status: number; readonly body: any }> => {
  const socket = new WebSocket(`${base.replace(/^http/, "ws")}${path}`, { headers })
  const frames: Array<any> = []
  const waiting = new Set<() => void>()
  socket.on("message", (data: Buffer) => {
    frames.push(JSON.parse(data.toString("utf8")))
    for (const wake of waiting) wake()
  })
  const closed = new Promise<Closed>((resolve) =>
    socket.once("close", (code, reason) => {
      resolve({ code, reason: reason.toString("utf8") })
      for (const wake of waiting) wake()
    })
  )
  const refused = new Promise<{ readonly status: number; readonly body: any }>((resolve, reject) => {
    socket.once("unexpected-response", (_, response) => {
      const pieces: Array<Buffer> = []
      response.on("data", (piece: Buffer) => pieces.push(piece))
      response.once("end", () => {
        const text = Buffer.concat(pieces).toString("utf8")
        resolve({ status: response.statusCode!, body: text === "" ? undefined : JSON.parse(text) })
        socket.terminate()
      })
    })
    socket.once("error", reject)
  })
  refused.catch(() => {})
  const first = await Promise.race([once(socket, "open"), refused])
  if (!Array.isArray(first)) return first
  let taken = 0
  return {
    frames,
    socket,
    closed,
    send: (frame) => socket.send(frame instanceof Uint8Array ? frame : JSON.stringify(frame)),
    speak: async (pcm, every_ms = 1) => {
      for (let at = 0; at < pcm.length && socket.readyState === WebSocket.OPEN; at += 3_200) {
        socket.send(pcm.subarray(at, at + 3_200))
        await setTimeout(every_ms)
      }
    },
    next: async (type) => {
      for (;;) {
        while (taken < frames.length) {
          const frame = frames[taken++]
          if (frame.type === type) return frame
        }
        if (socket.readyState === WebSocket.CLOSED)
          throw new Error(`No ${type} before the end; there were ${JSON.stringify(frames).slice(0, 1_000)}`)
        await new Promise<void>((resolve) => {
          const wake = () => {
            waiting.delete(wake)
            resolve()
          }
          waiting.add(wake)
        })
      }
    }
  }
}
