/** The body of an answer: complete up to a bound, or in chunks on demand. */
import type { IncomingMessage } from "node:http"
import type { OpenResponse } from "./exchange.ts"
import { OutboundFailure, type OutboundOpening, type OutboundResponse } from "./outbound-http.ts"

export const headersOf = (received: IncomingMessage): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(received.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(", ") : (value ?? "")
    ])
  )

/** Never rejects: the status has arrived, and a body that ends early or is late does not change it. */
export const wholeBody = (
  { client, received }: OpenResponse,
  bytesMax: number,
  deadline: AbortSignal
): Promise<OutboundResponse> =>
  new Promise((settle) => {
    const chunks: Array<Buffer> = []
    let size = 0,
      isDone = false
    const onDeadline = () => finish(true)
    const finish = (isTruncated: boolean) => {
      if (isDone) return
      isDone = true
      deadline.removeEventListener("abort", onDeadline)
      if (isTruncated) client.destroy()
      settle({
        status: received.statusCode ?? 0,
        headers: headersOf(received),
        body: Buffer.concat(chunks).subarray(0, bytesMax),
        isTruncated
      })
    }
    received.on("data", (chunk: Buffer) => {
      if (size < bytesMax) chunks.push(chunk)
      size += chunk.length
      if (size > bytesMax) finish(true)
    })
    received.on("end", () => finish(false))
    received.on("error", () => finish(true))
    received.on("close", () => finish(true))
    if (deadline.aborted) finish(true)
    else deadline.addEventListener("abort", onDeadline)
  })

type Bounds = Pick<OutboundOpening, "responseBytesMax" | "total_ms" | "silence_ms">

/** The next chunk, or the failure of the bound reached first. The idle timer runs only while somebody waits. */
const nextPiece = async (
  reader: AsyncIterator<Buffer>,
  { silence_ms, total_ms }: Bounds,
  began: number
): Promise<IteratorResult<Buffer>> => {
  const left_ms = began + total_ms - performance.now()
  const message =
    left_ms < silence_ms
      ? `The answer did not end within ${total_ms / 1_000} s`
      : `The answer stood still for ${silence_ms / 1_000} s`
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new OutboundFailure({ kind: "timeout", message })),
      Math.max(0, Math.min(left_ms, silence_ms))
    )
  })
  const next = reader.next()
  next.catch(() => {})
  try {
    return await Promise.race([next, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Yields chunks of the body on demand: the rest stays with the sender. `began` is the start of the call. */
export async function* pieces(
  { client, received }: OpenResponse,
  bounds: Bounds,
  began: number
): AsyncGenerator<Buffer> {
  const reader = received[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  let size = 0
  try {
    for (;;) {
      const { done, value } = await nextPiece(reader, bounds, began)
      if (done === true) break
      size += value.length
      if (size > bounds.responseBytesMax)
        throw new OutboundFailure({
          kind: "too_large",
          message: `The answer has more than ${bounds.responseBytesMax} bytes`
        })
      yield value
    }
    if (!received.complete)
      throw new OutboundFailure({ kind: "connection", message: "The connection was closed before the answer's end" })
  } finally {
    if (!received.complete) client.destroy()
  }
}
