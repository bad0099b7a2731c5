/**
 * Image search over HTTP: fields made from images, wherever those come from, what a search finds, costs and refuses,
 * and for whom; two organizations side by side.
 */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import sharp from "sharp"
import { afterAll, beforeAll, expect, it } from "vitest"
import { drawPicture } from "../../fixtures/pictures/draw.ts"
import { pngOf } from "../../fixtures/pictures/png.ts"
import { securedKey } from "../support/secured.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"

let program: Program, tenant: Tenant, other: Tenant
let site: Server
let fetched = 0
const goods = [
  { id: "shirt-rose", title: "Shirt", category: "Tops", color: "Rose" },
  { id: "shirt-navy", title: "Shirt", category: "Tops", color: "Navy" },
  { id: "boot-black", title: "Boot", category: "Shoes", color: "Black" },
  { id: "bag-green", title: "Bag", category: "Bags", color: "Green" }
]
const pictureOf = (id: string) =>
  pngOf(
    drawPicture(
      goods.find((each) => each.id === id)!,
      160
    )
  )
const SESSION = { "x-svc-session-id": "s1" }
const send = (method: string, path: string, body?: unknown, owner: Tenant = tenant, key = owner.full_key) =>
  program.request(method, `/v1${path}`, { key, body, headers: SESSION })
const byImage = (collection: string, body: unknown, owner: Tenant = tenant, key = owner.full_key) =>
  send("POST", `/collections/${collection}/documents/image_search`, body, owner, key)
const look = (from: string, more: Record<string, unknown> = {}) => ({
  name: "look",
  type: "float[]",
  embed: { from: [from], model_config: { model_name: "dowser/look-alike" } },
  ...more
})
const collectionOf = (name: string, picture: Record<string, unknown>, more: Record<string, unknown> = {}) => ({
  name,
  fields: [
    { name: "title", type: "string" },
    { name: "color", type: "string", facet: true },
    { name: "stock_keeping_unit", type: "int64", optional: true },
    picture,
    look("picture", more)
  ]
})
const balance = async (owner: Tenant): Promise<number> =>
  (await send("GET", "/entitlement", undefined, owner)).body.credits.balance as number
const idsOf = (body: any): ReadonlyArray<string> => body.hits.map(({ document }: any) => document.id)

beforeAll(async () => {
  site = createServer((request, response) => {
    fetched++
    const id = /^\/(.+)\.png$/.exec(request.url ?? "")?.[1] ?? ""
    if (id === "moved") return void response.writeHead(302, { location: "/boot-black.png" }).end()
    if (!goods.some((each) => each.id === id)) return void response.writeHead(404).end("none")
    response.writeHead(200, { "content-type": "image/png" }).end(pictureOf(id))
  })
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve))
  program = await startProgram({ allowPrivateAddresses: true })
  tenant = await program.tenant("Pictures")
  other = await program.tenant("Other pictures")
  for (const { organization_id } of [tenant, other]) await program.topUp(organization_id, 10)
  for (const owner of [tenant, other]) {
    const made = await send(
      "POST",
      "/collections",
      collectionOf("goods", { name: "picture", type: "image", store: false }),
      owner
    )
    expect(made.status, made.text).toBe(201)
    for (const { category: _, ...each } of goods) {
      const document = { ...each, picture: pictureOf(each.id).toString("base64") }
      const written = await send("POST", "/collections/goods/documents", document, owner)
      expect(written.status, written.text).toBe(201)
    }
  }
})
afterAll(async () => {
  await program.stop()
  site.close()
})

it("finds the same picture re-encoded, scaled and with a border, and marks those that only look alike", async () => {
  const png = pictureOf("shirt-rose")
  const changed = await Promise.all([
    png,
    sharp(png).jpeg({ quality: 60 }).toBuffer(),
    sharp(png).webp({ quality: 70 }).toBuffer(),
    sharp(png).resize(112).png().toBuffer(),
    sharp(png).extend({ top: 8, bottom: 8, left: 8, right: 8, background: "white" }).png().toBuffer()
  ])
  for (const bytes of changed) {
    const raw = await byImage("goods", bytes)
    expect(raw.status, raw.text).toBe(200)
    expect(raw.body.hits.map(({ document, match }: any) => [document.id, match])[0]).toEqual([
      "shirt-rose",
      "same_image"
    ])
    expect(raw.body.hits[0].vector_distance).toBeLessThan(raw.body.hits[1].vector_distance)
    expect(raw.body.hits.slice(1).map(({ match }: any) => match)).toEqual(["look_alike", "look_alike", "look_alike"])
  }
  const coded = await byImage("goods", { image: png.toString("base64"), per_page: 1, exclude_fields: "id,look" })
  expect(coded.body.hits.map(({ document, match }: any) => [document, match])).toEqual([
    [{ title: "Shirt", color: "Rose" }, "same_image"]
  ])
  // An integer that a double cannot represent.
  await send("PATCH", "/collections/goods/documents/shirt-rose", '{"stock_keeping_unit": 9007199254740993}')
  const exact = await byImage("goods", { image: png.toString("base64"), per_page: 1, exclude_fields: "look" })
  expect(exact.text).toContain('"stock_keeping_unit":9007199254740993')
  const filtered = await byImage("goods", {
    image: png.toString("base64"),
    filter_by: "color:!=Rose",
    facet_by: "color"
  })
  expect(filtered.body.found).toBe(3)
  expect(filtered.body.facet_counts[0].counts).toHaveLength(3)
})

