/**
 * A server of an embedding model on loopback, with the public interfaces: the vector of a text is made from its words'
 * hashes, so that texts with common words are near; the words of one list of synonyms count as the same word. It can be
 * set to be slow, to refuse, and to send wrong answers.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

export const DIMENSIONS = 64
/** Words with the same meaning. */
const MEANINGS: ReadonlyArray<ReadonlyArray<string>> = [
  ["sofa", "couch", "settee"],
  ["lamp", "light", "lantern"],
  ["mug", "cup", "beaker"]
]
const meaningOf = (word: string): string => MEANINGS.find((words) => words.includes(word))?.[0] ?? word

export const vectorOf = (text: string): ReadonlyArray<number> => {
  const vector = new Array<number>(DIMENSIONS).fill(0)
  for (const word of text
    .toLowerCase()
    .split(/\W+/)
    .filter((each) => each !== "")) {
    let hash = 7
    for (const character of meaningOf(word)) hash = (Math.imul(hash, 31) + character.codePointAt(0)!) >>> 0
    vector[hash % DIMENSIONS]! += 1
  }
  const length = Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0)) || 1
  return vector.map((x) => x / length)
}

interface AskedOfServer {
  readonly path: string
  readonly authorization: string | undefined
  readonly body: Record<string, unknown>
}
type Misbehaviour = (asked: AskedOfServer, response: ServerResponse) => boolean

const textsOf = (body: Record<string, unknown>): ReadonlyArray<string> => {
  const given = body.input ?? body.inputs ?? body.texts
  return Array.isArray(given) ? (given as string[]) : [String(given)]
}
const answerOf = (path: string, body: Record<string, unknown>): unknown => {
  // A model that reads natural-language searches; its answer is empty.
  if (path.endsWith("/chat/completions"))
    return { object: "chat.completion", choices: [{ index: 0, message: { role: "assistant", content: "{}" } }] }
  if (path.endsWith("/rerank")) {
    const texts = (body.documents ?? body.texts) as string[]
    const query = vectorOf(String(body.query))
    const scored = texts.map((text, index) => {
      const score = vectorOf(text).reduce((sum, x, i) => sum + x * query[i]!, 0)
      return { index, score, relevance_score: score }
    })
    return body.texts === undefined ? { results: scored } : scored
  }
  const vectors = textsOf(body).map(vectorOf)
  if (path.endsWith("/v2/embed")) return { embeddings: { float: vectors }, meta: { billed_units: { input_tokens: 7 } } }
  if (path.endsWith("/api/embed")) return { embeddings: vectors, prompt_eval_count: 7 }
  if (path.endsWith("/embed")) return vectors
  // Last one first: the client must go by the index.
  const data = vectors.map((embedding, index) => ({ object: "embedding", index, embedding })).reverse()
  return { object: "list", data, usage: { prompt_tokens: 7, total_tokens: 7 } }
}

export interface EmbeddingServer {
  readonly url: string
  readonly asked: Array<AskedOfServer>
  /** Answers in place of the server if the behaviour says so; undefined: the server answers normally. */
  misbehaves: Misbehaviour | undefined
  readonly close: () => Promise<void>
}

export const startEmbeddingServer = async (): Promise<EmbeddingServer> => {
  const asked: Array<AskedOfServer> = []
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const pieces: Array<Buffer> = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const body = JSON.parse(Buffer.concat(pieces).toString("utf8")) as Record<string, unknown>
    const one: AskedOfServer = { path: request.url!, authorization: request.headers.authorization, body }
    asked.push(one)
    if (made.misbehaves?.(one, response) === true) return
    response.writeHead(200, { "content-type": "application/json" })
    response.end(JSON.stringify(answerOf(request.url!, body)))
  }
  const server = createServer((request, response) => void take(request, response).catch(() => response.destroy()))
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle))
  const made: EmbeddingServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    misbehaves: undefined,
    close: async () => {
      server.closeAllConnections()
      await new Promise((settle) => server.close(settle))
    }
  }
  return made
}
