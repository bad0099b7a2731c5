/**
 * Connectors that pull, over HTTP: a shop system on loopback that answers in pages, what happens to its products, what
 * is deleted and what is refused; two organizations side by side.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { gzipSync } from "node:zlib"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { type Program, startProgram, type Tenant } from "../support/program.ts"
import { eventually } from "../support/receiver.ts"

type Answer = (request: IncomingMessage, response: ServerResponse) => void
interface Asked {
  readonly path: string
  readonly headers: IncomingMessage["headers"]
}
let program: Program
let tenant: Tenant
let other: Tenant
let shop: string
let answer: Answer
const asked: Array<Asked> = []
const server = createServer((request, response) => {
  asked.push({ path: request.url!, headers: request.headers })
  answer(request, response)
})
const json = (response: ServerResponse, body: unknown, headers: Record<string, string> = {}, status = 200) => {
  response.writeHead(status, { "content-type": "application/json", ...headers })
  response.end(JSON.stringify(body))
}

const send = (method: string, path: string, body?: unknown, owner: Tenant = tenant) =>
  program.request(method, `/v1${path}`, { key: owner.full_key, body })
beforeAll(async () => {
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle))
  shop = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  program = await startProgram({ allowPrivateAddresses: true })
  tenant = await program.tenant("Shop")
  other = await program.tenant("Other shop")
  for (const owner of [tenant, other]) {
    await send("POST", "/collections", { name: "products", fields: [{ name: "title", type: "string" }] }, owner)
  }
})
afterAll(async () => {
  await program.stop()
  server.closeAllConnections()
  await new Promise((settle) => server.close(settle))
})
beforeEach(() => void asked.splice(0))

const fields = () => ({
  name: "Shop",
  collection: "products",
  provider: "generic",
  sync_mode: "pull",
  pull_url: `${shop}/products`,
  pull_token: "shop-token"
})
let last: string | undefined
/** One at a time per tenant: plans bound their number. */
const connector = async (more: Record<string, unknown> = {}, owner: Tenant = tenant) => {
  if (last !== undefined && owner === tenant) await send("DELETE", `/connectors/${last}`)
  const made = await send("POST", "/connectors", { ...fields(), ...more }, owner)
  expect(made.status, made.text).toBe(201)
  if (owner === tenant) last = made.body.id as string
  return made.body.id as string
}
interface Ended {
  readonly status: string
  readonly result: any
  readonly error?: string
}
const synced = async (id: string, body?: unknown, owner: Tenant = tenant): Promise<Ended> => {
  const started = await send("POST", `/connectors/${id}/sync`, body, owner)
  expect(started.status, started.text).toBe(202)
  expect(started.body.type).toBe("catalog_pull")
  return eventually("the pull is over", async () => {
    const { body: job } = await send("GET", `/jobs/${started.body.id}`, undefined, owner)
    return job.finished_at === undefined ? undefined : (job as Ended)
  })
}
const titles = async (owner: Tenant = tenant) => {
  const { body } = await send(
    "GET",
    "/collections/products/documents/search?q=*&query_by=title&per_page=250",
    undefined,
    owner
  )
  return body.hits.map(({ document }: any) => `${document.id} ${document.title}`).sort()
}
const product = (id: number, title = `Lamp ${id}`) => ({ id: String(id), title })
/** Pages of two. */
const paged =
  (products: ReadonlyArray<unknown>): Answer =>
  ({ url }, response) => {
    const at = Number(new URL(url!, shop).searchParams.get("cursor") ?? 0)
    json(response, {
      data: products.slice(at, at + 2),
      ...(at + 2 < products.length ? { next_cursor: String(at + 2) } : {})
    })
  }
const clear = async () => send("DELETE", "/collections/products/documents?filter_by=id:!=none")

