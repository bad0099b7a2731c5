/**
 * Signed requests to a server of the S3 API, in path style. The operator names the server, so this does not use the
 * port for addresses that tenants choose. Bodies are streamed with their length and are not signed
 * (`UNSIGNED-PAYLOAD`), because their digest is not known beforehand; the connection is only as safe as the operator's
 * choice of https.
 */
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http"
import { Agent as HttpsAgent, request as requestHttps } from "node:https"
import { AwsV4Signer } from "aws4fetch"
import type { NewBlob } from "./blob-store.ts"
import { PiecesBroken } from "../piece-files.ts"

export interface S3Options {
  /** `https://host:port`, without a path. */ readonly endpoint: string
  readonly bucket: string
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string | undefined
  /** Prepended to every key: empty, or ending in a slash. */ readonly prefix: string
  /** Idle time after which a request is aborted. */ readonly silence_ms?: number
}
interface Asked {
  readonly method: "GET" | "PUT" | "DELETE"
  /** The path after the bucket; empty for the bucket itself. */ readonly key: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: NewBlob
}

const SILENCE_MS = 30_000
const CONNECTIONS_MAX = 32
/** Maximum size of an answer that is read as text: a list of a thousand keys, or an error. */
const TEXT_BYTES_MAX = 2_000_000

export const textOfAnswer = async (answer: IncomingMessage): Promise<string> => {
  const pieces: Array<Buffer> = []
  let bytes = 0
  for await (const piece of answer as AsyncIterable<Buffer>) {
    if ((bytes += piece.length) > TEXT_BYTES_MAX) throw new Error("The S3 server's answer is too long.")
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString("utf8")
}

/** Error codes of a connection that the server has closed. */
const CLOSED = new Set(["ECONNRESET", "EPIPE"])
class StaleConnection extends Error {}

/** Sends requests to one bucket. */
export class S3Requests {
  readonly #options: S3Options
  readonly #agent: HttpAgent
  /** Used if a request has a body: a kept connection that the server has closed would swallow part of it. */
  readonly #fresh: HttpAgent
  readonly #isSecure: boolean

  constructor(options: S3Options) {
    this.#options = options
    this.#isSecure = options.endpoint.startsWith("https:")
    const kept = { keepAlive: true, maxSockets: CONNECTIONS_MAX }
    this.#agent = this.#isSecure ? new HttpsAgent(kept) : new HttpAgent(kept)
    const once = { keepAlive: false, maxSockets: CONNECTIONS_MAX }
    this.#fresh = this.#isSecure ? new HttpsAgent(once) : new HttpAgent(once)
  }
  close(): void {
    this.#agent.destroy()
    this.#fresh.destroy()
  }

  async #signed({ headers = {}, key, method, query = {} }: Asked) {
    const { accessKeyId, bucket, endpoint, region, secretAccessKey, sessionToken } = this.#options
    const url = new URL(endpoint)
    url.pathname = key === "" ? `/${bucket}` : `/${bucket}/${key}`
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    const signer = new AwsV4Signer({
      method,
      url: url.href,
      headers: { ...headers },
      accessKeyId,
      secretAccessKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
      service: "s3",
      region
    })
    return signer.sign()
  }

  /** Resolves once the status line and headers have arrived; the caller reads the body. */
  async send(asked: Asked): Promise<IncomingMessage> {
    try {
      return await this.#once(asked)
    } catch (error) {
      // A request without a body is repeated once if the kept connection had already been closed.
      if (asked.body === undefined && error instanceof StaleConnection) return this.#once(asked)
      throw error
    }
  }
  async #once(asked: Asked): Promise<IncomingMessage> {
    const { headers, method, url } = await this.#signed(asked)
    const { body } = asked
    const request = (this.#isSecure ? requestHttps : requestHttp)(url, {
      method,
      agent: body === undefined ? this.#agent : this.#fresh,
      headers: {
        ...Object.fromEntries(headers),
        ...(body === undefined ? {} : { "content-length": String(body.length) })
      }
    })
    request.setTimeout(this.#options.silence_ms ?? SILENCE_MS, () =>
      request.destroy(new Error("The S3 server was silent for too long."))
    )
    let isReused = false
    request.on("socket", () => {
      isReused = request.reusedSocket
      // Deno would repeat such a request by itself and Node would not, so this class decides for both.
      request.reusedSocket = false
    })
    return new Promise((resolve, reject) => {
      request.on("response", resolve)
      request.on("error", (error: Error & { readonly code?: string }) =>
        reject(isReused && CLOSED.has(error.code ?? "") ? new StaleConnection(error.message) : error)
      )
      if (body === undefined) return void request.end()
      this.#write(request, body).catch((error: unknown) => {
        // The server's answer to an incomplete body does not matter.
        reject(error instanceof Error ? error : new Error(String(error)))
        request.destroy()
      })
    })
  }

  async #write(request: ReturnType<typeof requestHttp>, { length, pieces }: NewBlob): Promise<void> {
    const iterator = pieces[Symbol.asyncIterator]()
    /** A server may refuse before it has received everything; then the rest is not sent. */
    let isOver = false
    const over = new Promise<void>((resolve) => {
      for (const event of ["response", "close"])
        request.once(event, () => {
          isOver = true
          resolve()
        })
    })
    for (let sent = 0; ;) {
      const { done, value } = await iterator.next().catch((error: unknown) => {
        throw new PiecesBroken("source", error instanceof Error ? error.message : String(error))
      })
      if (done === true) {
        if (sent !== length) throw new PiecesBroken("too large", `It has ${sent} bytes instead of ${length}.`)
        return void request.end()
      }
      sent += value.length
      if (sent > length) {
        await iterator.return?.()
        throw new PiecesBroken("too large", `It has more than ${length} bytes.`)
      }
      if (!request.write(value))
        await Promise.race([new Promise<void>((resolve) => void request.once("drain", resolve)), over])
      if (isOver) return void (await iterator.return?.())
    }
  }
}
