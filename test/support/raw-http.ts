/** HTTP/1.1 by hand over one kept socket: these tests send what a client library would refuse to send. */
import { connect, type Socket } from "node:net"

export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly isClosed: boolean
}

const textOf = (value: string | Buffer): Buffer => (typeof value === "string" ? Buffer.from(value, "latin1") : value)

/** A request as bytes; `content-length` is added unless the headers frame the body themselves. */
export const requestBytes = (
  method: string,
  target: string,
  headers: ReadonlyArray<readonly [string, string]>,
  body: string | Buffer = ""
): Buffer => {
  const bytes = typeof body === "string" ? Buffer.from(body, "utf8") : body
  const isFramed = headers.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name))
  const lines = [
    `${method} ${target} HTTP/1.1`,
    "host: localhost",
    ...headers.map(([name, value]) => `${name}: ${value}`),
    ...(isFramed || (bytes.length === 0 && method === "GET") ? [] : [`content-length: ${bytes.length}`])
  ]
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), bytes])
}
/** The body in chunks of `size`, with trailers. */
export const chunked = (body: Buffer, size: number, trailers = ""): Buffer => {
  const parts: Array<Buffer> = []
  for (let at = 0; at < body.length; at += size) {
    const part = body.subarray(at, at + size)
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from("\r\n"))
  }
  return Buffer.concat([...parts, Buffer.from(`0\r\n${trailers}\r\n`)])
}

const headEnd = Buffer.from("\r\n\r\n")
/** One answer at the start of `bytes`; undefined while it is incomplete. */
const parse = (
  bytes: Buffer,
  isHead: boolean,
  isClosed: boolean
): { readonly answer: RawAnswer; readonly used: number } | undefined => {
  const end = bytes.indexOf(headEnd)
  if (end < 0) return undefined
  const [first, ...lines] = bytes.subarray(0, end).toString("latin1").split("\r\n")
  const headers: Record<string, string> = {}
  for (const line of lines)
    headers[line.slice(0, line.indexOf(":")).toLowerCase()] = line.slice(line.indexOf(":") + 1).trim()
  const status = Number(first!.split(" ")[1])
  const from = end + 4
  const done = (text: Buffer, used: number) => ({
    answer: { status, headers, text: text.toString("utf8"), isClosed: headers.connection === "close" },
    used
  })
  if (status === 100) {
    const rest = parse(bytes.subarray(from), isHead, isClosed)
    return rest === undefined ? undefined : { answer: rest.answer, used: rest.used + from }
  }
  if (isHead || status === 204 || status === 304) return done(Buffer.alloc(0), from)
  if (headers["content-length"] !== undefined) {
    const length = Number(headers["content-length"])
    return bytes.length < from + length ? undefined : done(bytes.subarray(from, from + length), from + length)
  }
  if (headers["transfer-encoding"] === "chunked") {
    const parts: Array<Buffer> = []
    // A stream of events does not end: its beginning is read, and the connection is closed.
    const isStream = headers["content-type"]?.startsWith("text/event-stream") === true
    for (let at = from; ;) {
      const line = bytes.indexOf("\r\n", at)
      if (line < 0 && isStream && parts.length > 0) {
        const { answer } = done(Buffer.concat(parts), at)
        return { answer: { ...answer, isClosed: true }, used: bytes.length }
      }
      if (line < 0) return undefined
      const size = Number.parseInt(bytes.subarray(at, line).toString("latin1"), 16)
      if (bytes.length < line + 2 + size + 2) return undefined
      if (size === 0) return done(Buffer.concat(parts), line + 4)
      parts.push(bytes.subarray(line + 2, line + 2 + size))
      at = line + 2 + size + 2
    }
  }
  return isClosed ? done(bytes.subarray(from), bytes.length) : undefined
}

export class RawConnection {
  readonly #port: number
  #socket: Socket | undefined
  constructor(port: number) {
    this.#port = port
  }
  close(): void {
    this.#socket?.destroy()
    this.#socket = undefined
  }
  /** Rejects if no complete answer came back in time. `count` answers are awaited, for pipelines. */
  exchange(
    request: string | Buffer,
    { count = 1, isHead = false, timeout_ms = 30_000 } = {}
  ): Promise<ReadonlyArray<RawAnswer>> {
    if (this.#socket?.destroyed === true) this.#socket = undefined
    const socket = (this.#socket ??= connect({ port: this.#port, host: "127.0.0.1", noDelay: true }))
    return new Promise((settle, reject) => {
      const answers: Array<RawAnswer> = []
      const chunks: Array<Buffer> = []
      let size = 0
      const finish = (error?: Error) => {
        clearTimeout(timer)
        socket.removeAllListeners("data").removeAllListeners("error").removeAllListeners("close")
        socket.on("error", () => {})
        if (error !== undefined || answers.some(({ isClosed }) => isClosed)) this.close()
        if (error === undefined) settle(answers)
        else reject(error)
      }
      const timer = setTimeout(() => finish(new Error(`no answer within ${timeout_ms} ms`)), timeout_ms)
      const look = (isClosed: boolean) => {
        for (;;) {
          const found = size === 0 ? undefined : parse(Buffer.concat(chunks), isHead, isClosed)
          if (found === undefined) return
          answers.push(found.answer)
          const rest = Buffer.concat(chunks).subarray(found.used)
          chunks.length = 0
          chunks.push(rest)
          size = rest.length
          if (answers.length === count) return finish()
        }
      }
      socket.on("data", (chunk: Buffer) => {
        chunks.push(chunk)
        size += chunk.length
        look(false)
      })
      // A server that refuses while the request is still being written resets the connection; an earlier answer may
      // have arrived.
      socket.on("error", () => {})
      socket.on("close", () => {
        look(true)
        if (answers.length < count) finish(new Error(`closed after ${answers.length} answers`))
      })
      socket.write(textOf(request))
    })
  }
}
