/**
 * Entities and communities over HTTP: two organizations, keys that see a part of the documents, costs, and relations.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Program, startProgram, type Tenant } from "../support/program.ts"
import { eventually } from "../support/receiver.ts"

let program: Program, tenant: Tenant, other: Tenant
const send = (method: string, path: string, body?: unknown, key = tenant.full_key) =>
  program.request(method, path, { key, ...(body === undefined ? {} : { body }) })
const made = async (...asked: Parameters<typeof send>) => {
  const answer = await send(...asked)
  if (answer.status >= 300) throw new Error(`${asked[0]} ${asked[1]}: ${answer.status} ${answer.text}`)
  return answer.body
}
const ended = (id: string, key = tenant.full_key) =>
  eventually(`the end of ${id}`, async () => {
    const { body } = await send("GET", `/v1/jobs/${id}`, undefined, key)
    return body.finished_at === undefined ? undefined : body
  })
const generated = async (part: string, collection = "goods", key = tenant.full_key) => {
  const { id } = await made("POST", `/v1/collections/${collection}/graph/${part}/generate`, undefined, key)
  const job = await ended(id, key)
  expect([job.status, job.error]).toEqual(["ready", undefined])
  return job.result
}
const entities = async (query = "", key = tenant.full_key, collection = "goods") =>
  (await made("GET", `/v1/collections/${collection}/graph/entities?limit=500${query}`, undefined, key))
    .entities as ReadonlyArray<any>
const names = async (...asked: Parameters<typeof entities>) => (await entities(...asked)).map(({ name }) => name).sort()
const credits = async (of = tenant) => (await made("GET", "/v1/entitlement", undefined, of.full_key)).credits

const fields = [
  { name: "title", type: "string" },
  { name: "brand", type: "string", facet: true },
  { name: "tags", type: "string[]", facet: true },
  { name: "maker", type: "string", facet: true },
  { name: "text", type: "string" },
  { name: "open", type: "bool", facet: true },
  { name: "price", type: "float" }
]
/** Kettles are visible to all, drills only to internal keys. */
const documents = Array.from({ length: 60 }, (_, i) => ({
  id: `d${i}`,
  title: `Thing ${i}`,
  brand: i % 2 === 0 ? "Acme" : "Bolt & Sons",
  tags: i % 2 === 0 ? ["Kettle", "Steel"] : ["Drill", i < 10 ? "STEEL" : "Bits"],
  maker: i % 2 === 0 ? "House Secret" : "Own Works",
  text: i % 2 === 0 ? "We say of this that it boils as well as a Harbour Pine kettle ever did here" : "short",
  open: i % 2 === 0,
  price: 10 + i
}))
const noise = Array.from({ length: 90 }, (_, i) => ({
  ...documents[0]!,
  id: `n${i}`,
  brand: `b${i}`,
  tags: [`t${i}`],
  maker: `m${i}`,
  text: "x",
  price: 1
}))
const put = (rows: ReadonlyArray<object>, key = tenant.full_key) =>
  made(
    "POST",
    "/v1/collections/goods/documents/import?action=upsert",
    rows.map((row) => JSON.stringify(row)).join("\n"),
    key
  )

beforeAll(async () => {
  program = await startProgram()
  tenant = await program.tenant("Graphs")
  other = await program.tenant("Beside")
  for (const each of [tenant, other]) {
    await program.topUp(each.organization_id, 50)
    await made("POST", "/v1/collections", { name: "goods", fields }, each.full_key)
    await put(documents.concat(noise), each.full_key)
  }
  await put(
    [
      { ...documents[0]!, id: "theirs", brand: "Theirs" },
      { ...documents[0]!, id: "theirs2", brand: "Theirs" }
    ],
    other.full_key
  )
})
afterAll(() => program.stop())

