/**
 * The size of an answer: 16 MB by the plan, over all entries of a multi-search together, whatever makes it large. Two
 * tenants side by side: what one is refused costs the other nothing.
 */
import { gzipSync } from "node:zlib"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Program, startProgram, type Tenant } from "../support/program.ts"

const ANSWER_BYTES_MAX = 16_000_000
let program: Program
let greedy: Tenant, other: Tenant
const request = (tenant: Tenant, method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  program.request(method, `/v1${path}`, { key: tenant.full_key, headers, ...(body === undefined ? {} : { body }) })

const WORDS = 25_000
beforeAll(async () => {
  program = await startProgram()
  ;[greedy, other] = [await program.tenant("Greedy"), await program.tenant("Other")]
  for (const tenant of [greedy, other]) {
    expect(
      (
        await program.request("POST", `/console/v1/organizations/${tenant.organization_id}/plan`, {
          headers: { authorization: `Bearer ${program.operatorToken}` },
          body: { plan: "standard" }
        })
      ).status
    ).toBe(200)
    const fields = [
      { name: "title", type: "string" },
      { name: "text", type: "string" },
      { name: "brand", type: "string", facet: true },
      { name: "parts", type: "string[]", facet: true }
    ]
    expect(
      (await request(tenant, "POST", "/collections", { name: "goods", enable_nested_fields: true, fields })).status
    ).toBe(201)
    expect(
      (
        await request(tenant, "POST", "/collections", {
          name: "makers",
          fields: [
            { name: "goods", type: "string[]", reference: "goods.id" },
            { name: "about", type: "string" }
          ]
        })
      ).status
    ).toBe(201)
  }
  // Forty documents of 25,000 words: 75 kB each.
  const lines = Array.from({ length: 40 }, (_, i) =>
    JSON.stringify({
      id: `g${i}`,
      title: "thing",
      text: "ab ".repeat(WORDS),
      brand: `b${i % 2}`,
      parts: Array.from({ length: 50 }, (_, p) => `part ${i} ${p}`)
    })
  )
  expect((await request(greedy, "POST", "/collections/goods/documents/import", lines.join("\n"))).status).toBe(200)
  expect(
    (
      await request(other, "POST", "/collections/goods/documents", {
        id: "o",
        title: "thing",
        text: "ab",
        brand: "b",
        parts: []
      })
    ).status
  ).toBe(201)
})
afterAll(() => program.stop())

const search = (query: Record<string, string>) =>
  request(greedy, "GET", `/collections/goods/documents/search?${new URLSearchParams(query)}`)
const multi = (searches: ReadonlyArray<object>, more: object = {}) =>
  request(greedy, "POST", "/multi_search", {
    searches: searches.map((one) => ({ collection: "goods", ...one })),
    ...more
  })
const refused = (answer: Awaited<ReturnType<typeof search>>, lower: string) => {
  expect([answer.status, answer.text.length < 1_000]).toEqual([400, true])
  expect(answer.body.message).toContain(`larger than ${ANSWER_BYTES_MAX} bytes`)
  expect(answer.body.message).toContain(lower)
}
const whole = { q: "ab", query_by: "text", highlight_full_fields: "text", snippet_threshold: "40000" }

describe("an answer is at most 16,000,000 bytes", () => {
  it("a tag has at most 100 characters, any parameter its own bound, in the query string and in a body", async () => {
    for (const name of ["highlight_start_tag", "highlight_end_tag"]) {
      expect((await search({ q: "ab", query_by: "text", per_page: "1", [name]: "t".repeat(100) })).status).toBe(200)
      const long = await search({ q: "ab", query_by: "text", [name]: "t".repeat(101) })
      expect([long.status, long.body.message]).toEqual([400, `Parameter \`${name}\` may have at most 100 characters.`])
      // The reproduced attack: 8 kB of gzip whose tag is megabytes.
      const packed = gzipSync(
        JSON.stringify({
          searches: [{ collection: "goods", q: "ab", query_by: "text", [name]: "t".repeat(4_000_000) }]
        })
      )
      expect(packed.length).toBeLessThan(8_232)
      expect((await request(greedy, "POST", "/multi_search", packed, { "content-encoding": "gzip" })).status).toBe(400)
    }
    for (const [name, most] of [
      ["q", 10_000],
      ["filter_by", 1_000_000],
      ["include_fields", 100_000],
      ["text_match_type", 4_000],
      ["anything_else", 4_000]
    ] as const) {
      const long = await multi([{ q: "*", [name]: "x".repeat(most + 1) }])
      expect([long.status, long.body.message]).toEqual([
        400,
        `Parameter \`${name}\` may have at most ${most} characters.`
      ])
    }
  })
  it("tags around every word of a page are refused while written, and the message names what to lower", async () => {
    refused(
      await search({
        ...whole,
        per_page: "40",
        highlight_start_tag: "t".repeat(100),
        highlight_end_tag: "t".repeat(100)
      }),
      "`highlight_full_fields`"
    )
  })
  it("documents of many entries together are refused, those of a few are answered", async () => {
    const entry = { q: "thing", query_by: "title", per_page: 40, highlight_fields: "title" }
    const [few, many] = [
      await multi(Array.from({ length: 5 }, () => entry)),
      await multi(Array.from({ length: 50 }, () => entry))
    ]
    expect([few.status, few.body.results.map(({ hits }: { hits: ReadonlyArray<unknown> }) => hits.length)]).toEqual([
      200,
      [40, 40, 40, 40, 40]
    ])
    expect(few.text.length).toBeLessThan(ANSWER_BYTES_MAX)
    refused(many, "`per_page`")
    refused(await multi(Array.from({ length: 6 }, () => ({ ...entry }))), "`per_page`")
    refused(
      await multi(Array.from({ length: 50 }, () => ({ ...entry, group_by: "brand", group_limit: 50 }))),
      "`group_limit`"
    )
  })
  it("a union, a parent of each facet value and joined documents count as well", async () => {
    refused(
      await request(greedy, "POST", "/multi_search?per_page=250", {
        union: true,
        remove_duplicates: false,
        searches: Array.from({ length: 6 }, () => ({
          collection: "goods",
          q: "thing",
          query_by: "title",
          highlight_fields: "title"
        }))
      }),
      "`per_page`"
    )
    refused(
      await search({
        q: "*",
        per_page: "0",
        facet_by: "parts",
        facet_return_parent: "parts",
        max_facet_values: "2000"
      }),
      "`max_facet_values`"
    )
    const makers = Array.from({ length: 40 }, (_, i) =>
      JSON.stringify({ id: `m${i}`, goods: Array.from({ length: 40 }, (__, g) => `g${g}`), about: "x".repeat(50_000) })
    )
    expect(
      (await request(greedy, "POST", "/collections/makers/documents/import", makers.join("\n"))).text
    ).not.toContain('"success":false')
    refused(
      await search({ q: "*", per_page: "40", filter_by: "$makers(id:*)", include_fields: "id, $makers(about)" }),
      "join"
    )
  })
  it("the other tenant is answered as before, and so is the refused one with a smaller request", async () => {
    const answer = await request(other, "GET", "/collections/goods/documents/search?q=ab&query_by=text")
    expect([answer.status, answer.body.found]).toEqual([200, 1])
    expect((await search({ ...whole, per_page: "1" })).body.hits).toHaveLength(1)
  })
  it("the preview of rules has one budget for both of its searches", async () => {
    const one = await search({ ...whole, per_page: "1" })
    // Seven tenths of the bound: fits once, but not twice.
    const per_page = Math.floor((0.7 * ANSWER_BYTES_MAX) / one.text.length)
    expect((await search({ ...whole, per_page: String(per_page) })).body.hits).toHaveLength(per_page)
    const preview = (size: number) =>
      request(greedy, "POST", "/collections/goods/search_rules/preview", { search: { ...whole, per_page: size } })
    expect((await preview(Math.floor(per_page / 2))).body.after.hits).toHaveLength(Math.floor(per_page / 2))
    const refusal = await preview(per_page)
    expect([refusal.status, JSON.stringify(refusal.body).includes(`larger than ${ANSWER_BYTES_MAX} bytes`)]).toEqual([
      400,
      true
    ])
  })
})
