/** Servers of writing models: answers as their documentation describes them, and faulty ones. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { Effect, Fiber, Layer, Stream } from "effect"
import {
  type GenerateRequest,
  type GenerationFailed,
  Generator,
  type GeneratorKind,
  generatorKinds,
  type GeneratorPiece
} from "../../src/ports/generator/generator.ts"
import { EventLines } from "../../src/ports/generator/remote/event-lines.ts"
import { layer as remoteLayer } from "../../src/ports/generator/remote/remote-generator.ts"
import { layer as layerOutboundHttp } from "../../src/ports/outbound-http/node.ts"
import { type GeneratorServer, startGeneratorServer } from "../support/generator-server.ts"

const KEY = "secret-key-of-a-tenant"
let server: GeneratorServer
beforeAll(async () => {
  server = await startGeneratorServer()
})
afterAll(() => server.close())
beforeEach(() => {
  server.asked.splice(0)
  server.misbehaves = undefined
  server.words = ["Lamps", " are ", "bright."]
  server.left = 0
})

const order = (kind: GeneratorKind, more: Partial<GenerateRequest> = {}): GenerateRequest => ({
  organizationId: "org_a",
  model: { kind, model: "words", url: server.url, api_key: KEY },
  messages: [
    { role: "system", content: "Be brief." },
    { role: "user", content: "What are lamps?" }
  ],
  maxTokens: 50,
  timeout_ms: 2_000,
  ...more
})
const provided = <A, E>(work: Effect.Effect<A, E, Generator>, allowPrivateAddresses = true) =>
  Effect.provide(work, Layer.provide(remoteLayer, layerOutboundHttp({ allowPrivateAddresses })))
const complete = (asked: GenerateRequest, isPrivateAllowed = true) =>
  Effect.runPromise(
    provided(
      Effect.flatMap(Generator, (generator) => generator.complete(asked)),
      isPrivateAllowed
    )
  )
const stream = (asked: GenerateRequest) =>
  Effect.runPromise(provided(Effect.flatMap(Generator, (generator) => Stream.runCollect(generator.stream(asked)))))
const failureOf = async (work: Promise<unknown>): Promise<GenerationFailed> =>
  work.then(
    () => {
      throw new Error("It did not fail.")
    },
    (error: unknown) => error as GenerationFailed
  )
const textOf = (pieces: ReadonlyArray<GeneratorPiece>) =>
  pieces.map((piece) => (piece.kind === "text" ? piece.text : "")).join("")
const streamHead = (response: import("node:http").ServerResponse) =>
  response.writeHead(200, { "content-type": "text/event-stream" })
/** The first word of an answer, in the format of each interface. */
const firstWord: ReadonlyMap<GeneratorKind, string> = new Map([
  ["openai", `data: ${JSON.stringify({ choices: [{ delta: { content: "Lamps" } }] })}\n\n`],
  [
    "anthropic",
    `data: ${JSON.stringify({ type: "content_block_delta", delta: { type: "text_delta", text: "Lamps" } })}\n\n`
  ],
  ["ollama", `${JSON.stringify({ message: { content: "Lamps" }, done: false })}\n`]
])

