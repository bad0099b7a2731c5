/**
 * One parser reads the bodies of all operations: a small body that would unfold into too many objects is refused before
 * these are created.
 */
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join, relative } from "node:path"
import { gzipSync } from "node:zlib"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { parseBounded, parseDocument } from "../../engine-sdk/src/documents/json.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"

const brackets = (n: number) => "[".repeat(n) + "]".repeat(n)
const empties = (n: number) => `[${Array.from({ length: n }, () => "{}").join(",")}]`
/** The number of characters that reach the parser itself. */
const parsedCharacters = (text: string): number => {
  let characters = 0
  parseBounded(text, 64, (given) => {
    characters += given.length
    return null
  })
  return characters
}

describe("a text", () => {
  it("nests at most 64 levels and holds at most 200,000 objects and lists; a long one never reaches the parser", () => {
    expect(
      [parseBounded(brackets(64), 64), parseBounded(brackets(65), 64), parseBounded(brackets(2_500_000), 64)].map(
        (one) => (typeof one === "object" ? "parsed" : one)
      )
    ).toEqual(["parsed", "too deep", "too deep"])
    expect(
      [parseBounded(empties(199_999), 64), parseBounded(empties(200_000), 64)].map((one) =>
        typeof one === "object" ? "parsed" : one
      )
    ).toEqual(["parsed", "too many"])
    expect([
      parsedCharacters(brackets(2_500_000)),
      parsedCharacters(empties(1_000_000)),
      parsedCharacters(brackets(10))
    ]).toEqual([0, 0, 20])
    // Brackets inside a string do not count as nesting.
    expect(parseBounded(JSON.stringify({ text: '[{\\"'.repeat(50_000) }), 64)).toHaveProperty("value")
  })
  it("of a document is bounded too, on the thread that writes", () => {
    expect(
      [parseDocument(`{"a":${brackets(2_000_000)}}`), parseDocument(`{"a":${empties(1_000_000)}}`)].map(
        (one) => !one.ok && one.error.message
      )
    ).toEqual([
      "Bad JSON: a document may be nested 100 levels deep.",
      "Bad JSON: a document may hold 200000 objects and lists."
    ])
  })
})

describe("every operation that takes a body", () => {
  let program: Program
  let tenant: Tenant
  beforeAll(async () => {
    program = await startProgram()
    tenant = await program.tenant("Brackets")
    await program.request("POST", "/v1/collections", {
      key: tenant.full_key,
      body: { name: "c", fields: [{ name: "t", type: "string" }] }
    })
  })
  afterAll(() => program.stop())
  it("refuses brackets that a small gzip unfolds into, as 400 or as a line that fails", async () => {
    const bodies = [gzipSync(brackets(1_200_000)), gzipSync(`{"searches":${empties(1_000_000)}}`)]
    const operations = [
      ["POST", "/v1/collections"],
      ["PATCH", "/v1/collections/c"],
      ["POST", "/v1/multi_search"],
      ["POST", "/v1/collections/c/documents"],
      ["PATCH", "/v1/collections/c/documents/a"],
      ["PUT", "/v1/presets/p"],
      ["PUT", "/v1/synonym_sets/s"],
      ["PUT", "/v1/curation_sets/s"],
      ["PUT", "/v1/stopwords/s"],
      ["PUT", "/v1/aliases/a"],
      ["POST", "/v1/events"],
      ["POST", "/v1/keys"],
      ["PUT", "/v1/collections/c/search_rules"],
      ["POST", "/v1/webhooks"],
      ["POST", "/v1/analytics/rules"]
    ] as const
    for (const body of bodies) {
      expect(body.length).toBeLessThan(16_000)
      for (const [method, path] of operations) {
        const answer = await program.request(method, path, {
          key: tenant.full_key,
          body,
          headers: { "content-encoding": "gzip" }
        })
        expect([answer.status, path]).toEqual([400, path])
      }
    }
  })
})

describe("the sources", () => {
  it("parse input from outside with the bounded parser only", () => {
    const root = new URL("../..", import.meta.url).pathname
    const walk = (folder: string): ReadonlyArray<string> =>
      readdirSync(folder).flatMap((entry) => {
        const path = join(folder, entry)
        return entry === "node_modules" || entry === "dist" ? [] : statSync(path).isDirectory() ? walk(path) : [path]
      })
    // Rooms that accept requests; other code reads only what the program wrote itself.
    const rooms = [
      "src/http",
      "src/api",
      "src/catalog",
      "src/search",
      "src/gateway",
      "src/events",
      "src/rules",
      "src/engine-plane",
      "src/tenants",
      "src/ingest",
      "src/webhooks",
      "src/analytics-rules",
      "src/console",
      "src/organizations",
      "engine-sdk/src/operations"
    ]
    /** Text that the program stored or answered itself. */
    const own = new Map([
      ["src/gateway/routes.ts", 1],
      ["src/events/failed/failed.ts", 2],
      ["src/analytics-rules/publish-queries.ts", 1]
    ])
    const found = rooms
      .flatMap((room) => walk(join(root, room)))
      .map((path) => [relative(root, path), readFileSync(path, "utf8").split("JSON.parse(").length - 1] as const)
      .filter(([path, count]) => count > (own.get(path) ?? 0))
    expect(found).toEqual([])
  })
})
