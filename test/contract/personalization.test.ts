/** Personal searches over HTTP: a visitor's actions affect the next search, only their own, and can be switched off. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Program, Tenant } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"

let program: Program
let tenant: Tenant, other: Tenant
const schema = {
  name: "goods",
  fields: [
    { name: "title", type: "string" },
    { name: "brand", type: "string", facet: true },
    { name: "price", type: "float", facet: true }
  ]
}
const BRANDS = ["acme", "zoom", "nova", "peak", "lumo"]
const goods = Array.from({ length: 40 }, (_, i) => ({
  id: `d${i}`,
  title: "lamp",
  brand: BRANDS[i % BRANDS.length]!,
  price: 10 + 10 * i
}))
const send = (method: string, path: string, body?: unknown, key = tenant.full_key) =>
  program.request(method, path, { key, body })
const search = async (query: Record<string, string>, key = tenant.search_key, session?: string) => {
  const path = `/v1/collections/goods/documents/search?${new URLSearchParams({ q: "lamp", query_by: "title", per_page: "20", refinements: "off", ...query })}`
  return program.request("GET", path, {
    key,
    ...(session === undefined ? {} : { headers: { "x-svc-session-id": session } })
  })
}
const idsOf = (answer: { readonly body: any }): ReadonlyArray<string> =>
  answer.body.hits.map((hit: any) => hit.document.id)
/** The whole answer except its own id and its time. */
const bytesOf = ({ body }: { readonly body: any }): string => {
  const { query_id: _id, search_time_ms: _ms, ...rest } = body
  return JSON.stringify(rest)
}
const bought = (user_id: string, ids: ReadonlyArray<string>) =>
  ids.map((document_id, i) => ({
    type: "purchase",
    collection: "goods",
    user_id,
    document_id,
    price: 1,
    event_id: `${user_id}-${i}`
  }))
const profileOf = (user: string, key = tenant.full_key) =>
  send("GET", `/v1/personalization/profiles/${user}`, undefined, key)
const until = async (isSo: () => Promise<boolean>) => {
  for (const ends = Date.now() + 120_000; !(await isSo());) expect(Date.now()).toBeLessThan(ends)
}

beforeAll(async () => {
  program = await sharedProgram()
  tenant = await program.tenant("Personal")
  other = await program.tenant("Others")
  for (const { full_key } of [tenant, other]) {
    expect((await send("POST", "/v1/collections", schema, full_key)).status).toBe(201)
    const lines = goods.map((one) => JSON.stringify(one)).join("\n")
    await send("POST", "/v1/collections/goods/documents/import", lines, full_key)
  }
  const events = [...bought("ada", ["d2", "d7", "d12"]), ...bought("bob", ["d1", "d6", "d11"])]
  expect((await send("POST", "/v1/events", { events })).status).toBe(200)
  await until(async () => (await profileOf("ada")).body.events === 3 && (await profileOf("bob")).body.events === 3)
})
afterAll(() => program.stop())

const ada = { x_personalization_strength: "0.5", x_user_id: "ada" }

