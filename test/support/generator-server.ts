/**
 * A server of generative models on loopback, with the public interfaces: it answers with the words it is given, in one
 * piece or streamed. It can be set to misbehave, and records when a connection closes before its answer ended.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

interface AskedOfServer {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Record<string, any>
}
export interface GeneratorServer {
  readonly url: string
  readonly asked: Array<AskedOfServer>
  /** What it writes, one word at a time when it streams. */ words: ReadonlyArray<string>
  misbehaves: ((asked: AskedOfServer, response: ServerResponse) => boolean) | undefined
  /** Answers whose reader disconnected before the end. */ left: number
  readonly close: () => Promise<void>
}

const serverSent = (response: ServerResponse, events: ReadonlyArray<unknown>, isNamed = false) => {
  response.writeHead(200, { "content-type": "text/event-stream" })
  for (const event of events) {
    if (isNamed) response.write(`event: ${(event as { type: string }).type}\n`)
    response.write(`data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`)
  }
  response.end()
}
const openai = (words: ReadonlyArray<string>, { stream }: Record<string, any>, response: ServerResponse) => {
  const usage = { prompt_tokens: 11, completion_tokens: 3, total_tokens: 14 }
  if (stream !== true) {
    const message = { role: "assistant", content: words.join(""), reasoning_content: "SECRET THOUGHT" }
    return response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }], usage }))
  }
  const chunk = (delta: unknown, finish_reason: string | null = null) => ({
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason }]
  })
  serverSent(response, [
    chunk({ role: "assistant", content: "" }),
    chunk({ reasoning_content: "SECRET THOUGHT" }),
    ...words.map((content) => chunk({ content })),
    chunk({}, "stop"),
    // As some compatible servers end.
    { object: "chat.completion.chunk", choices: null, usage },
    "[DONE]"
  ])
}
const anthropic = (words: ReadonlyArray<string>, { stream }: Record<string, any>, response: ServerResponse) => {
  if (stream !== true) {
    const content = [
      { type: "thinking", thinking: "SECRET THOUGHT" },
      { type: "text", text: words.join("") }
    ]
    const usage = { input_tokens: 11, output_tokens: 3 }
    return response.end(JSON.stringify({ type: "message", content, stop_reason: "end_turn", usage }))
  }
  const delta = (part: unknown) => ({ type: "content_block_delta", index: 0, delta: part })
  serverSent(
    response,
    [
      { type: "message_start", message: { content: [], usage: { input_tokens: 11, output_tokens: 1 } } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "ping" },
      delta({ type: "thinking_delta", thinking: "SECRET THOUGHT" }),
      ...words.map((text) => delta({ type: "text_delta", text })),
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 3 } },
      { type: "message_stop" }
    ],
    true
  )
}
const ollama = (words: ReadonlyArray<string>, { stream }: Record<string, any>, response: ServerResponse) => {
  const last = { done: true, done_reason: "stop", prompt_eval_count: 11, eval_count: 3 }
  const line = (content: string) => ({
    message: { role: "assistant", content, thinking: "SECRET THOUGHT" },
    done: false
  })
  if (stream === false) return response.end(JSON.stringify({ ...line(words.join("")), ...last }))
  response.writeHead(200, { "content-type": "application/x-ndjson" })
  for (const content of words) response.write(`${JSON.stringify(line(content))}\n`)
  response.end(`${JSON.stringify({ message: { role: "assistant", content: "" }, ...last })}\n`)
}

export const startGeneratorServer = async (): Promise<GeneratorServer> => {
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const pieces: Array<Buffer> = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const body = JSON.parse(Buffer.concat(pieces).toString("utf8")) as Record<string, any>
    const one: AskedOfServer = { path: request.url!, headers: request.headers, body }
    made.asked.push(one)
    response.on("close", () => {
      if (!response.writableFinished) made.left++
    })
    if (made.misbehaves?.(one, response) === true) return
    if (one.path === "/v1/chat/completions") openai(made.words, body, response)
    else if (one.path === "/v1/messages") anthropic(made.words, body, response)
    else if (one.path === "/api/chat") ollama(made.words, body, response)
    else response.writeHead(404).end()
  }
  const server = createServer((request, response) => void take(request, response).catch(() => response.destroy()))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const made: GeneratorServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: [],
    words: ["Lamps", " are ", "bright."],
    misbehaves: undefined,
    left: 0,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
  return made
}
