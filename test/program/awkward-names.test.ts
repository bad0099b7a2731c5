/**
 * Names that every object inherits and deceptive texts, wherever the program accepts a name or a text: they never cause
 * a 500, and everything from before is still found.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { awkwardTexts, inheritedNames, objectNames } from "../support/awkward-texts.ts"
import { type Answer, type Program, startProgram, type Tenant } from "../support/program.ts"

const beacon = "lighthouse"
const texts = [...inheritedNames, ...awkwardTexts.filter(({ length }) => length < 500)]
let program: Program
let tenant: Tenant
const broken: Array<string> = []
const send = async (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>
): Promise<Answer> => {
  const answer = await program.request(method, path, {
    key: tenant.full_key,
    ...(body === undefined ? {} : { body }),
    ...(headers === undefined ? {} : { headers })
  })
  if (answer.status >= 500)
    broken.push(`${method} ${path.slice(0, 200)} ${JSON.stringify(body)?.slice(0, 200)}: ${answer.text.slice(0, 200)}`)
  return answer
}
const found = async (more = ""): Promise<number> => {
  const answer = await send("GET", `/v1/collections/goods/documents/search?q=${beacon}&query_by=title,body${more}`)
  return answer.status === 200 ? (answer.body.found as number) : -1
}
/** Checks that nothing is broken and that both rankings still find everything. */
const isWhole = async (count: number): Promise<void> => {
  expect([
    await found(),
    await found("&ranking=relevance"),
    await found("&sort_by=title:asc&facet_by=tags"),
    broken
  ]).toEqual([count, count, count, []])
}
const escaped = encodeURIComponent
const wellFormed = texts.filter((text) => text.isWellFormed())
beforeAll(async () => {
  program = await startProgram()
  tenant = await program.tenant("Names")
  await send("POST", "/v1/collections", {
    name: "goods",
    enable_nested_fields: true,
    fields: [
      { name: "title", type: "string", facet: true, sort: true },
      { name: "body", type: "string", stem: true, optional: true },
      { name: "tags", type: "string[]", facet: true, optional: true },
      { name: "..*", type: "auto", optional: true, facet: true }
    ]
  })
  await send("POST", "/v1/collections/goods/documents", { id: "beacon", title: beacon, body: beacon, tags: [beacon] })
})
afterAll(() => program.stop())