const USAGE = { input_tokens: 11, output_tokens: 3 }
describe.each(generatorKinds)("a server of %s", (kind) => {
  it("answers a complete text with its usage", async () => {
    expect(await complete(order(kind))).toEqual({ text: "Lamps are bright.", finish: "stop", usage: USAGE })
  })
  it("answers word by word, and marks the end", async () => {
    const pieces = await stream(order(kind))
    expect(pieces).toEqual([
      { kind: "text", text: "Lamps" },
      { kind: "text", text: " are " },
      { kind: "text", text: "bright." },
      { kind: "end", finish: "stop", usage: USAGE }
    ])
  })
  it("is busy: the request is repeated after the time that it names, and then fails as busy", async () => {
    for (const ask of [complete, stream]) {
      server.asked.splice(0)
      server.misbehaves = (_, response) => {
        if (server.asked.length > 1) return false
        response.writeHead(429, { "retry-after": "0.02" }).end("slow down")
        return true
      }
      await ask(order(kind))
      expect(server.asked).toHaveLength(2)
      server.misbehaves = (_, response) => {
        response.writeHead(429, { "retry-after": "0" }).end(`slow down ${KEY}`)
        return true
      }
      const failure = await failureOf(ask(order(kind, { tries: 3 })))
      expect(server.asked).toHaveLength(5)
      expect(failure).toMatchObject({ _tag: "GenerationFailed", kind: "busy" })
      expect(failure.message).toContain("429: slow down …")
      expect(failure.message).not.toContain(KEY)
    }
  })
  it("refuses the credential: no repetition, and the failure says who must act", async () => {
    server.misbehaves = (_, response) => {
      response.writeHead(401).end("no")
      return true
    }
    for (const ask of [complete, stream])
      expect(await failureOf(ask(order(kind)))).toMatchObject({
        kind: "refused",
        message: expect.stringMatching(/401/)
      })
    expect(server.asked).toHaveLength(2)
  })
  it("does not answer: the request ends at its timeout, also in the middle of an answer", async () => {
    server.misbehaves = () => true
    for (const ask of [complete, stream])
      expect(await failureOf(ask(order(kind, { timeout_ms: 150 })))).toMatchObject({ kind: "timeout" })
    server.misbehaves = (asked, response) => {
      if (asked.body.stream === true) streamHead(response).write(firstWord.get(kind)!)
      else response.writeHead(200).write("{")
      return true
    }
    for (const ask of [complete, stream])
      expect(await failureOf(ask(order(kind, { timeout_ms: 250 })))).toMatchObject({ kind: "timeout" })
  })
  it("breaks its answer off: the words before are delivered, and the failure is not retried", async () => {
    for (const isCut of [true, false]) {
      server.asked.splice(0)
      server.misbehaves = (_, response) => {
        streamHead(response).write(firstWord.get(kind)!)
        setTimeout(() => (isCut ? response.destroy() : response.end()), 30)
        return true
      }
      const seen: string[] = []
      const failure = await failureOf(
        Effect.runPromise(
          provided(
            Effect.flatMap(Generator, (generator) =>
              Stream.runForEach(generator.stream(order(kind)), (piece) =>
                Effect.sync(() => void (piece.kind === "text" && seen.push(piece.text)))
              )
            )
          )
        )
      )
      expect(failure).toMatchObject({ _tag: "GenerationFailed", kind: "failed" })
      expect(seen).toEqual(["Lamps"])
      expect(server.asked).toHaveLength(1)
    }
  })
  it("never ends its answer, which is cut off at its bound", async () => {
    server.misbehaves = (asked, response) => {
      const isStream = asked.body.stream === true
      const piece = isStream
        ? firstWord.get(kind)!.replace("Lamps", "x".repeat(50_000))
        : JSON.stringify("x".repeat(50_000))
      streamHead(response)
      const write = () => {
        while (!response.destroyed) if (!response.write(piece)) return void response.once("drain", write)
      }
      write()
      return true
    }
    for (const ask of [complete, stream])
      expect(await failureOf(ask(order(kind, { timeout_ms: 20_000 })))).toMatchObject({ kind: "failed" })
  })
  it("answers in a format that is not its interface's", async () => {
    for (const body of ["<html>", "[]", '{"choices":[]}', "null"]) {
      server.misbehaves = (_, response) => {
        response.writeHead(200).end(body)
        return true
      }
      expect(await failureOf(complete(order(kind)))).toMatchObject({ kind: "refused" })
      expect(await failureOf(stream(order(kind)))).toMatchObject({ kind: "failed" })
    }
  })
  it("is cancelled: the connection closes when the reader stops", async () => {
    server.misbehaves = (_, response) => {
      streamHead(response).write(firstWord.get(kind)!)
      return true
    }
    const first = await Effect.runPromise(
      provided(Effect.flatMap(Generator, (each) => Stream.runCollect(Stream.take(each.stream(order(kind)), 1))))
    )
    expect(textOf(first)).toBe("Lamps")
    await expect.poll(() => server.left, { timeout: 2_000 }).toBe(1)
    server.misbehaves = () => true
    const running = Effect.runFork(provided(Effect.flatMap(Generator, (each) => each.complete(order(kind)))))
    await expect.poll(() => server.asked.length, { timeout: 2_000 }).toBe(2)
    await Effect.runPromise(Fiber.interrupt(running))
    await expect.poll(() => server.left, { timeout: 2_000 }).toBe(2)
  })
  it("has a private address, where those are not allowed", async () => {
    expect(await failureOf(complete(order(kind), false))).toMatchObject({ kind: "refused" })
    expect(server.asked).toEqual([])
  })
})

