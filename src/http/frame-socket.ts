/**
 * A WebSocket for handlers: frames one after the other, pulled on demand. Frames that are not pulled stay with the
 * sender; frames that the other side does not read are dropped or end the connection. The protocol is `ws`.
 */
import type { IncomingMessage } from "node:http"
import { Deferred, Effect } from "effect"
import { type RawData, type WebSocket, WebSocketServer } from "ws"
import { upgradeRequired } from "./errors.ts"
import { upgradeOf } from "./upgrades.ts"

export type Frame =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }

/** Limit of one frame's bytes; a larger one closes the connection with 1009. */
const FRAME_BYTES_MAX = 1_000_000
/** Limits of frames waiting to be pulled; at the limit, the connection is not read. */
const WAITING_BYTES_MAX = 256_000,
  WAITING_MAX = 64
/** Bytes waiting for the other side, above which superseded frames are dropped, and then the connection ends. */
const UNREAD_BYTES_MAX = 1_000_000,
  UNREAD_BYTES_END = 8_000_000
/** Wait for the other side to confirm the close. */
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
    // Errors are ignored here because the connection closes after them, with a reason for the other side.
    socket.on("error", () => {})
    socket.once("close", () => Deferred.doneUnsafe(this.#closed, Effect.void))
  }
  get #isFull(): boolean {
    return this.#bytes > WAITING_BYTES_MAX || this.#frames.length >= WAITING_MAX
  }
  /** Called when frames may be available; at least once for each. */
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
  /** `isPassing`: a later frame supersedes this one, so it may be dropped if the other side reads slowly. */
  send(value: unknown, isPassing = false): void {
    const unread = this.#socket.bufferedAmount
    if (isPassing && unread > UNREAD_BYTES_MAX) return
    if (unread > UNREAD_BYTES_END) return this.#socket.terminate()
    this.#socket.send(typeof value === "string" ? value : JSON.stringify(value))
  }
  /** Completes when either side has disconnected. */
  get closed(): Effect.Effect<void> {
    return Deferred.await(this.#closed)
  }
  /** Sends the reason, and waits a moment for the other side to receive it. */
  close(code: number, reason: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      // Unread frames would delay the peer's closing frame.
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

/** Header lines of the response to an upgrade, by its request. */
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

/** The requirements of the protocol for a request (RFC 6455, 4.2.1). */
const isHandshake = ({ headers, method }: IncomingMessage): boolean =>
  method === "GET" &&
  headers.upgrade?.toLowerCase() === "websocket" &&
  headers["sec-websocket-version"] === "13" &&
  /^[+/0-9A-Za-z]{22}==$/.test(headers["sec-websocket-key"] ?? "")

/**
 * Responds with 101. The connection ends with the scope. A handler that has opened the socket sends no other
 * response, so it runs until the connection is over.
 */
export const openFrameSocket = (request: IncomingMessage, headers: Readonly<Record<string, string>>) =>
  Effect.acquireRelease(
    Effect.suspend(() => {
      const upgrade = upgradeOf(request)
      if (upgrade === undefined || !isHandshake(request)) return Effect.fail(upgradeRequired())
      answerHeaders.set(request, headers)
      return Effect.callback<FrameSocket>((resume) => {
        const { head, socket } = upgrade
        // The client has disconnected: this never resumes, and is interrupted together with the request.
        if (socket.destroyed) return
        server.handleUpgrade(request, socket, head, (opened) => resume(Effect.succeed(new FrameSocket(opened))))
      })
    }),
    (socket, exit) =>
      exit._tag === "Success" ? Effect.sync(() => socket.end()) : socket.close(GOING_AWAY, "going away")
  )