describe("a personal search", () => {
  it("ranks what the visitor likes higher, on every page once, the same each time", async () => {
    const plain = await search({})
    const personal = await search(ada)
    expect(idsOf(personal)).not.toEqual(idsOf(plain))
    const brandsOf = (answer: { readonly body: any }) =>
      answer.body.hits.slice(0, 6).map((hit: any) => hit.document.brand)
    expect(brandsOf(personal).filter((brand: string) => brand === "nova").length).toBeGreaterThan(
      brandsOf(plain).filter((brand: string) => brand === "nova").length + 1
    )
    const [first, second] = [await search(ada), await search({ ...ada, page: "2" })]
    expect(bytesOf(first)).toBe(bytesOf(personal))
    expect([...idsOf(first), ...idsOf(second)].toSorted()).toEqual(goods.map(({ id }) => id).toSorted())
    expect(idsOf(await search({ ...ada, x_user_id: "bob" }))).not.toEqual(idsOf(personal))
  })
  it("is unchanged for an unknown visitor, another organization, strength 0, a sort, a key that opts out", async () => {
    const plain = bytesOf(await search({}))
    expect(bytesOf(await search({ ...ada, x_user_id: "eve" }))).toBe(plain)
    expect(bytesOf(await search({ x_personalization_strength: "0.5" }))).toBe(plain)
    expect(bytesOf(await search({ ...ada, x_personalization_strength: "0" }))).toBe(plain)
    expect(bytesOf(await search(ada, other.search_key))).toBe(bytesOf(await search({}, other.search_key)))
    const cheap = { sort_by: "price:asc" }
    expect(bytesOf(await search({ ...ada, ...cheap }))).toBe(bytesOf(await search(cheap)))
    const made = await send("POST", "/v1/keys", { description: "no history", scope: "search", personalization: false })
    expect(made).toMatchObject({ status: 201, body: { personalization: false } })
    expect(bytesOf(await search(ada, made.body.value))).toBe(plain)
    expect((await send("GET", `/v1/keys/${made.body.id}`)).body.personalization).toBe(false)
  })
  it("explains itself to the owner, refuses an invalid strength, and is never cached", async () => {
    const explained = (await search({ ...ada, debug: "true" }, tenant.full_key)).body.explain
    const stage = explained.stages.find(({ name }: any) => name === "personalization")
    expect(stage.note).toMatch(/^strength 0.5; brand=nova 0.857/)
    expect(stage.moved.length).toBeGreaterThan(5)
    expect(explained.hits.some(({ scores }: any) => scores.affinity > 0.5)).toBe(true)
    for (const x_personalization_strength of ["2", "much"])
      expect((await search({ x_personalization_strength })).status).toBe(400)
    const cached = { ...ada, x_user_id: "cee", use_cache: "true" }
    const before = idsOf(await search(cached))
    await send("POST", "/v1/events", { events: bought("cee", ["d4", "d9"]) })
    await until(async () => idsOf(await search(cached)).join() !== before.join())
  })
})

describe("a click", () => {
  it("affects the next personal answer within two seconds, even beside another organization's click", async () => {
    const idsFor = async (key: string) =>
      idsOf(await search({ x_personalization_strength: "0.6", x_user_id: "hal" }, key)).join()
    const clicked = async ({ search_key }: Tenant, document_id: string) => {
      const before = await idsFor(search_key)
      const event = { type: "click", collection: "goods", user_id: "hal", document_id }
      expect((await send("POST", "/v1/events", { events: [event] }, search_key)).status).toBe(200)
      const began = performance.now()
      while ((await idsFor(search_key)) === before) {
        expect(performance.now() - began).toBeLessThan(2_000)
        await new Promise((settle) => setTimeout(settle, 25))
      }
      return before
    }
    const [before, ofOther] = await Promise.all([clicked(tenant, "d3"), clicked(other, "d4")])
    // Histories are cached for half a second, so a second click must get through in that time as well.
    await clicked(tenant, "d1")
    expect(await idsFor(tenant.search_key)).not.toBe(before)
    expect(await idsFor(other.search_key)).not.toBe(ofOther)
    expect(await idsFor(other.search_key)).not.toBe(await idsFor(tenant.search_key))
  })
})