describe("requests", () => {
  it("openai", async () => {
    await complete(order("openai", { isJson: true, temperature: 0 }))
    await stream(order("openai"))
    const { messages } = order("openai")
    expect(server.asked.map(({ path }) => path)).toEqual(["/v1/chat/completions", "/v1/chat/completions"])
    expect(server.asked[0]!.headers.authorization).toBe(`Bearer ${KEY}`)
    expect(server.asked.map(({ body }) => body)).toEqual([
      { model: "words", messages, max_tokens: 50, temperature: 0, response_format: { type: "json_object" } },
      { model: "words", messages, max_tokens: 50, stream: true, stream_options: { include_usage: true } }
    ])
  })
  it("anthropic", async () => {
    await complete(order("anthropic"))
    await stream(order("anthropic", { isJson: true }))
    const [whole, streamed] = server.asked
    expect(whole!.path).toBe("/v1/messages")
    expect(whole!.headers).toMatchObject({ "x-api-key": KEY, "anthropic-version": "2023-06-01" })
    expect(whole!.headers.authorization).toBeUndefined()
    expect(whole!.body).toEqual({
      model: "words",
      max_tokens: 50,
      system: "Be brief.",
      messages: [{ role: "user", content: "What are lamps?" }]
    })
    expect(streamed!.body).toMatchObject({ stream: true, system: expect.stringMatching(/^Be brief\.\n\n.*JSON/) })
  })
  it("ollama", async () => {
    await complete(
      order("ollama", { model: { kind: "ollama", model: "words", url: `${server.url}/api` }, isJson: true })
    )
    expect(server.asked[0]!.path).toBe("/api/chat")
    expect(server.asked[0]!.headers.authorization).toBeUndefined()
    expect(server.asked[0]!.body).toEqual({
      model: "words",
      messages: order("ollama").messages,
      stream: false,
      format: "json",
      options: { num_predict: 50 }
    })
    expect(await failureOf(complete(order("ollama", { model: { kind: "ollama", model: "words" } })))).toMatchObject({
      kind: "refused",
      message: expect.stringMatching(/name a `url`/)
    })
  })
})

describe("the ends of answers", () => {
  const ending = async (events: ReadonlyArray<unknown>) => {
    server.misbehaves = (_, response) => {
      streamHead(response)
      for (const event of events)
        response.write(`data: ${typeof event === "string" ? event : JSON.stringify(event)}\r\n\r\n`)
      response.end()
      return true
    }
    return (await stream(order("openai"))).at(-1)
  }
  const chunk = (content: string, finish_reason: string | null = null) => ({
    choices: [{ delta: { content }, finish_reason }]
  })
  it("are recognised when a server omits its last event, and counted when it does not count", async () => {
    expect(await ending([chunk("12345678"), chunk("", "length")])).toEqual({
      kind: "end",
      finish: "length",
      usage: { input_tokens: 6, output_tokens: 2 }
    })
    expect(await ending([chunk("a"), chunk("", "content_filter"), "[DONE]"])).toMatchObject({ finish: "filtered" })
  })
  it("are failures when the server reports an error in the middle", async () => {
    const failure = await failureOf(
      ending([chunk("a"), { error: { type: "overloaded_error", message: `too many for ${KEY}` } }])
    )
    expect(failure).toMatchObject({ kind: "busy", message: expect.stringContaining("too many for …") })
  })
  it("do not wait for another organization's", async () => {
    server.misbehaves = (asked) => asked.body.messages[0].content === "hang"
    const hanging = { messages: [{ role: "user", content: "hang" }], timeout_ms: 1_500 } as const
    const work = Effect.flatMap(Generator, (generator) =>
      Effect.gen(function* () {
        const all = [...new Array(20)].map(() => Effect.exit(generator.complete(order("openai", hanging))))
        const waiting = yield* Effect.forkChild(Effect.all(all, { concurrency: "unbounded" }))
        yield* Effect.sleep(200)
        const atOnce = server.asked.length
        const other = yield* generator.complete(order("openai", { organizationId: "org_b" }))
        yield* Fiber.interrupt(waiting)
        return { atOnce, other }
      })
    )
    const { atOnce, other } = await Effect.runPromise(provided(work))
    expect(atOnce).toBe(8)
    expect(other.text).toBe("Lamps are bright.")
  })
})

describe("events in pieces", () => {
  it("are decoded the same wherever the bytes are split", () => {
    const bytes = new TextEncoder().encode(': ping\r\n\r\nevent: a\ndata: {"t":"ä–🪔"}\n\ndata:one\ndata: two\n\n')
    for (let cut = 0; cut <= bytes.length; cut++) {
      const lines = new EventLines(true, 1_000)
      const events = [...lines.push(bytes.subarray(0, cut))!, ...lines.push(bytes.subarray(cut))!, ...lines.end()]
      expect(events).toEqual(['{"t":"ä–🪔"}', "one\ntwo"])
    }
  })
})
