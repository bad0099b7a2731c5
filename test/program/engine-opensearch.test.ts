/** How a search cluster is configured; `together.test.ts` has API processes that share one. */
import { assert, describe, it } from "@effect/vitest"
import { opensearchOptionsOf } from "../../src/runtime/opensearch.ts"

describe("OPENSEARCH_* variables", () => {
  const nodes = "https://a:9200, http://b:9200"
  it("name the cluster and its credentials", () => {
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
  it("that are invalid are refused by name", () => {
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
