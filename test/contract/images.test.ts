/**
 * Images over HTTP: identified by their bytes, stored without anything but pixels, charged for; a visitor's are kept
 * for a day.
 */
import { afterAll, beforeAll, expect, it } from "vitest"
import { drawPicture } from "../../fixtures/pictures/draw.ts"
import { pngOf } from "../../fixtures/pictures/png.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"

let program: Program, tenant: Tenant, poor: Tenant
const png = pngOf(drawPicture({ id: "1", title: "Shirt", category: "Tops", color: "Rose" }, 80))
const SESSION = { "x-svc-session-id": "s1" }
const upload = (body: unknown, key = tenant.full_key, headers: Record<string, string> = SESSION) =>
  program.request("POST", "/v1/media/images", { key, body, headers })
const balance = async () =>
  (await program.request("GET", "/v1/entitlement", { key: tenant.full_key })).body.credits.balance as number

beforeAll(async () => {
  program = await startProgram()
  tenant = await program.tenant("Pictures")
  await program.topUp(tenant.organization_id, 10)
  poor = await program.tenant("Poor")
  await program.request("POST", `/console/v1/organizations/${tenant.organization_id}/wallet/credit`, {
    headers: { authorization: `Bearer ${program.operatorToken}` },
    body: { credits: 10 }
  })
})
afterAll(() => program.stop())

it("accepts an image raw or as base64, returns it, and charges a tenth of a credit", async () => {
  const before = await balance()
  const raw = await upload(png)
  expect([raw.status, raw.body]).toMatchObject([
    201,
    { kind: "image", status: "ready", content_type: "image/png", width: 80, height: 80, filename: null }
  ])
  expect(raw.body.expires_at).toBeUndefined()
  const coded = await upload({ image: png.toString("base64"), filename: "shirt.png" })
  expect([coded.status, coded.body]).toMatchObject([201, { filename: "shirt.png", sha256: raw.body.sha256 }])
  expect((await upload({ image: `data:image/png;base64,${png.toString("base64")}` })).status).toBe(201)
  expect(before - (await balance())).toBeCloseTo(0.3, 6)
  const content = await fetch(`${program.base}/v1/media/${raw.body.id}/content`, {
    headers: { "x-svc-api-key": tenant.full_key }
  })
  expect([content.headers.get("content-disposition"), (await content.arrayBuffer()).byteLength]).toEqual([
    "inline",
    raw.body.size
  ])
})

it("requires a session for a visitor's image and keeps it for a day", async () => {
  expect((await upload(png, tenant.search_key, {})).status).toBe(400)
  const { body, status } = await upload(png, tenant.search_key)
  expect([status, body.expires_at - body.created_at]).toEqual([201, 86_400_000])
})

it("charges nothing for what is not an image, and names the field", async () => {
  const before = await balance()
  const svg = '<svg xmlns="http://www.w3.org/2000/svg"/>'
  for (const [body, path] of [
    [Buffer.from(svg), "body"],
    [png.subarray(0, 300), "body"],
    [Buffer.concat([png, Buffer.alloc(8_000_000)]), "body"],
    [{ image: Buffer.from(svg).toString("base64") }, "image"],
    [{ image: "not base64!" }, "image"],
    [{ image: 3 }, "image"],
    [{}, "image"],
    [Buffer.from("{"), "body"]
  ] as const) {
    const answer = await upload(body)
    expect([answer.status, answer.body.data.issues[0].path], String(path)).toEqual([400, path])
  }
  const both = await upload({ image: "", filename: "a/b", url: "x" })
  expect(both.body.data.issues.map(({ path }: { path: string }) => path).sort()).toEqual(["filename", "image", "url"])
  const tagged = await upload({ image: "goods", _tag: "Fail" })
  expect([tagged.status, tagged.body.data.issues[0].path]).toEqual([400, "_tag"])
  expect(await balance()).toBe(before)
  expect((await upload(png, poor.full_key)).status).toBe(402)
  const listed = await program.request("GET", "/v1/media", { key: poor.full_key })
  expect(listed.body.data).toEqual([])
})