describe("entities", () => {
  it("do not exist before a job; after it they are what the documents name", async () => {
    expect(await entities()).toEqual([])
    expect(await generated("entities")).toMatchObject({ documents: 150, entities: 9, communities: "kept" })
    expect(await names()).toEqual([
      "Acme",
      "Bits",
      "Bolt & Sons",
      "Drill",
      "Harbour Pine",
      "House Secret",
      "Kettle",
      "Own Works",
      "Steel"
    ])
    const [acme] = await entities("&q=acmé")
    expect(acme).toMatchObject({
      collection: "goods",
      name: "Acme",
      type: "brand",
      description: "brand, 30 documents, 10 - 68",
      community_id: "",
      aliases: []
    })
    expect(acme.source_doc_ids).toHaveLength(20)
    expect(await names("&type=tags")).toEqual(["Bits", "Drill", "Kettle", "Steel"])
    expect((await entities("&q=steel"))[0].aliases).toEqual(["STEEL"])
    expect(await names("&q=%25")).toHaveLength(9)
    expect((await send("GET", "/v1/collections/goods/graph/entities?limit=501")).status).toBe(400)
    expect((await send("GET", "/v1/collections/none/graph/entities")).status).toBe(404)
  })
  it("keep their times if they did not change, and their ids always", async () => {
    const before = await entities()
    await put([{ ...documents[1]!, id: "more" }])
    await generated("entities")
    const after = await entities()
    const changed = after.filter(
      (entity) => !before.some(({ id, updated_at }) => entity.id === id && entity.updated_at === updated_at)
    )
    expect(changed.map(({ name }) => name).sort()).toEqual(["Bolt & Sons", "Drill", "Own Works", "Steel"])
    expect(
      after
        .slice(0, 4)
        .map(({ name }) => name)
        .sort()
    ).toEqual(["Bolt & Sons", "Drill", "Own Works", "Steel"])
    expect(after.map(({ id }) => id).sort()).toEqual(before.map(({ id }) => id).sort())
    expect(
      after.every(({ created_at, name }) => created_at === before.find((each) => each.name === name).created_at)
    ).toBe(true)
    await made("DELETE", "/v1/collections/goods/documents/more")
  })
  it("belong to one organization", async () => {
    await generated("entities", "goods", other.full_key)
    expect(await names("", other.full_key)).toContain("Theirs")
    expect(await names()).not.toContain("Theirs")
  })
})
describe("communities", () => {
  it("are groups with nothing in common, with reports that name documents", async () => {
    expect(await generated("communities")).toMatchObject({ communities: 2, edges_changed: 1 })
    const { data } = await made("GET", "/v1/collections/goods/graph/communities")
    expect(data.map(({ size }: any) => size)).toEqual([5, 4])
    expect(data[0]).toMatchObject({ collection: "goods", id: expect.stringMatching(/^com_/) })
    const members = await entities(`&community_id=${data[0].id}`)
    expect(members.map(({ id }) => id).sort()).toEqual([...data[0].entity_ids].sort())
    for (const { report } of data) {
      expect(report.documents).toHaveLength(3)
      for (const line of [...report.facts, ...report.links]) expect(line.document_ids.length).toBeGreaterThan(0)
    }
    const page = await made("GET", "/v1/collections/goods/graph/communities?limit=1")
    expect(page.data).toEqual([data[0]])
    expect(await made("GET", `/v1/collections/goods/graph/communities?limit=1&cursor=${page.next_cursor}`)).toEqual({
      data: [data[1]]
    })
  })
  it("are the same bytes when they are rebuilt", async () => {
    const read = () => Promise.all([made("GET", "/v1/collections/goods/graph/communities"), entities()])
    const before = await read()
    expect(await generated("communities")).toMatchObject({ communities: 2, edges_changed: 0 })
    expect(await read()).toEqual(before)
    expect(await generated("entities")).toMatchObject({ communities: "kept" })
    expect(await read()).toEqual(before)
  })
  it("are rebuilt by an entity job when much has changed", async () => {
    const before = (await made("GET", "/v1/collections/goods/graph/communities")).data
    await put(
      documents.filter((_, i) => i % 2 === 1).map((document) => ({ ...document, tags: [], maker: "x" + document.id }))
    )
    expect(await generated("entities")).toMatchObject({ communities: 1 })
    const after = (await made("GET", "/v1/collections/goods/graph/communities")).data
    expect(after.map(({ id }: any) => id)).toEqual([before.find(({ title }: any) => title.includes("Kettle")).id])
    await put(documents)
    await generated("communities")
  })
})
describe("a key that sees a part", () => {
  const key = async (more: object) =>
    (await made("POST", "/v1/keys", { description: "part", scope: "search", collections: ["goods"], ...more }))
      .value as string
  it("sees what its documents name, as they write it, and no counts of others", async () => {
    const part = await key({ filter_by: { goods: "open:=false" } })
    const seen = await entities("", part)
    expect(seen.map(({ name }) => name).sort()).toEqual(["Bits", "Bolt & Sons", "Drill", "Own Works", "STEEL"])
    const steel = seen.find(({ name }) => name === "STEEL")!
    // "Steel" occurs only in documents that this key must not see.
    expect(steel).toMatchObject({ aliases: [], description: "tags", community_id: "" })
    const odd = new Set(documents.filter(({ open }) => !open).map(({ id }) => id))
    for (const { source_doc_ids } of seen) {
      expect(source_doc_ids.length).toBeGreaterThan(0)
      for (const id of source_doc_ids) expect(odd).toContain(id)
    }
    expect(new Set(seen.map(({ updated_at }) => updated_at)).size).toBe(1)
    expect(await entities("&q=kettle", part)).toEqual([])
    const [drill] = await entities("&q=drill")
    expect(await entities(`&community_id=${drill.community_id}`, part)).toEqual([])
  })
  it("sees nothing from fields that it may not read", async () => {
    const part = await key({ fields: ["title", "brand"] })
    expect(await names("", part)).toEqual(["Acme", "Bolt & Sons"])
  })
  it("sees everything if it sees the whole collection", async () => {
    expect(await names("", await key({}))).toEqual(await names())
    const elsewhere = (await made("POST", "/v1/keys", { description: "else", scope: "search", collections: ["else"] }))
      .value
    expect((await send("GET", "/v1/collections/goods/graph/entities", undefined, elsewhere)).status).toBe(403)
    expect((await send("GET", "/v1/collections/goods/graph/communities", undefined, tenant.search_key)).status).toBe(
      403
    )
  })
})
describe("what it costs", () => {
  it("is a credit per started 1,000 documents, charged when it is done", async () => {
    const before = await credits()
    await generated("communities")
    const after = await credits()
    expect(before.balance - after.balance).toBeCloseTo(1)
    expect(after.reserved ?? 0).toBe(0)
  })
  it("is refused in advance if it cannot be paid, and nothing is made", async () => {
    const poor = await program.tenant("Poor")
    await made("POST", "/v1/collections", { name: "goods", fields }, poor.full_key)
    await put(documents, poor.full_key)
    const refused = await send("POST", "/v1/collections/goods/graph/entities/generate", undefined, poor.full_key)
    expect(refused.status).toBe(402)
    expect((await made("GET", "/v1/jobs?type=graph_generation", undefined, poor.full_key)).data).toEqual([])
  })
  it("is nothing for a cancelled job, which changes nothing", async () => {
    const before = await credits()
    const shown = await entities()
    await put([
      { ...documents[0]!, id: "late", brand: "Latecomer" },
      { ...documents[0]!, id: "later", brand: "Latecomer" }
    ])
    const { id } = await made("POST", "/v1/collections/goods/graph/entities/generate")
    await made("POST", `/v1/jobs/${id}/cancel`)
    expect((await ended(id)).status).toBe("cancelled")
    expect(await entities()).toEqual(shown)
    expect((await credits()).balance).toBeCloseTo(before.balance)
    await made("DELETE", "/v1/collections/goods/documents/late")
    await made("DELETE", "/v1/collections/goods/documents/later")
  })
})
it("is deleted with its collection, whose name another may take", async () => {
  await made("DELETE", "/v1/collections/goods", undefined, other.full_key)
  await made("POST", "/v1/collections", { name: "goods", fields }, other.full_key)
  expect(await entities("", other.full_key)).toEqual([])
  expect((await made("GET", "/v1/collections/goods/graph/communities", undefined, other.full_key)).data).toEqual([])
  expect(await entities()).not.toEqual([])
})
it("is found under the names of its collection", async () => {
  await made("PUT", "/v1/aliases/wares", { collection_name: "goods" })
  expect(await names("", tenant.full_key, "wares")).toEqual(await names())
})