it("reads pictures from media and from addresses, and refuses the line whose picture is unavailable", async () => {
  const uploaded = await program.request("POST", "/v1/media/images", {
    key: tenant.full_key,
    body: pictureOf("shirt-navy")
  })
  const foreign = await program.request("POST", "/v1/media/images", {
    key: other.full_key,
    body: pictureOf("bag-green")
  })
  expect([uploaded.status, foreign.status]).toEqual([201, 201])
  const made = await send(
    "POST",
    "/collections",
    collectionOf("named", { name: "picture", type: "string[]", optional: true }, { optional: true })
  )
  expect(made.status, made.text).toBe(201)
  const address = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  const lines = [
    { id: "media", picture: [uploaded.body.id, "not looked at"] },
    { id: "address", picture: [`${address}/bag-green.png`] },
    { id: "moved", picture: [`${address}/moved.png`] },
    { id: "gone", picture: [`${address}/gone.png`] },
    { id: "foreign", picture: [foreign.body.id] },
    { id: "text", picture: ["lamp!"] },
    { id: "svg", picture: [Buffer.from("<svg/>").toString("base64")] },
    { id: "none" }
  ].map((line) => JSON.stringify({ title: "x", color: "y", ...line }))
  const imported = await send("POST", "/collections/named/documents/import", lines.join("\n"))
  const verdicts = imported.text.split("\n").map((line) => JSON.parse(line))
  expect(verdicts.map(({ success }) => success)).toEqual([true, true, true, false, false, false, false, true])
  expect(verdicts.slice(3, 7).map(({ error }) => error)).toEqual([
    `The picture at ${address}/gone.png cannot be had: it answered 404.`,
    `There is no image \`${foreign.body.id}\` among the media.`,
    "A picture is base64, the id of an image among the media (`med_…`), or an http(s) address.",
    "An image is one of jpeg, png, webp, avif, gif."
  ])
  for (const [id, picture] of [
    ["media", "shirt-navy"],
    ["address", "bag-green"],
    ["moved", "boot-black"]
  ] as const) {
    const { body } = await byImage("named", { image: pictureOf(picture).toString("base64") })
    expect([idsOf(body)[0], body.hits[0].match]).toEqual([id, "same_image"])
  }
  const byMedia = await byImage("goods", { media_id: uploaded.body.id })
  expect(idsOf(byMedia.body)[0]).toBe("shirt-navy")
  for (const id of [foreign.body.id, "med_01KAQ5V8Z3N4M6T7W9X0Y1B2G1", "x"])
    expect((await byImage("goods", { media_id: id })).status).toBe(404)
})

it("keeps the vector of a picture that is not stored when another field is written", async () => {
  await send("PATCH", "/collections/goods/documents/boot-black", { title: "Ankle boot" })
  const { body } = await byImage("goods", { image: pictureOf("boot-black").toString("base64"), per_page: 1 })
  expect(body.hits[0]).toMatchObject({ document: { id: "boot-black", title: "Ankle boot" }, match: "same_image" })
  expect(body.hits[0].document.picture).toBeUndefined()
})

it("costs a tenth of a credit if it answers, else nothing; another organization's picture is inaccessible", async () => {
  const image = pictureOf("bag-green").toString("base64")
  const before = [await balance(tenant), await balance(other)]
  await byImage("goods", { image })
  expect((await byImage("goods", { image: Buffer.from("GIF89a broken").toString("base64") })).status).toBe(400)
  expect((await byImage("nowhere", { image })).status).toBe(404)
  expect([await balance(tenant), await balance(other)]).toEqual([expect.closeTo(before[0]! - 0.1, 6), before[1]])
  const poor = await program.tenant("Poor pictures")
  await send("POST", "/collections", collectionOf("goods", { name: "picture", type: "image", store: false }), poor)
  expect((await byImage("goods", { image }, poor)).status).toBe(402)
})