describe("awkward names and texts", () => {
  it("in documents, as texts and as names of fields", async () => {
    const lines = texts.map((text, i) => JSON.stringify({ id: `t${i}`, title: text, body: text, tags: [text] }))
    const named = objectNames.map(
      (name, i) =>
        `{"id":"n${i}","title":"named","body":"named",${JSON.stringify(name)}:"own","nested":{${JSON.stringify(name)}:["own"]}}`
    )
    const imported = await send(
      "POST",
      "/v1/collections/goods/documents/import?action=upsert",
      [...lines, ...named].join("\n")
    )
    expect(imported.text.split("\n").filter((line) => !line.includes('"success":true'))).toEqual([])
    for (const [i, name] of objectNames.entries()) {
      expect((await send("GET", `/v1/collections/goods/documents/n${i}`)).text).toBe(named[i])
      expect(
        (
          await send(
            "GET",
            `/v1/collections/goods/documents/search?q=own&query_by=${escaped(name)}&facet_by=${escaped(name)}&filter_by=${escaped(name)}:own&include_fields=id,${escaped(name)}`
          )
        ).body.found,
        name
      ).toBe(1)
    }
    await isWhole(1)
  })
  it("in queries, filters, facets, names of parameters and of collections", async () => {
    for (const text of wellFormed) {
      const value = escaped(text.slice(0, 100))
      for (const ranking of ["", "&ranking=relevance"])
        await send("GET", `/v1/collections/goods/documents/search?q=${value}&query_by=title,body${ranking}`)
      await send(
        "GET",
        `/v1/collections/goods/documents/search?q=*&filter_by=${escaped(`title:=\`${text.slice(0, 100)}\``)}&facet_by=tags&facet_query=${escaped(`tags:${text.slice(0, 50)}`)}`
      )
      await send(
        "GET",
        `/v1/collections/goods/documents/search?q=*&query_by=${value}&sort_by=${value}:asc&group_by=${value}&include_fields=${value}&preset=${value}&stopwords=${value}&synonym_sets=${value}&ranking=${value}&x_language=${value}`
      )
    }
    for (const name of inheritedNames) {
      expect((await send("GET", `/v1/collections/${escaped(name)}`)).status, name).toBe(404)
      await send("GET", `/v1/collections/goods/documents/search?q=*&${escaped(name)}=1`)
    }
    expect(
      (
        await send("POST", "/v1/multi_search", {
          searches: wellFormed.slice(0, 50).map((text) => ({ collection: text, q: text, query_by: text, [text]: text }))
        })
      ).status
    ).toBeLessThan(500)
    await isWhole(1)
  })
  it("as names of collections, presets, stopwords, synonyms and aliases", async () => {
    for (const name of objectNames) {
      expect(
        (await send("POST", "/v1/collections", { name, fields: [{ name, type: "string", facet: true }] })).status,
        name
      ).toBe(201)
      expect(
        (
          await send(
            "POST",
            `/v1/collections/${escaped(name)}/documents`,
            `{"id":"1",${JSON.stringify(name)}:"own ${beacon}"}`
          )
        ).status,
        name
      ).toBe(201)
      expect(
        (
          await send(
            "GET",
            `/v1/collections/${escaped(name)}/documents/search?q=${beacon}&query_by=${escaped(name)}&facet_by=${escaped(name)}`
          )
        ).body.found,
        name
      ).toBe(1)
      expect(
        (await send("PUT", `/v1/presets/${escaped(name)}`, `{"value":{"q":"${beacon}",${JSON.stringify(name)}:"x"}}`))
          .status
      ).toBe(200)
      expect(
        (await send("GET", `/v1/collections/goods/documents/search?query_by=title&preset=${escaped(name)}`)).body.found
      ).toBe(1)
      expect((await send("PUT", `/v1/stopwords/${escaped(name)}`, { stopwords: [name] })).status).toBe(200)
      expect(
        (
          await send("PUT", `/v1/synonym_sets/${escaped(name)}`, {
            items: [{ id: name, root: name, synonyms: [beacon, name] }]
          })
        ).status
      ).toBe(200)
      expect((await send("PUT", `/v1/aliases/alias_${escaped(name)}`, { collection_name: name })).status).toBe(200)
      expect(
        (
          await send(
            "GET",
            `/v1/collections/goods/documents/search?q=${escaped(name)}&query_by=title&synonym_sets=${escaped(name)}&stopwords=${escaped(objectNames[0]!)}`
          )
        ).status
      ).toBe(200)
      expect((await send("DELETE", `/v1/collections/${escaped(name)}`)).status, name).toBe(200)
    }
    await isWhole(1)
  })
  it("in rules, which remain in effect", async () => {
    const conditions = wellFormed.filter((text) => text.trim() !== "").map((text) => text.slice(0, 100))
    const body = {
      pins: conditions.map((query, i) => ({
        query,
        match: (["exact", "partial", "prefix"] as const)[i % 3],
        doc_id: "beacon",
        position: 1
      })),
      boosts: objectNames.map((name) => ({ filter_by: `${name}:=own`, weight: 2, name })),
      redirects: [{ query: "help", match: "exact", url: "https://shop.example/" }],
      suggestions: conditions.slice(0, 50).map((query) => ({ query, match: "exact", suggestions: [query] })),
      banners: [
        {
          id: "constructor",
          query: "",
          match: "any",
          content: JSON.parse(`{${objectNames.map((name) => `${JSON.stringify(name)}:1`).join(",")}}`) as unknown
        }
      ],
      diversity: [{ field: "constructor", max: 2 }],
      facet_suggestions: { fields: ["toString", "tags"] },
      rerank: { enabled: true, model: "constructor" }
    }
    expect((await send("PUT", "/v1/collections/goods/search_rules", body)).text).toContain("banners")
    await send(
      "PUT",
      "/v1/collections/goods/search_rules",
      JSON.stringify(body).replace("{", `{${objectNames.map((name) => `${JSON.stringify(name)}:{}`).join(",")},`)
    )
    await send("PUT", "/v1/collections/goods/search_rules", { ...body, rerank: undefined })
    for (const text of inheritedNames)
      for (const rerank of ["", `&rerank=true&rerank_model=${escaped(text)}`])
        await send(
          "GET",
          `/v1/collections/goods/documents/search?q=${escaped(text)}&query_by=title&debug=true${rerank}`
        )
    await send("DELETE", "/v1/collections/goods/search_rules")
    await isWhole(1)
  })
  it("in events, headers and sessions", async () => {
    for (const name of inheritedNames) {
      const event = `{"type":${JSON.stringify(name)},"collection":"goods","document_id":${JSON.stringify(name)},${JSON.stringify(name)}:{"a":1}}`
      const good = `{"type":"click","collection":${JSON.stringify(name)},"document_id":${JSON.stringify(name)},"session_id":${JSON.stringify(name)},"name":${JSON.stringify(name)},"metadata":{${JSON.stringify(name)}:1},${JSON.stringify(name)}:{"polluted":true}}`
      await send("POST", "/v1/events", `{"events":[${event},${good}]}`)
      await send("POST", "/v1/events", `{${JSON.stringify(name)}:[],"events":[]}`)
      await send("GET", `/v1/collections/goods/documents/search?q=${beacon}&query_by=title`, undefined, {
        "user-agent": name,
        "accept-language": `${name};q=1`,
        "x-svc-session-id": name,
        [`x-${name.replace(/[^A-Za-z]/g, "") || "a"}`]: name
      })
      await send("GET", `/v1/collections/goods/documents/search?q=${beacon}&query_by=title`, undefined, {
        "user-agent": "Android".repeat(1_000),
        "accept-language": "a-".repeat(500)
      })
    }
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    await isWhole(1)
  })
})
