/**
 * Documents and schemas, as the reference engine's own tests assert them. The numbers in titles only count the rules.
 */
import { afterEach, beforeEach, expect, it } from "vitest"
import { createLab, type Lab } from "../../support/engine-lab.ts"

let lab: Lab
beforeEach(() => {
  lab = createLab()
})
afterEach(() => lab.close())
const lines = (body: any): any[] => (Array.isArray(body) ? body : [body])

it("96: increments work with every action; a new document starts at 0", async () => {
  await lab.collection(
    "c",
    [
      { name: "n", type: "int32" },
      { name: "t", type: "string", optional: true }
    ],
    []
  )
  const post = (action: string, body: object) => lab.call("POST", `/collections/c/documents?action=${action}`, body)
  expect((await post("create", { id: "1", $operations: { increment: { n: 3 } } })).body).toEqual({ id: "1", n: 3 })
  expect((await post("update", { id: "1", $operations: { increment: { n: 2 } } })).body).toEqual({ id: "1", n: 5 })
  expect((await post("upsert", { id: "1", t: "x", $operations: { increment: { n: 1 } } })).body).toEqual({
    id: "1",
    n: 6,
    t: "x"
  })
  expect((await post("emplace", { id: "2", $operations: { increment: { n: 1 } } })).body).toEqual({ id: "2", n: 1 })
})
it("97: a numeric id is refused", async () => {
  await lab.collection("c", [{ name: "t", type: "string" }], [])
  expect(
    (await lab.call("POST", "/collections/c/documents?dirty_values=coerce_or_reject", { id: 1, t: "x" })).body
  ).toEqual({ message: "Document's `id` field should be a string." })
})
it("98: the same id twice in one import goes in order", async () => {
  await lab.collection("c", [{ name: "t", type: "string" }], [])
  const twice = '{"id":"1","t":"a"}\n{"id":"1","t":"b"}'
  expect(
    lines((await lab.call("POST", "/collections/c/documents/import?action=create", twice)).body).map(
      (line) => line.code ?? 200
    )
  ).toEqual([200, 409])
  await lab.call("POST", "/collections/c/documents/import?action=upsert", twice)
  expect((await lab.call("GET", "/collections/c/documents/1")).body.t).toBe("b")
})
it("99: upsert needs every required field, emplace on a known id does not", async () => {
  await lab.collection(
    "c",
    [
      { name: "t", type: "string" },
      { name: "n", type: "int32" }
    ],
    [{ id: "1", t: "a", n: 1 }]
  )
  expect((await lab.call("POST", "/collections/c/documents?action=upsert", { id: "1", t: "b" })).status).toBe(400)
  expect((await lab.call("POST", "/collections/c/documents?action=emplace", { id: "1", t: "b" })).body).toEqual({
    id: "1",
    n: 1,
    t: "b"
  })
})
it("100: null removes a key and its values; null elements are dropped", async () => {
  await lab.collection(
    "c",
    [
      { name: "t", type: "string" },
      { name: "s", type: "string", optional: true },
      { name: "a", type: "string[]", optional: true }
    ],
    [{ id: "1", t: "a", s: "x" }]
  )
  expect((await lab.call("PATCH", "/collections/c/documents/1", { s: null, a: ["p", null] })).body).toEqual({
    id: "1",
    t: "a",
    a: ["p"]
  })
  expect(await lab.ids("c", { q: "*", filter_by: "s:=x" })).toEqual([])
})
it("101: an empty array does not fix the type of an auto field", async () => {
  await lab.collection(
    "c",
    [{ name: "x", type: "auto" }],
    [
      { id: "1", x: [] },
      { id: "2", x: [5] }
    ]
  )
  expect((await lab.call("GET", "/collections/c")).body.fields.map((field: any) => field.type)).toEqual([
    "auto",
    "int64[]"
  ])
})
it("102: store: false is searched and never shown", async () => {
  await lab.collection(
    "c",
    [
      { name: "t", type: "string" },
      { name: "s", type: "string", store: false }
    ],
    [{ id: "1", t: "a", s: "secret" }]
  )
  const { body } = await lab.search("c", { q: "secret", query_by: "s" })
  expect(body.hits[0].document).toEqual({ id: "1", t: "a" })
  expect((await lab.call("GET", "/collections/c/documents/1")).body).toEqual({ id: "1", t: "a" })
})
it("103: a required field that is not indexed must be present and cannot be queried", async () => {
  await lab.collection(
    "c",
    [
      { name: "t", type: "string" },
      { name: "x", type: "string", index: false }
    ],
    [{ id: "1", t: "a", x: "y" }]
  )
  expect((await lab.call("POST", "/collections/c/documents", { id: "2", t: "a" })).status).toBe(400)
  expect((await lab.search("c", { q: "y", query_by: "x" })).body.message).toBe(
    "Field `x` is marked as a non-indexed field in the schema."
  )
})
it("104: drop and re-add in one call works in either order; a failed change changes nothing", async () => {
  await lab.collection(
    "c",
    [
      { name: "t", type: "string" },
      { name: "n", type: "int32" }
    ],
    [{ id: "1", t: "5", n: 1 }]
  )
  const alter = (...fields: object[]) => lab.call("PATCH", "/collections/c", { fields })
  expect((await alter({ name: "n", type: "string" }, { name: "n", drop: true })).status).toBe(200)
  expect((await alter({ name: "n", drop: true }, { name: "n", type: "int32" })).status).toBe(200)
  const before = (await lab.call("GET", "/collections/c")).body.fields
  expect((await alter({ name: "t", drop: true }, { name: "missing", type: "string" })).status).toBe(400)
  expect((await lab.call("GET", "/collections/c")).body.fields).toEqual(before)
})
it("105: truncating an empty collection", async () => {
  await lab.collection("c", [{ name: "t", type: "string" }], [])
  expect((await lab.call("DELETE", "/collections/c/documents?truncate=true")).body).toEqual({ num_deleted: 0 })
})
it("106: unindexed keys can be selected, with wildcards too", async () => {
  await lab.collection("c", [{ name: "t", type: "string" }], [{ id: "1", t: "a", extra: 5, extraordinary: 6 }])
  expect((await lab.search("c", { q: "*", include_fields: "extra" })).body.hits[0].document).toEqual({ extra: 5 })
  expect((await lab.search("c", { q: "*", exclude_fields: "extra*" })).body.hits[0].document).toEqual({
    id: "1",
    t: "a"
  })
})
it("108: duplicate names are refused, id is ignored", async () => {
  expect(
    (
      await lab.call("POST", "/collections", {
        name: "d",
        fields: [
          { name: "a", type: "string" },
          { name: "a", type: "int32" }
        ]
      })
    ).body.message
  ).toBe("There are duplicate field names in the schema.")
  expect(
    (
      await lab.call("POST", "/collections", {
        name: "d",
        fields: [
          { name: "id", type: "string" },
          { name: "a", type: "string" }
        ]
      })
    ).body.fields.map((field: any) => field.name)
  ).toEqual(["a"])
})
it("keeps integers beyond 2^53 exact, in and out", async () => {
  await lab.collection("c", [{ name: "big", type: "int64" }], [])
  const imported = await lab.call(
    "POST",
    "/collections/c/documents/import?return_doc=true",
    '{"id":"1","big":9007199254740993}'
  )
  expect(lines(imported.body)[0].success).toBe(true)
  expect(await lab.ids("c", { q: "*", filter_by: "big:=9007199254740993" })).toEqual(["1"])
  expect(await lab.ids("c", { q: "*", filter_by: "big:=9007199254740992" })).toEqual([])
})
it("refuses bodies that are nested beyond reason instead of failing on them", async () => {
  await lab.collection("c", [{ name: "t", type: "string" }], [], { enable_nested_fields: true })
  const deep = "[".repeat(50_000) + "]".repeat(50_000)
  for (const [method, path, body] of [
    ["POST", "/collections/c/documents", `{"id":"1","t":"x","deep":${deep}}`],
    ["PUT", "/presets/p", `{"value":${deep}}`],
    ["POST", "/multi_search", `{"searches":${deep}}`],
    ["POST", "/collections", `{"name":"d","fields":[{"name":"a","type":"string"}],"metadata":{"a":${deep}}}`]
  ]) {
    expect((await lab.call(method, path, body)).status).toBe(400)
  }
  expect(
    lines((await lab.call("POST", "/collections/c/documents/import", `{"id":"1","t":"x","deep":${deep}}`)).body)[0]
  ).toMatchObject({ success: false, code: 400 })
})
it("imports a stream in pieces of any size, one result line per input line", async () => {
  const { importDocuments, memoryResources } = await import("../../../engine-sdk/src/operations/mod.ts")
  const { createEngine } = await import("../../../engine-sdk/src/memory/create-engine.ts")
  const { routerOver } = await import("../../support/operation-router.ts")
  const context = { engine: createEngine(), resources: memoryResources(), namespace: "n", now_s: 0 }
  await routerOver(context)(
    "POST",
    "/collections",
    JSON.stringify({ name: "c", fields: [{ name: "t", type: "string" }] })
  )
  const bytes = new TextEncoder().encode(
    Array.from({ length: 2_500 }, (_, i) => (i % 500 === 7 ? "nope" : `{"id":"${i}","t":"ü${i}"}`)).join("\n\n")
  )
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += 977) yield bytes.subarray(at, at + 977)
  }
  const started = importDocuments(context, "c", pieces(), {})
  if (!started.ok) throw new Error(started.error.message)
  let text = ""
  for await (const chunk of started.value.lines) text += chunk
  const verdicts = text.split("\n").map((line) => JSON.parse(line))
  expect(verdicts.length).toBe(2_500)
  expect(verdicts.flatMap((verdict, i) => (verdict.success ? [] : [i]))).toEqual([7, 507, 1_007, 1_507, 2_007])
  await context.engine.close()
})