it("names every invalid field, refuses words, and explains how a collection gets pictures", async () => {
  const { body, status } = await byImage("goods", {
    image: "!",
    q: "boots",
    colour: 1,
    vector_query: "look:([1])",
    per_page: []
  })
  expect([status, body.data.issues.map(({ path }: { path: string }) => path).sort()]).toEqual([
    400,
    ["colour", "image", "per_page", "q", "vector_query"]
  ])
  for (const [sent, path] of [
    [{}, "image"],
    [{ image: "aaaa", media_id: "med_1" }, "media_id"],
    [{ image: "aaaa" }, "image"],
    [Buffer.from("nothing"), "body"],
    [Buffer.from("{"), "body"]
  ] as const) {
    const answer = await byImage("goods", sent)
    expect([answer.status, answer.body.data.issues[0].path], String(path)).toEqual([400, path])
  }
  await send("POST", "/collections", { name: "plain", fields: [{ name: "title", type: "string" }] })
  const plain = await byImage("plain", pictureOf("bag-green"))
  expect([plain.status, plain.text]).toEqual([400, expect.stringContaining("dowser/look-alike")])
  const words = await send("GET", "/collections/goods/documents/search?q=boots&query_by=look")
  expect([words.status, words.text]).toEqual([400, expect.stringContaining("made of pictures")])
  const alike = await send(
    "GET",
    `/collections/goods/documents/search?q=*&vector_query=${encodeURIComponent("look:([], id: shirt-rose)")}`
  )
  expect([...idsOf(alike.body)].sort()).toEqual(["bag-green", "boot-black", "shirt-navy"])
})

it("refuses fields that no model can embed from pictures and words together", async () => {
  const fields = [
    { name: "title", type: "string" },
    { name: "picture", type: "image", store: false }
  ]
  const refused = async (field: Record<string, unknown>) => {
    const made = await send("POST", "/collections", { name: "mixed", fields: [...fields, field] })
    expect(made.status, made.text).toBe(400)
    return made.text
  }
  expect(
    await refused(
      look("picture", { embed: { from: ["picture", "title"], model_config: { model_name: "dowser/look-alike" } } })
    )
  ).toContain("must name one field")
  expect(
    await refused(
      look("picture", { embed: { from: ["picture"], model_config: { model_name: "dowser/minilm-l6-v2" } } })
    )
  ).toContain("can only refer to string")
  await send("POST", "/collections", { name: "later", fields })
  const added = await send("PATCH", "/collections/later", { fields: [look("nothing", { optional: true })] })
  expect([added.status, added.text]).toEqual([400, expect.stringContaining("can only refer to")])
})

it("is closed to keys that may not see the pictures, and keeps a token's filter", async () => {
  const image = pictureOf("shirt-rose").toString("base64")
  const key = (parameters: Record<string, unknown>) => securedKey(tenant.search_key, parameters)
  const hidden = await byImage("goods", { image }, tenant, key({ exclude_fields: "look" }))
  expect([hidden.status, hidden.text]).toEqual([400, expect.stringContaining("no field that embeds pictures")])
  const filtered = await byImage("goods", { image }, tenant, key({ filter_by: "color:Black" }))
  expect(idsOf(filtered.body)).toEqual(["boot-black"])
  expect(
    (
      await program.request("POST", "/v1/collections/goods/documents/image_search", {
        key: tenant.search_key,
        body: { image }
      })
    ).status
  ).toBe(400)
})
it("fetches no picture from inside the network, whatever a document says", async () => {
  const careful = await startProgram()
  try {
    const owner = await careful.tenant("Careful")
    const ask = (method: string, path: string, body?: unknown) =>
      careful.request(method, `/v1${path}`, { key: owner.full_key, body })
    expect((await ask("POST", "/collections", collectionOf("goods", { name: "picture", type: "string" }))).status).toBe(
      201
    )
    const { port } = site.address() as AddressInfo
    const before = fetched
    const addresses = [
      `http://127.0.0.1:${port}/boot-black.png`,
      `http://localhost:${port}/boot-black.png`,
      `http://[::1]:${port}/boot-black.png`,
      `http://2130706433:${port}/boot-black.png`,
      "http://169.254.169.254/latest/meta-data/",
      "file:///etc/passwd"
    ]
    const lines = addresses.map((picture, i) =>
      JSON.stringify({ id: String(i), title: "Boot", color: "Black", picture })
    )
    const imported = await ask("POST", "/collections/goods/documents/import", lines.join("\n"))
    const verdicts = imported.text.split("\n").map((line) => JSON.parse(line))
    expect(verdicts.map(({ success }) => success)).toEqual(addresses.map(() => false))
    expect(fetched).toBe(before)
  } finally {
    await careful.stop()
  }
})
