/**
 * Ingest jobs over HTTP: every source that carries its documents, what is refused, full passes and their guard; two
 * organizations side by side.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Program, Tenant } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"
import { eventually } from "../support/receiver.ts"

let program: Program, tenant: Tenant, other: Tenant
const send = (
  method: string,
  path: string,
  body?: unknown,
  key = tenant.full_key,
  headers: Record<string, string> = {}
) => program.request(method, path, { key, headers, ...(body === undefined ? {} : { body }) })
const over = (id: string, key = tenant.full_key) =>
  eventually(`the end of ${id}`, async () => {
    const { body } = await send("GET", `/v1/ingest/jobs/${id}`, undefined, key)
    return body.finished_at === undefined ? undefined : body
  })
const job = async (body: object, key = tenant.full_key) => {
  const answer = await send("POST", "/v1/ingest/jobs", body, key)
  if (answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`)
  return over(answer.body.id, key)
}
const stored = async (collection: string, key = tenant.full_key): Promise<ReadonlyArray<any>> => {
  const { text } = await send("GET", `/v1/collections/${collection}/documents/export`, undefined, key)
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
}
const ids = async (collection: string, key?: string) => (await stored(collection, key)).map(({ id }) => id)
let made = 0
const collection = async (fields: ReadonlyArray<object> = [{ name: ".*", type: "auto" }]) => {
  const name = `goods_${made++}`
  const answer = await send("POST", "/v1/collections", { name, fields })
  if (answer.status !== 201) throw new Error(answer.text)
  return name
}
const yml = (offers: string, categories = "") => `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE yml_catalog SYSTEM "shops.dtd">
<yml_catalog date="2026-11-25"><shop><categories>${categories}</categories><offers>${offers}</offers></shop></yml_catalog>`

beforeAll(async () => {
  program = await sharedProgram({ allowPrivateAddresses: true })
  tenant = await program.tenant("Feeds")
  other = await program.tenant("Beside")
})
afterAll(() => program.stop())

describe("a job", () => {
  it("imports the documents of its request, counts each once and lists refused ones", async () => {
    const name = await collection([
      { name: "title", type: "string" },
      { name: "price", type: "float" }
    ])
    const ended = await job({
      collection: name,
      source: "inline",
      config: {
        documents: [{ id: "1", title: "Lamp", price: 5 }, { id: "2", title: "Desk", price: "x" }, { title: "?" }]
      }
    })
    expect(ended).toMatchObject({
      status: "ready",
      progress: 1,
      stats: { fetched: 3, imported: 1, failed: 2, cursor: 3, passes: 1 }
    })
    expect(ended.stats.errors.map(({ id }: { id: string }) => id)).toEqual(["line 3", "2"])
    expect(ended.config).toEqual({})
    expect(await ids(name)).toEqual(["1"])
  })
  it("of a product feed makes its collection, with fields that can be searched", async () => {
    const ended = await job({
      collection: "lamps",
      source: "yml",
      config: {
        create_collection: true,
        content: yml(
          `<offer id="a" available="true"><name>Reading lamp</name><price>12.50</price><oldprice>20</oldprice><currencyId>RUR</currencyId><categoryId>2</categoryId><vendor>Acme</vendor><picture>https://a.example/1.png</picture><param name="Watts">12</param><description><![CDATA[<p>Bright &amp; small</p>]]></description></offer>
           <offer id="b"><typePrefix>Lamp</typePrefix><vendor>Acme</vendor><model>X1</model><price>9</price><oldprice>5</oldprice><categoryId>9</categoryId><param name="Watts">7</param></offer>
           <offer id="a"><name>Again</name></offer>`,
          `<category id="1">Light</category><category id="2" parentId="1">Lamps</category>`
        )
      }
    })
    expect(ended.stats).toMatchObject({ fetched: 3, imported: 2, failed: 1 })
    expect(ended.stats.errors[0].error).toContain("another offer before it has this id")
    const [a, b] = await stored("lamps")
    expect(a).toEqual({
      id: "a",
      title: "Reading lamp",
      description: "Bright & small",
      brand: "Acme",
      price: 12.5,
      old_price: 20,
      currency: "RUB",
      categories: ["Light", "Lamps"],
      image: "https://a.example/1.png",
      images: ["https://a.example/1.png"],
      in_stock: true,
      attributes: { Watts: 12 }
    })
    expect(b).toEqual({
      id: "b",
      title: "Lamp Acme X1",
      brand: "Acme",
      price: 9,
      attributes: { Watts: 7 },
      extra: { oldprice: "5", categoryId: "9" }
    })
    const found = await send("GET", "/v1/collections/lamps/documents/search?q=lamp&query_by=title&filter_by=price:>10")
    expect(found.body.hits.map(({ document }: any) => document.id)).toEqual(["a"])
  })
  it("reads CSV, Google XML and extractors' messages", async () => {
    const csv = await collection()
    const rows = await job({
      collection: csv,
      source: "csv",
      config: { content: 'id;title;tags[]\n1;"Lamp; small";a|b\n2;Desk\n3;Chair;c\n' }
    })
    expect(rows.stats).toMatchObject({ imported: 2, failed: 1 })
    expect(rows.stats.errors).toEqual([{ id: "line 3", error: "The row has 2 fields where the first row names 3" }])
    expect(await stored(csv)).toEqual([
      { id: "1", title: "Lamp; small", tags: ["a", "b"] },
      { id: "3", title: "Chair", tags: ["c"] }
    ])
    const google = await collection()
    await job({
      collection: google,
      source: "google_xml",
      config: {
        content: `<rss xmlns:g="http://base.google.com/ns/1.0"><channel><item><g:id>7</g:id><title>Lamp</title><link>https://a.example/7</link><g:price>15.00 EUR</g:price><g:sale_price>12.00 EUR</g:sale_price><g:availability>in_stock</g:availability><g:product_type>Home &gt; Light</g:product_type></item></channel></rss>`
      }
    })
    expect(await stored(google)).toEqual([
      {
        id: "7",
        title: "Lamp",
        price: 12,
        old_price: 15,
        currency: "EUR",
        categories: ["Home", "Light"],
        url: "https://a.example/7",
        in_stock: true
      }
    ])
    const messages = await collection()
    const lines = [
      { type: "LOG", log: { level: "INFO", message: "x" } },
      { type: "RECORD", record: { stream: "s", data: { id: 1, title: "Airbyte" }, emitted_at: 1 } },
      { type: "STATE", state: { data: { cursor: 1 } } },
      { type: "SCHEMA", stream: "t", schema: {}, key_properties: ["sku"] },
      { type: "RECORD", stream: "t", record: { sku: "A", title: "Singer" } },
      { id: "3", type: "RECORD", title: "A document" }
    ]
    const read = await job({
      collection: messages,
      source: "jsonl",
      config: { content: lines.map((line) => JSON.stringify(line)).join("\n") }
    })
    expect(read.stats).toMatchObject({ fetched: 3, imported: 3, failed: 0 })
    expect((await stored(messages)).map(({ id, title }) => [id, title])).toEqual([
      ["1", "Airbyte"],
      ["3", "A document"],
      ["A", "Singer"]
    ])
  })
  it("names every invalid field, and creates nothing", async () => {
    const refused = async (body: object) => {
      const answer = await send("POST", "/v1/ingest/jobs", body)
      return [answer.status, (answer.body.data?.issues ?? []).map(({ path }: { path: string }) => path)]
    }
    const name = await collection()
    expect(await refused({ collection: "", source: "ftp" })).toEqual([400, ["collection", "source"]])
    expect(
      await refused({ collection: name, source: "yml", config: { url: "ftp://x", full: "yes", depth: 1 } })
    ).toEqual([400, ["config.depth", "config.url", "config.full"]])
    expect(await refused({ collection: name, source: "csv", config: {} })).toEqual([400, ["config"]])
    expect(
      await refused({ collection: name, source: "csv", config: { content: "id\n1", create_collection: 1 } })
    ).toEqual([400, ["config.create_collection"]])
    expect(
      await refused({
        collection: name,
        source: "csv",
        config: { url: "https://a.example/x" },
        schedule_cron: "every day"
      })
    ).toEqual([400, ["schedule_cron"]])
    expect(
      await refused({ collection: name, source: "csv", config: { content: "id\n1" }, schedule_cron: "0 4 * * *" })
    ).toEqual([400, ["schedule_cron"]])
    expect(await refused({ collection: "nowhere", source: "csv", config: { content: "id\n1" } })).toEqual([404, []])
    expect(
      (await send("GET", "/v1/ingest/jobs?limit=250")).body.data.every(({ collection }: any) => collection !== name)
    ).toBe(true)
  })
  it("fails with a reason if its source cannot be read", async () => {
    const name = await collection()
    const error = async (source: string, content: string) =>
      (await job({ collection: name, source, config: { content } })).error
    expect(await error("yml", "<html><body/></html>")).toBe(
      "This is no YML: its first element is `html`, not `yml_catalog`."
    )
    expect(await error("yml", "<yml_catalog><shop><offers><offer id='1'><name>x</name></offer>")).toBe(
      "The feed ends in the middle."
    )
    expect(await error("csv", "title\nx\n")).toBe("The first row names no column `id`.")
    expect(await error("jsonl", '{"type":"TRACE","trace":{"type":"ERROR","error":{"message":"no access"}}}')).toBe(
      "The extractor says at line 1 that it failed: no access"
    )
  })
})

describe("a full pass", () => {
  const rows = (from: number, to: number) =>
    `id,title\n${Array.from({ length: to - from }, (_, i) => `${String(from + i).padStart(3, "0")},x`).join("\n")}\n`
  const full = (collection: string, content: string, more: object = {}) =>
    job({ collection, source: "csv", config: { content, full: true, ...more } })
  it("deletes what is missing, up to three in ten and never after a failure", async () => {
    const name = await collection()
    expect((await full(name, rows(0, 100))).stats).toMatchObject({ imported: 100 })
    const some = await full(name, rows(30, 100))
    expect([some.status, some.stats.deleted]).toEqual(["ready", 30])
    expect((await ids(name)).length).toBe(70)
    const many = await full(name, rows(52, 100))
    expect([many.status, many.stats.imported, many.stats.deleted]).toEqual(["failed", 48, undefined])
    expect(many.error).toContain("22 of 70 documents are missing in this pass, more than 30 %")
    expect((await ids(name)).length).toBe(70)
    const broken = await full(name, `${rows(40, 100)}only one field\n`)
    expect([broken.status, (await ids(name)).length]).toEqual(["failed", 70])
    const meant = await full(name, rows(52, 100), { confirm_deletes: true })
    expect([meant.status, meant.stats.deleted]).toEqual(["ready", 22])
    expect((await ids(name))[0]).toBe("052")
  })
  it("without `full` deletes nothing", async () => {
    const name = await collection()
    await full(name, rows(0, 10))
    await job({ collection: name, source: "csv", config: { content: rows(0, 8) } })
    expect((await ids(name)).length).toBe(10)
  })
})

describe("two organizations", () => {
  it("see nothing of each other's jobs, feeds and uploads", async () => {
    const answer = await send("POST", "/v1/collections", { name: "mine", fields: [{ name: ".*", type: "auto" }] })
    expect(answer.status).toBe(201)
    const { id } = await job({ collection: "mine", source: "csv", config: { content: "id\n1\n" } })
    expect((await send("GET", `/v1/ingest/jobs/${id}`, undefined, other.full_key)).status).toBe(404)
    expect((await send("POST", `/v1/ingest/jobs/${id}/cancel`, undefined, other.full_key)).status).toBe(404)
    expect((await send("GET", "/v1/ingest/jobs", undefined, other.full_key)).body.data).toEqual([])
    expect(
      (
        await send(
          "POST",
          "/v1/ingest/jobs",
          { collection: "mine", source: "csv", config: { content: "id\n1\n" } },
          other.full_key
        )
      ).status
    ).toBe(404)
    const begun = await send("POST", "/v1/ingest/uploads?collection=mine&format=csv", undefined, tenant.full_key, {
      "tus-resumable": "1.0.0",
      "upload-length": "9"
    })
    expect(begun.status).toBe(201)
    const path = begun.headers.get("location")!
    expect((await send("GET", path, undefined, other.full_key)).status).toBe(404)
    expect(
      (await send("PATCH", path, "id\n1\n2\n3\n", other.full_key, { "tus-resumable": "1.0.0", "upload-offset": "0" }))
        .status
    ).toBe(404)
    expect((await send("DELETE", path, undefined, other.full_key, { "tus-resumable": "1.0.0" })).status).toBe(404)
    expect((await send("GET", path)).body.offset).toBe(0)
  })
})

describe("an organization", () => {
  it("has at most 20 jobs that wait or run, and the 21st is a conflict", async () => {
    // A shop that never answers: its job waits for it.
    const { createServer } = await import("node:net")
    const silent = createServer((socket) => void socket.on("error", () => {}).resume()).listen(0, "127.0.0.1")
    await new Promise((settle) => silent.once("listening", settle))
    const { port } = silent.address() as { port: number }
    await send("POST", "/v1/collections", { name: "waiting", fields: [{ name: ".*", type: "auto" }] }, other.full_key)
    const ask = () =>
      send(
        "POST",
        "/v1/ingest/jobs",
        { collection: "waiting", source: "csv", config: { url: `http://127.0.0.1:${port}/feed` } },
        other.full_key
      )
    const asked = []
    for (let i = 0; i < 21; i++) asked.push(await ask())
    expect(asked.map(({ status }) => status)).toEqual([...Array.from({ length: 20 }, () => 202), 409])
    // They delay no other job, and end within two seconds of being cancelled.
    const name = await collection()
    const began = performance.now()
    expect((await job({ collection: name, source: "csv", config: { content: "id\n1\n" } })).status).toBe("ready")
    expect(performance.now() - began).toBeLessThan(5_000)
    for (const { body } of asked.slice(0, 20))
      expect((await send("POST", `/v1/ingest/jobs/${body.id}/cancel`, undefined, other.full_key)).body.status).toBe(
        "cancelled"
      )
    await new Promise((settle) => setTimeout(settle, 2_000))
    const left = await new Promise<number>((settle) => silent.getConnections((_, count) => settle(count)))
    expect(left).toBe(0)
    await new Promise((settle) => silent.close(settle))
  })
})
