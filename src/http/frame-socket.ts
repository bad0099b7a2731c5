/**
 * A WebSocket as a handler has it: frames one after the other, each as it is asked for; what is not asked for stays
 * with who sent it, and what is not read is dropped or ends the connection. The protocol is `ws`.
 */
import type { IncomingMessage } from "node:http"
import { Deferred, Effect } from "effect"
import { type RawData, type WebSocket, WebSocketServer } from "ws"
import { upgradeRequired } from "./errors.ts"
import { upgradeOf } from "./upgrades.ts"

export type Frame =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }

/** Of one frame; a larger one closes with 1009. */
const FRAME_BYTES_MAX = 1_000_000
/** That wait to be asked for; the connection is not read meanwhile. */
const WAITING_BYTES_MAX = 256_000,
  WAITING_MAX = 64
/** That wait to be read by the other side: frames that another will replace are dropped, and then it is given up. */
const UNREAD_BYTES_MAX = 1_000_000,
  UNREAD_BYTES_END = 8_000_000
/** Until the other side has said that it closes, too. */
const CLOSING_MS = 2_000
const GOING_AWAY = 1_001

const bytesOf = (data: RawData): Buffer =>
  Array.isArray(data) ? Buffer.concat(data) : Buffer.isBuffer(data) ? data : Buffer.from(data)

export class FrameSocket {
  readonly #socket: WebSocket
  readonly #frames: Array<Frame> = []
  #bytes = 0
  #onFrame: (() => void) | undefined
  readonly #closed = Deferred.makeUnsafe<void>()

  constructor(socket: WebSocket) {
    this.#socket = socket
    socket.on("message", (data, isBinary) => {
      const bytes = bytesOf(data)
      this.#bytes += bytes.length
      this.#frames.push(isBinary ? { kind: "bytes", bytes } : { kind: "text", text: bytes.toString("utf8") })
      if (this.#isFull) socket.pause()
      this.#onFrame?.()
    })
    // It closes behind this, and says why to the other side.
    socket.on("error", () => {})
    socket.once("close", () => Deferred.doneUnsafe(this.#closed, Effect.void))
  }
  get #isFull(): boolean {
    return this.#bytes > WAITING_BYTES_MAX || this.#frames.length >= WAITING_MAX
  }
  /** Told that there may be frames; once for each at least. */
  listen(onFrame: () => void): void {
    this.#onFrame = onFrame
    if (this.#frames.length > 0) onFrame()
  }
  take(): Frame | undefined {
    const frame = this.#frames.shift()
    if (frame === undefined) return undefined
    this.#bytes -= frame.kind === "text" ? Buffer.byteLength(frame.text) : frame.bytes.length
    if (this.#socket.isPaused && !this.#isFull) this.#socket.resume()
    return frame
  }
  /** `isPassing`: another will say more, so it may be left out where the other side reads slowly. */
  send(value: unknown, isPassing = false): void {
    const unread = this.#socket.bufferedAmount
    if (isPassing && unread > UNREAD_BYTES_MAX) return
    if (unread > UNREAD_BYTES_END) return this.#socket.terminate()
    this.#socket.send(typeof value === "string" ? value : JSON.stringify(value))
  }
  /** Nobody is there any more, whoever went. */
  get closed(): Effect.Effect<void> {
    return Deferred.await(this.#closed)
  }
  /** Says why, and waits a moment for the other side to know. */
  close(code: number, reason: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      // The answer to it would not be read.
      this.#frames.length = 0
      this.#socket.resume()
      this.#socket.close(code, reason)
      return Effect.timeoutOrElse(this.closed, { duration: CLOSING_MS, orElse: () => Effect.sync(() => this.end()) })
    })
  }
  end(): void {
    this.#socket.terminate()
  }
}

/** Header lines of the answer to an upgrade, by its request. */
const answerHeaders = new WeakMap<IncomingMessage, Readonly<Record<string, string>>>()
const server = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: FRAME_BYTES_MAX
})
server.on("headers", (lines: Array<string>, request: IncomingMessage) => {
  for (const [name, value] of Object.entries(answerHeaders.get(request) ?? {})) lines.push(`${name}: ${value}`)
})

/** What the protocol asks of a request (RFC 6455, 4.2.1). */
const isHandshake = ({ headers, method }: IncomingMessage): boolean =>
  method === "GET" &&
  headers.upgrade?.toLowerCase() === "websocket" &&
  headers["sec-websocket-version"] === "13" &&
  /^[+/0-9A-Za-z]{22}==$/.test(headers["sec-websocket-key"] ?? "")

/**
 * Answers 101. The connection ends with the scope; a handler that took it answers nothing else, so it goes on until
 * nobody is there.
 */
export const openFrameSocket = (request: IncomingMessage, headers: Readonly<Record<string, string>>) =>
  Effect.acquireRelease(
    Effect.suspend(() => {
      const upgrade = upgradeOf(request)
      if (upgrade === undefined || !isHandshake(request)) return Effect.fail(upgradeRequired())
      answerHeaders.set(request, headers)
      return Effect.callback<FrameSocket>((resume) => {
        const { head, socket } = upgrade
        // Nobody waits for an answer any more, and what waits here is interrupted with the request.
        if (socket.destroyed) return
        server.handleUpgrade(request, socket, head, (opened) => resume(Effect.succeed(new FrameSocket(opened))))
      })
    }),
    (socket, exit) =>
      exit._tag === "Success" ? Effect.sync(() => socket.end()) : socket.close(GOING_AWAY, "going away")
  )