describe("what somebody did before a login", () => {
  const at = Date.now() - 60_000
  const took = (document_id: string, after_s: number, who: object) => ({
    type: "click",
    collection: "goods",
    document_id,
    timestamp: at + 1_000 * after_s,
    ...who
  })
  const [anonymous_id, session_id] = ["anon-7", "ses-7"]
  const before = [
    took("d3", 0, { anonymous_id }),
    took("d8", 1, { anonymous_id, session_id }),
    took("d13", 2, { session_id })
  ]
  const erased = async (user: string) => {
    const asked = await send("DELETE", `/v1/events/subjects/${user}`)
    let job: any
    await until(async () => {
      job = (await send("GET", `/v1/jobs/${asked.body.job_id ?? asked.body.id}`)).body
      return job.status === "ready" || job.status === "failed"
    })
    return job
  }

  it("is the user's once both ids arrive together, in one organization, and is deleted with the user", async () => {
    for (const { search_key } of [tenant, other]) await send("POST", "/v1/events", { events: before }, search_key)
    const known = { x_personalization_strength: "0.5", x_anonymous_id: anonymous_id }
    const plain = bytesOf(await search({}))
    await until(async () => bytesOf(await search(known)) !== plain)
    expect((await profileOf("gil")).body.events).toBe(0)
    // A search identifies the visitor, too; no later event names the user.
    const login = { type: "search", collection: "goods", q: "lamp", results_found: 1, timestamp: at + 10_000 }
    const after = took("d0", 20, { anonymous_id })
    const events = [{ ...login, user_id: "gil", anonymous_id, session_id }, after]
    expect((await send("POST", "/v1/events", { events })).body).toMatchObject({ accepted: 2 })
    await send("POST", "/v1/events", { events: [took("d1", 5, { user_id: "gil" })] }, other.search_key)
    await until(async () => (await profileOf("gil")).body.events === 3)
    expect((await profileOf("gil")).body).toMatchObject({
      recent: ["d13", "d8", "d3"],
      updated_at: at - (at % 1_000) + 2_000
    })
    expect((await profileOf("gil")).body.affinities[0]).toMatchObject({ field: "brand", value: "peak" })
    const personal = await search({ ...ada, x_user_id: "gil" })
    expect(bytesOf(personal)).not.toBe(plain)
    await until(async () => (await profileOf("gil", other.full_key)).body.events === 1)

    const job = await erased("gil")
    expect(job.result.models.find(({ name }: any) => name === "affinities").rows).toBe(3)
    expect((await profileOf("gil")).body.events).toBe(0)
    await until(async () => bytesOf(await search(known)) === plain)
    expect((await profileOf("gil", other.full_key)).body).toMatchObject({ recent: ["d1"] })
  })
})

describe("what is known of a user", () => {
  it("is shown to full keys of the organization, for collections that the key reaches", async () => {
    const { body, status } = await profileOf("ada")
    expect(status).toBe(200)
    expect(body).toMatchObject({ user_id: "ada", events: 3, recent: expect.arrayContaining(["d2", "d7", "d12"]) })
    expect(body.affinities[0]).toEqual({ field: "brand", value: "nova", weight: 0.8571 })
    const nothing = { user_id: "ada", events: 0, updated_at: null, affinities: [], recent: [] }
    expect((await profileOf("ada", other.full_key)).body).toEqual(nothing)
    expect((await profileOf("ada", tenant.search_key)).status).toBe(403)
    const narrow = await send("POST", "/v1/keys", { description: "elsewhere", scope: "full", collections: ["others"] })
    expect((await profileOf("ada", narrow.body.value)).body).toEqual(nothing)
  })
  it("is removed by an erasure, whose receipt lists it, and nothing of others is", async () => {
    const asked = await send("DELETE", "/v1/events/subjects/bob")
    expect(asked.status).toBe(202)
    let job: any
    await until(async () => {
      job = (await send("GET", `/v1/jobs/${asked.body.job_id ?? asked.body.id}`)).body
      return job.status === "ready" || job.status === "failed"
    })
    expect(job.status).toBe("ready")
    // The person's row was removed; those of others were written again with the rebuilt days.
    expect(job.result.tables.find(({ name }: any) => name === "visitor_histories").rows).toBeGreaterThanOrEqual(1)
    expect((await profileOf("bob")).body.events).toBe(0)
    expect((await profileOf("ada")).body.events).toBe(3)
    expect(bytesOf(await search({ ...ada, x_user_id: "bob" }))).toBe(bytesOf(await search({})))
  })
})