describe("a pull", () => {
  it("reads page after page with the token and applies what it finds, for its own organization alone", async () => {
    await clear()
    answer = paged([1, 2, 3, 4, 5].map((id) => product(id)))
    const id = await connector()
    const { body } = await send("GET", `/connectors/${id}`)
    expect([body.sync_mode, body.pull_url, body.pull_token_set]).toEqual(["pull", `${shop}/products`, true])
    expect(JSON.stringify(body)).not.toContain("shop-token")
    expect(await synced(id)).toMatchObject({
      status: "ready",
      result: { pages: 3, received: 5, upserts: 5, deletes: 0, rejected: 0, applied: 5, ignored: 0, failed: 0 }
    })
    expect(asked.map(({ path }) => path)).toEqual(["/products", "/products?cursor=2", "/products?cursor=4"])
    expect(new Set(asked.map(({ headers }) => headers.authorization))).toEqual(new Set(["Bearer shop-token"]))
    expect(await titles()).toEqual(["1 Lamp 1", "2 Lamp 2", "3 Lamp 3", "4 Lamp 4", "5 Lamp 5"])
    expect(await titles(other)).toEqual([])
    const journal = (await send("GET", `/connectors/${id}/journal`)).body.data
    expect(journal.map(({ external_id, status }: any) => `${external_id} ${status}`).sort()).toEqual(
      [1, 2, 3, 4, 5].map((n) => `${n} applied`)
    )
    expect((await send("POST", `/connectors/${id}/sync`, {}, other)).status).toBe(404)
    expect((await send("GET", `/connectors/${id}`)).body.last_sync_at).toBeGreaterThan(0)
  })
  it("requests what changed, follows the pages that did not, and requests everything if it is full", async () => {
    await clear()
    let second = "Two"
    answer = ({ headers, url }, response) => {
      const isSecond = url!.includes("cursor")
      const etag = isSecond ? `"2-${second}"` : '"1"'
      if (headers["if-none-match"] === etag) return void response.writeHead(304).end()
      json(
        response,
        { data: [isSecond ? product(2, second) : product(1, "One")], ...(isSecond ? {} : { next_cursor: 1 }) },
        { etag }
      )
    }
    const id = await connector()
    expect((await synced(id)).result).toMatchObject({ pages: 2, unchanged: 0, applied: 2 })
    expect((await synced(id)).result).toMatchObject({ pages: 2, unchanged: 2, received: 0, applied: 0 })
    second = "Zwei"
    expect((await synced(id)).result).toMatchObject({ pages: 2, unchanged: 1, received: 1, applied: 1 })
    expect(await titles()).toEqual(["1 One", "2 Zwei"])
    expect((await synced(id, { full: true })).result).toMatchObject({ pages: 2, unchanged: 0, received: 2 })
    // A changed mapping reads all events again.
    await send("PUT", `/connectors/${id}`, { mapping: { title: { constant: "Mapped" } } })
    expect((await synced(id)).result).toMatchObject({ unchanged: 0, applied: 2 })
    expect(await titles()).toEqual(["1 Mapped", "2 Mapped"])
  })
  it("deletes what is missing after all pages, and more than 30 % of it only if confirmed", async () => {
    await clear()
    const all = Array.from({ length: 10 }, (_, i) => product(i))
    answer = paged(all)
    const id = await connector()
    await synced(id)
    // From another source in the same collection.
    await send("POST", "/collections/products/documents", product(99, "Own"))
    answer = paged(all.slice(4))
    expect((await synced(id)).result).toMatchObject({ deletes: 0 })
    const refused = await synced(id, { full: true })
    expect(refused).toMatchObject({ status: "failed" })
    expect(refused.error).toContain("4 of 10 documents")
    expect(refused.error).toContain("`confirm_deletes: true`")
    expect((await send("GET", `/connectors/${id}`)).body).toMatchObject({ status: "failed", last_error: refused.error })
    expect(await titles()).toHaveLength(11)
    answer = paged(all.slice(3))
    expect(await synced(id, { full: true })).toMatchObject({ status: "ready", result: { deletes: 3, applied: 10 } })
    expect(await titles()).toHaveLength(8)
    answer = paged([])
    expect(await synced(id, { full: true, confirm_deletes: true })).toMatchObject({ result: { deletes: 7 } })
    expect(await titles()).toEqual(["99 Own"])
  })
  it("is listed as one type of job only", async () => {
    await clear()
    answer = paged([1, 2, 3].map((id) => product(id)))
    expect((await synced(await connector())).result.applied).toBe(3)
    const { body } = await send("GET", "/jobs?limit=250")
    expect(new Set(body.data.map(({ type }: any) => type))).toEqual(new Set(["catalog_pull"]))
  })
  it("deletes nothing after a pass that could not be read to its end, and spares a product whose mapping fails", async () => {
    await clear()
    answer = paged([1, 2, 3, 4].map((id) => product(id)))
    const id = await connector({ mapping: { title: "title", price: { number: "price" } } })
    await synced(id)
    answer = ({ url }, response) =>
      url!.includes("cursor") ? json(response, {}, {}, 404) : json(response, { data: [product(1)], next_cursor: 1 })
    expect((await synced(id, { full: true })).error).toContain("/products answered 404")
    answer = paged([product(1), { title: "Nobody" }])
    expect((await synced(id, { full: true, confirm_deletes: true })).error).toContain("not even their ids")
    expect(await titles()).toHaveLength(4)
    answer = paged([product(1), product(2), product(3), { ...product(4), price: "dear\u0000" }])
    const spared = await synced(id, { full: true })
    expect(spared.result).toMatchObject({ deletes: 0, rejected: 1, errors: [{ page: 1, index: 1 }] })
    expect(await titles()).toHaveLength(4)
  })
  it("waits as long as the shop requests, and reports what it could not read", async () => {
    await clear()
    let times = 0
    answer = (request, response) =>
      ++times < 3
        ? json(response, {}, { "retry-after": "1" }, times === 1 ? 429 : 503)
        : paged([product(1)])(request, response)
    const id = await connector()
    const began = Date.now()
    expect((await synced(id)).result.applied).toBe(1)
    expect(Date.now() - began).toBeGreaterThan(2_000)
    for (const [given, says] of [
      [
        (_: IncomingMessage, response: ServerResponse) => json(response, {}, {}, 401),
        "the token is missing or not accepted"
      ],
      [
        (_: IncomingMessage, response: ServerResponse) => json(response, {}, { "retry-after": "9999" }, 429),
        "answered 429"
      ],
      [
        (_: IncomingMessage, response: ServerResponse) =>
          json(response, { data: [], next: "http://169.254.169.254/x" }),
        "another origin"
      ],
      [
        (_: IncomingMessage, response: ServerResponse) => json(response, { data: [], next: "/products" }),
        "in a circle"
      ],
      [(_: IncomingMessage, response: ServerResponse) => void response.end("x".repeat(6_000_000)), "5000000 bytes"],
      [(_: IncomingMessage, response: ServerResponse) => json(response, "no list"), "A page is a list"]
    ] as const) {
      answer = given
      const ended = await synced(id)
      expect([ended.status, ended.error]).toEqual(["failed", expect.stringContaining(says)])
    }
    expect(asked.every(({ path }) => path.startsWith("/products"))).toBe(true)
  })
  it("follows redirects without sending its token to other origins, and decompresses content", async () => {
    await clear()
    const body = gzipSync(JSON.stringify([product(1, "Packed")]))
    answer = ({ headers, url }, response) => {
      if (url === "/products")
        return void response.writeHead(302, { location: `${shop.replace("127.0.0.1", "localhost")}/moved` }).end()
      response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" })
      response.end(headers.authorization === undefined ? body : "the token came along")
    }
    const id = await connector()
    expect(await synced(id)).toMatchObject({ status: "ready", result: { applied: 1 } })
    expect(await titles()).toEqual(["1 Packed"])
    answer = (_, response) => void response.writeHead(302, { location: "/products" }).end()
    expect((await synced(id)).error).toContain("More than 5 redirects")
    answer = (_, response) =>
      void response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(Buffer.alloc(200_000_000)))
    expect((await synced(id)).error).toContain("5000000 bytes")
  })
  it("reads feeds by their media type, one of 3,000 offers piece by piece, and reports errors by row", async () => {
    await clear()
    const offers = Array.from(
      { length: 3_000 },
      (_, i) => `<offer id="o${i}"><name>Лампа ${i}</name><price>1</price></offer>`
    )
    const yml = (these: ReadonlyArray<string>) =>
      Buffer.concat([
        Buffer.from('<?xml version="1.0" encoding="windows-1251"?><!-- shop --><yml_catalog><shop><offers>'),
        ...these.map((offer) =>
          Buffer.from(
            [...offer].map((letter) => {
              const code = letter.codePointAt(0)!
              // Cyrillic letters are contiguous in windows-1251.
              return code >= 0x410 && code <= 0x44f ? code - 0x410 + 0xc0 : code
            })
          )
        ),
        Buffer.from("</offers></shop></yml_catalog>")
      ])
    const answers =
      (media: string, body: Buffer): Answer =>
      (_, response) => {
        response.writeHead(200, { "content-type": media, etag: '"1"' })
        response.end(body)
      }
    answer = answers("application/xml", yml(offers))
    const id = await connector()
    expect(await synced(id, { full: true })).toMatchObject({
      status: "ready",
      result: { pages: 1, received: 3_000, upserts: 3_000, applied: 3_000, rejected: 0, failed: 0 }
    })
    expect((await send("GET", "/collections/products/documents/o7")).body.title).toBe("Лампа 7")
    answer = answers("application/x-yml", yml(offers.slice(0, 2_900)))
    expect((await synced(id, { full: true })).result).toMatchObject({ received: 2_900, deletes: 100 })
    await clear()
    answer = answers("text/csv", Buffer.from('id;title\n1;"Lamp; tall"\n2;Mug;broken\n3;Chair\n'))
    const read = await synced(id)
    expect(read).toMatchObject({ status: "ready", result: { received: 3, upserts: 2, rejected: 1 } })
    expect(read.result.errors[0].reason).toContain("line 3")
    expect(await titles()).toEqual(["1 Lamp; tall", "3 Chair"])
    answer = answers("application/xml", Buffer.from("<rss><channel><item><g:id>5</g:id></channel>"))
    expect((await synced(id)).status).toBe("failed")
  })
  it("runs once per connector, ends when it is cancelled, and is refused if there is nothing to pull", async () => {
    answer = () => {}
    const id = await connector()
    const first = await send("POST", `/connectors/${id}/sync`)
    const second = await send("POST", `/connectors/${id}/sync`)
    expect([first.status, second.status]).toEqual([202, 409])
    expect(second.body.message).toContain(first.body.id)
    await eventually("it waits for the shop", () => (asked.length > 0 ? true : undefined))
    expect((await send("POST", `/jobs/${first.body.id}/cancel`)).body.status).toBe("cancelled")
    answer = paged([product(1)])
    expect((await synced(id)).status).toBe("ready")
    await send("PUT", `/connectors/${id}`, { enabled: false })
    expect((await send("POST", `/connectors/${id}/sync`)).status).toBe(409)
    const pushed = await connector({ sync_mode: "push", pull_url: undefined, pull_token: undefined })
    expect((await send("POST", `/connectors/${pushed}/sync`)).status).toBe(409)
  })
})

describe("what a pull needs", () => {
  it.each([
    [{ pull_url: undefined }, ["pull_url"]],
    [{ pull_url: "ftp://shop.example/x" }, ["pull_url"]],
    [{ pull_url: "https://u:p@shop.example/x" }, ["pull_url"]],
    [{ schedule_cron: "* * * *", pull_token: "a b" }, ["pull_token", "schedule_cron"]],
    [{ sync_mode: "push", schedule_cron: "* * * * *" }, ["pull_token", "pull_url", "schedule_cron"]]
  ])("is validated: %j", async (change, paths) => {
    const { body, status } = await send("POST", "/connectors", { ...fields(), ...change })
    expect([status, body.data?.issues?.map(({ path }: any) => path).sort()], JSON.stringify(body)).toEqual([400, paths])
  })
  it("`confirm_deletes` is only accepted beside `full`", async () => {
    const id = await connector()
    expect((await send("POST", `/connectors/${id}/sync`, { confirm_deletes: true })).status).toBe(400)
  })
})
