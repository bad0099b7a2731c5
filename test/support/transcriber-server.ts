/**
 * A transcription server on loopback, with the public interfaces: OpenAI's form, Deepgram's raw body, AssemblyAI's
 * upload, order and poll. It hears what it is given, and can be set to misbehave.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { readWav } from "../../src/ports/audio-decoder/wav.ts"

interface HeardWord {
  readonly text: string
  readonly confidence: number
}
interface AskedOfServer {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage["headers"]
  readonly body: Buffer
}
export interface TranscriberServer {
  readonly url: string
  readonly asked: Array<AskedOfServer>
  /** The speech in whatever it receives. */ says: ReadonlyArray<HeardWord>
  /** Number of polls that find an order in progress. */ looksBefore: number
  misbehaves: ((asked: AskedOfServer, response: ServerResponse) => boolean) | undefined
  readonly close: () => Promise<void>
}
export const saying = (text: string, confidence = 0.5): ReadonlyArray<HeardWord> =>
  text
    .split(" ")
    .filter((word) => word !== "")
    .map((each) => ({ text: each, confidence }))

/** The audio of a form, or nothing. */
const fileIn = ({ body, headers }: AskedOfServer): Buffer | undefined => {
  const boundary = /boundary=(\S+)/.exec(headers["content-type"] ?? "")?.[1]
  const from = body.indexOf("\r\n\r\n", body.indexOf('name="file"'))
  const to = body.indexOf(`\r\n--${boundary}--`)
  return boundary === undefined || from < 0 || to < 0 ? undefined : body.subarray(from + 4, to)
}

export const startTranscriberServer = async (): Promise<TranscriberServer> => {
  let looks = 0
  const answerTo = (asked: AskedOfServer): unknown => {
    const text = made.says.map((word) => word.text).join(" ")
    const timed = made.says.map((word, i) => ({ ...word, start: 0.3 * i, end: 0.3 * i + 0.25 }))
    if (asked.path.endsWith("/audio/transcriptions")) {
      readWav(fileIn(asked)!, 400)
      return { text }
    }
    if (asked.path.endsWith("/v1/listen")) {
      readWav(asked.body, 400)
      const words = timed.map(({ text: word, ...each }) => ({ ...each, word, punctuated_word: word }))
      return { results: { channels: [{ detected_language: "en", alternatives: [{ transcript: text, words }] }] } }
    }
    if (asked.path.endsWith("/v2/upload")) {
      readWav(asked.body, 400)
      return { upload_url: `${made.url}/uploads/1` }
    }
    if (asked.method === "POST") {
      looks = 0
      return { id: "order-1", status: "queued" }
    }
    if (looks++ < made.looksBefore) return { id: "order-1", status: looks === 1 ? "queued" : "processing" }
    const words = timed.map(({ end, start, ...each }) => ({ ...each, start: start * 1_000, end: end * 1_000 }))
    return { id: "order-1", status: "completed", text, words, language_code: "en_us" }
  }
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const pieces: Array<Buffer> = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const { pathname, searchParams } = new URL(request.url!, "http://localhost")
    // It transcribes only recordings, as most servers of this interface do.
    if (pathname.endsWith("/v1/realtime")) return void response.writeHead(404).end("{}")
    const asked: AskedOfServer = {
      method: request.method!,
      path: pathname,
      query: searchParams,
      headers: request.headers,
      body: Buffer.concat(pieces)
    }
    made.asked.push(asked)
    if (made.misbehaves?.(asked, response) === true) return
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answerTo(asked)))
  }
  const server = createServer((request, response) => {
    take(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const made: TranscriberServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: [],
    says: [],
    looksBefore: 0,
    misbehaves: undefined,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      })
  }
  return made
}
