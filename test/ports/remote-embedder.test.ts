/** Servers of embedding models: answers as their documentation describes them, and faulty ones. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { Effect, Layer } from "effect"
import { layer as layerOutboundHttp } from "../../src/ports/outbound-http/node.ts"
import { makeRemoteEmbedder, type RemoteOrder } from "../../src/ports/text-embedder/remote/remote-embedder.ts"
import type { RemoteKind } from "../../src/ports/text-embedder/remote/providers.ts"
import { DIMENSIONS, type EmbeddingServer, startEmbeddingServer, vectorOf } from "../support/embedding-server.ts"

let server: EmbeddingServer
beforeAll(async () => {
  server = await startEmbeddingServer()
})
afterAll(() => server.close())
beforeEach(() => {
  server.asked.splice(0)
  server.misbehaves = undefined
})

const order = (kind: RemoteKind, more: Partial<RemoteOrder> = {}): RemoteOrder => ({
  organizationId: "org_a",
  model: { kind, model: "words", url: server.url, apiKey: "secret-key" },
  texts: ["a red lamp", "a cup"],
  purpose: "document",
  dimensions: undefined,
  timeout_ms: 2_000,
  tries: 3,
  ...more
})
const embed = (asked: RemoteOrder) =>
  Effect.runPromise(
    Effect.result(Effect.flatMap(makeRemoteEmbedder, (embedder) => embedder.embed(asked))).pipe(
      Effect.provide(layerOutboundHttp({ allowPrivateAddresses: true }) as Layer.Layer<any>)
    ) as Effect.Effect<any>
  )
const failureOf = async (asked: RemoteOrder): Promise<{ message: string; isFinal: boolean; isOfInput: boolean }> => {
  const made = await embed(asked)
  if (made._tag === "Success") throw new Error("It did not fail.")
  return made.failure
}

describe("servers of embedding models", () => {
  const shapes: ReadonlyArray<readonly [RemoteKind, string, Record<string, unknown>]> = [
    ["openai", "/v1/embeddings", { model: "words", input: ["a red lamp", "a cup"], encoding_format: "float" }],
    ["jina", "/v1/embeddings", { model: "words", input: ["a red lamp", "a cup"], task: "retrieval.passage" }],
    [
      "cohere",
      "/v2/embed",
      {
        model: "words",
        texts: ["a red lamp", "a cup"],
        input_type: "search_document",
        embedding_types: ["float"],
        truncate: "END"
      }
    ],
    ["ollama", "/api/embed", { model: "words", input: ["a red lamp", "a cup"], truncate: true }],
    ["tei", "/embed", { inputs: ["a red lamp", "a cup"], truncate: true, normalize: true }]
  ]
  it.each(shapes)("%s is called and read as it is documented", async (kind, path, body) => {
    const made = await embed(order(kind))
    expect(made._tag).toBe("Success")
    expect(server.asked).toEqual([{ path, authorization: "Bearer secret-key", body }])
    for (const [i, text] of ["a red lamp", "a cup"].entries())
      for (const [at, x] of vectorOf(text).entries()) expect(made.success.vectors[i][at]).toBeCloseTo(x, 5)
    expect(made.success.inputTokens).toBe(kind === "tei" ? 5 : 7)
  })

  it("base addresses with the whole path, a part of it or none of it mean the same", async () => {
    for (const url of [
      server.url,
      `${server.url}/`,
      `${server.url}/v1`,
      `${server.url}/v1/`,
      `${server.url}/v1/embeddings`
    ])
      await embed(order("openai", { model: { kind: "openai", model: "words", url } }))
    expect(server.asked.map(({ path }) => path)).toEqual(new Array(5).fill("/v1/embeddings"))
    expect(server.asked[0]!.authorization).toBeUndefined()
  })

  it("equal texts are sent once, and many in batches that the server accepts", async () => {
    const texts = Array.from({ length: 200 }, (_, i) => `text ${i % 70}`)
    const made = await embed(order("tei", { texts }))
    expect(server.asked.map(({ body }) => (body.inputs as string[]).length)).toEqual([32, 32, 6])
    expect(made.success.vectors).toHaveLength(200)
    expect(made.success.vectors[75]).toEqual(made.success.vectors[5])
  })

  it("429 and 5xx are retried after Retry-After, and other refusals are not", async () => {
    let refused = 0
    server.misbehaves = (_asked, response) => {
      if (++refused > 2) return false
      response.writeHead(refused === 1 ? 429 : 503, { "retry-after": "0" })
      response.end()
      return true
    }
    expect((await embed(order("openai")))._tag).toBe("Success")
    expect(server.asked).toHaveLength(3)
    server.asked.splice(0)
    server.misbehaves = (_asked, response) => {
      response.writeHead(500, { "retry-after": "0" })
      response.end("out of memory")
      return true
    }
    expect(await failureOf(order("openai", { tries: 2 }))).toMatchObject({
      isFinal: false,
      message: "The server of the model `openai/words` answered 500: out of memory."
    })
    expect(server.asked).toHaveLength(2)
    server.asked.splice(0)
    server.misbehaves = (_asked, response) => {
      response.writeHead(401)
      response.end(JSON.stringify({ error: "Incorrect API key: secret-key" }))
      return true
    }
    expect(await failureOf(order("openai"))).toMatchObject({
      isFinal: true,
      isOfInput: false,
      message: "The server of the model `openai/words` refused the credential (401)."
    })
    expect(server.asked).toHaveLength(1)
  })

  it("an invalid answer is reported: other dimensions, too few vectors, no JSON, a body that does not end", async () => {
    const answers: ReadonlyArray<readonly [(response: import("node:http").ServerResponse) => void, string]> = [
      [
        (response) =>
          response.end(
            JSON.stringify({
              data: [
                { index: 0, embedding: [1, 2] },
                { index: 1, embedding: [1] }
              ]
            })
          ),
        "answered a vector of 2 dimensions, and 64 were expected"
      ],
      [(response) => response.end(JSON.stringify({ data: [] })), "answered 0 vectors for 2 texts"],
      [(response) => response.end("{}"), "answered something that holds no vectors"],
      [(response) => response.end("<html>"), "answered something that is not JSON"],
      [
        (response) => response.end('{"data":[{"index":0,"embedding":[1,null]},{"index":1,"embedding":["a"]}]}'),
        "answered a vector that is not a list of numbers"
      ]
    ]
    for (const [answer, message] of answers) {
      server.misbehaves = (_asked, response) => {
        response.writeHead(200)
        answer(response)
        return true
      }
      expect((await failureOf(order("openai", { dimensions: DIMENSIONS }))).message).toContain(message)
    }
    server.misbehaves = (_asked, response) => {
      response.writeHead(200)
      const timer = setInterval(() => response.write(" ".repeat(64_000)), 1)
      response.on("close", () => clearInterval(timer))
      return true
    }
    const endless = await failureOf(order("openai", { tries: 1, timeout_ms: 1_500 }))
    expect(endless.message).toMatch(/16 MB, or did not end|cannot be asked/)
  })

  it("one organization sends four requests at once, and another does not wait for it", async () => {
    const waiting: Array<() => void> = []
    server.misbehaves = (asked, response) => {
      if (!String((asked.body.input as string[])[0]).startsWith("slow")) return false
      waiting.push(() => {
        response.writeHead(503)
        response.end()
      })
      return true
    }
    const embedder = makeRemoteEmbedder.pipe(
      Effect.provide(layerOutboundHttp({ allowPrivateAddresses: true }) as Layer.Layer<any>)
    ) as Effect.Effect<any>
    const asking = Effect.runPromise(
      Effect.gen(function* () {
        const remote = yield* embedder
        const slow = Array.from({ length: 6 }, (_, i) =>
          Effect.runPromise(Effect.result(remote.embed(order("openai", { texts: [`slow ${i}`], tries: 1 }))))
        )
        yield* Effect.promise(() => expect.poll(() => waiting.length, { timeout: 60_000 }).toBe(4))
        const other = yield* remote.embed(order("openai", { organizationId: "org_b" }))
        expect(other.vectors).toHaveLength(2)
        expect(waiting).toHaveLength(4)
        for (const answer of waiting.splice(0)) answer()
        yield* Effect.promise(() => expect.poll(() => waiting.length, { timeout: 60_000 }).toBe(2))
        for (const answer of waiting.splice(0)) answer()
        yield* Effect.promise(() => Promise.all(slow))
      }) as Effect.Effect<void>
    )
    await asking
  })
})
