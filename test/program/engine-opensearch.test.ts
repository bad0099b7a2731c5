/** API processes that own no engine and share a cluster: what one writes every other finds. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { freePort } from "../../src/runtime/free-port.ts"
import { opensearchOptionsOf } from "../../src/runtime/opensearch.ts"
import { kafkaMissing } from "../support/kafka.ts"
import { inInstallation, type Place, type Process, run } from "../support/installation.ts"
import { opensearchMissing, startTestCluster } from "../support/opensearch.ts"

const started = (place: Place, name: string, nodes: string, key?: string) =>
  Effect.gen(function* () {
    const port = yield* Effect.promise(freePort)
    const secret = key === undefined ? [] : ["--operator-key", key]
    return yield* run(
      place,
      name,
      ["start", "--mode", "distributed", "--engine", "opensearch", "--port", String(port), ...secret],
      { OPENSEARCH_NODES: nodes }
    )
  })
const call = (process: Process, key: string, method: string, path: string, body?: unknown) =>
  Effect.promise(async () => {
    const response = await fetch(`${process.ready.base_url}${path}`, {
      method,
      headers: { "X-SVC-API-KEY": key },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    return { status: response.status, body: (await response.json()) as any }
  })

const missing = kafkaMissing() ?? opensearchMissing()
if (missing !== undefined) it("API processes over one search cluster", (ctx) => ctx.skip(missing))
else
  it.live(
    "API processes over one search cluster find what another one wrote",
    () =>
      inInstallation(4, (place) =>
        Effect.gen(function* () {
          const cluster = yield* Effect.acquireRelease(
            Effect.promise(() => startTestCluster()),
            ({ stop }) => Effect.promise(stop)
          )
          const nodes = cluster.nodes.join(",")
          const first = yield* started(place, "a", nodes)
          const operatorKey = readFileSync(join(place.folder, "a", "operator.key"), "utf8").trim()
          const second = yield* started(place, "b", nodes, operatorKey)
          const key = first.ready.full_key!
          const made = yield* call(first, key, "POST", "/collections", {
            name: "shoes",
            fields: [
              { name: "title", type: "string" },
              { name: "price", type: "float", facet: true }
            ]
          })
          assert.strictEqual(made.status, 201)
          // A collection is known to the others within a second; what is written to it, at once.
          const known = yield* call(second, key, "GET", "/collections/shoes").pipe(
            Effect.repeat({ until: ({ status }) => status === 200, schedule: Schedule.spaced(100), times: 50 })
          )
          assert.strictEqual(known.status, 200)
          const search = "/collections/shoes/documents/search?q=runing&query_by=title&facet_by=price"
          for (const [i, process] of [first, second, first].entries()) {
            const document = { id: String(i), title: `Running shoe ${i}`, price: 10 * i }
            const written = yield* call(process, key, "POST", "/collections/shoes/documents", document)
            assert.deepStrictEqual([written.status, written.body], [201, document])
            for (const other of [first, second]) {
              const found = yield* call(other, key, "GET", search)
              assert.strictEqual(found.body.found, i + 1)
              assert.strictEqual(found.body.hits[0].highlight.title.snippet, `<mark>Running</mark> shoe ${i}`)
            }
          }
          const vectors = yield* call(second, key, "POST", "/collections", {
            name: "vectors",
            fields: [{ name: "embedding", type: "float[]", num_dim: 4 }]
          })
          assert.strictEqual(vectors.status, 400)
          assert.match(vectors.body.message, /opensearch.*vectors/)
          assert.strictEqual((yield* call(second, key, "DELETE", "/collections/shoes/documents/1")).status, 200)
          assert.strictEqual((yield* call(first, key, "GET", search)).body.found, 2)
        })
      ),
    240_000
  )

describe("OPENSEARCH_* variables", () => {
  const nodes = "https://a:9200, http://b:9200"
  it("say where the cluster is and who asks", () => {
    assert.deepStrictEqual(opensearchOptionsOf({ OPENSEARCH_NODES: nodes }), {
      nodes: ["https://a:9200", "http://b:9200"]
    })
    assert.deepStrictEqual(
      opensearchOptionsOf({
        OPENSEARCH_NODES: nodes,
        OPENSEARCH_PREFIX: "shop-1",
        OPENSEARCH_USERNAME: "u",
        OPENSEARCH_PASSWORD: "p"
      }),
      {
        nodes: ["https://a:9200", "http://b:9200"],
        prefix: "shop-1",
        credentials: { username: "u", password: "p" }
      }
    )
  })
  it("that cannot be meant are refused by name", () => {
    const refused = (more: Readonly<Record<string, string>>) => {
      const options = opensearchOptionsOf({ OPENSEARCH_NODES: nodes, ...more })
      return typeof options === "string" ? options.split(/[ :]/)[0] : options
    }
    assert.strictEqual(refused({ OPENSEARCH_NODES: " , " }), "OPENSEARCH_NODES")
    assert.strictEqual(refused({ OPENSEARCH_NODES: "host:9200" }), "OPENSEARCH_NODES")
    assert.strictEqual(refused({ OPENSEARCH_NODES: "https://u:p@host:9200" }), "OPENSEARCH_NODES")
    assert.strictEqual(refused({ OPENSEARCH_PREFIX: "Shop*" }), "OPENSEARCH_PREFIX")
    assert.strictEqual(refused({ OPENSEARCH_USERNAME: "u" }), "OPENSEARCH_PASSWORD")
    assert.strictEqual(refused({ OPENSEARCH_PASSWORD: "p" }), "OPENSEARCH_USERNAME")
    assert.strictEqual(
      refused({ OPENSEARCH_API_KEY: "k", OPENSEARCH_USERNAME: "u", OPENSEARCH_PASSWORD: "p" }),
      "OPENSEARCH_API_KEY"
    )
  })
})
