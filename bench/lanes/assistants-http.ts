/**
 * How long an assistant's answer takes over HTTP, including everything around it (credits, memory, the search), and
 * what 200 simultaneous answers of a slow model cost. The model is a server in this process that writes a word every
 * `WORD_MS`; its own time does not count as the program's.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { percentiles, processorSeconds, readLines, round } from "../harness/harness.ts"
import { type RunningProgram, startServer } from "../harness/program.ts"

const STREAMS = 200,
  WORDS = 50,
  WORD_MS = 100
const QUESTIONS = 400

/** Writes one word at a time, as servers of the OpenAI API do. */
const write = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  let body = ""
  try {
    for await (const piece of request) body += String(piece)
  } catch {
    // The reader disconnected.
    return void response.destroy()
  }
  // The request that asks the model for a name.
  if (!body.includes('"stream":true')) {
    const message = { role: "assistant", content: "hello" }
    return void response.end(JSON.stringify({ choices: [{ message, finish_reason: "stop" }] }))
  }
  response.writeHead(200, { "content-type": "text/event-stream" })
  let left = WORDS
  const chunk = (delta: object, finish_reason: string | null) =>
    response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`)
  const writing = setInterval(() => {
    if (left-- > 0) return void chunk({ content: "word " }, null)
    clearInterval(writing)
    chunk({}, "stop")
    response.end("data: [DONE]\n\n")
  }, WORD_MS)
  response.on("close", () => clearInterval(writing))
}
const startWriter = async () => {
  const server = createServer((request, response) => void write(request, response))
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/v1`, stop: () => new Promise<unknown>((settle) => server.close(settle)) }
}

const callOf =
  ({ base, full_key }: RunningProgram) =>
  async (method: string, path: string, body: string): Promise<any> => {
    const response = await fetch(`${base}${path}`, { method, headers: { "x-svc-api-key": full_key }, body })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text.slice(0, 300)}`)
    return path.endsWith("/import") ? text : JSON.parse(text)
  }
type Call = ReturnType<typeof callOf>
const asked = (content: string, more: object = {}) => JSON.stringify({ messages: [{ role: "user", content }], ...more })

/** One after the other. */
const alone = async (call: Call, path: string, questions: ReadonlyArray<string>) => {
  const times: Array<number> = []
  for (const question of questions) {
    const began = performance.now()
    await call("POST", path, asked(question))
    times.push(performance.now() - began)
  }
  const { p50_ms, p99_ms } = percentiles(times)
  return { p50_ms: round(p50_ms, 2), p99_ms: round(p99_ms, 2) }
}
/** All at the same time, each read to its end. Returns the time to each first frame and the delay of each last. */
const atOnce = async ({ base, full_key, pid }: RunningProgram, path: string, questions: ReadonlyArray<string>) => {
  const firsts: Array<number> = [],
    lates: Array<number> = []
  const before = processorSeconds(pid).process,
    began = performance.now()
  await Promise.all(
    Array.from({ length: STREAMS }, async (_, n) => {
      const own = performance.now()
      const response = await fetch(`${base}${path}`, {
        method: "POST",
        headers: { "x-svc-api-key": full_key },
        body: asked(questions[n % questions.length]!, { stream: true })
      })
      let text = ""
      for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
        if (text === "") firsts.push(performance.now() - own)
        text += new TextDecoder().decode(piece)
      }
      if (!text.includes("event: done")) throw new Error(`A stream ended so: ${text.slice(-300)}`)
      lates.push(performance.now() - own - (WORDS + 1) * WORD_MS)
    })
  )
  const seconds = (performance.now() - began) / 1_000
  return {
    streams: STREAMS,
    seconds: round(seconds, 1),
    "share of a core": round((processorSeconds(pid).process - before) / seconds, 3),
    first_frame_p50_ms: round(percentiles(firsts).p50_ms, 1),
    late_p50_ms: round(percentiles(lates).p50_ms, 1),
    late_p99_ms: round(percentiles(lates).p99_ms, 1)
  }
}

export const measureHttp = async (data: string) => {
  const server = await startServer([
    "--allow-private-addresses",
    "--credit-prices",
    "assistant_answer=0,assistant_extract=0"
  ])
  const writer = await startWriter()
  try {
    const call = callOf(server)
    const fields = [{ name: "text_en", type: "string", locale: "en" }]
    await call("POST", "/collections", JSON.stringify({ name: "passages", fields }))
    const documents = await readLines(join(data, "docs.jsonl.gz"))
    await call("POST", "/collections/passages/documents/import", documents.join("\n"))
    const questions = (await readLines(join(data, "queries.jsonl.gz")))
      .map((line) => JSON.parse(line) as { readonly lang: string; readonly text: string })
      .filter(({ lang }) => lang === "en")
      .slice(0, QUESTIONS)
      .map(({ text }) => text)
    const body = { name: "bench", collections: ["passages"], refuse_without_sources: false }
    const { id } = await call("POST", "/assistants", JSON.stringify(body))
    const path = `/assistants/${id}/chat/completions`
    await alone(call, path, questions.slice(0, 50))
    const extractive = await alone(call, path, questions)
    const provider = { kind: "openai", model: "words", url: writer.url }
    await call("PUT", "/ai/providers/generator", JSON.stringify(provider))
    return { "one after the other": extractive, "at once, written by a model": await atOnce(server, path, questions) }
  } finally {
    await server.stop()
    await writer.stop()
  }
}
