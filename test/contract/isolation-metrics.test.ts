/**
 * Figures of two organizations that use the same names: each sees its own, which are not empty, and none of the
 * other's; and a third one, which did nothing, sees nothing. Analytics that returned nothing to anyone would not pass.
 */
import { afterAll, beforeAll, expect, it } from "vitest"
import { type Program, startProgram, type Tenant } from "../support/program.ts"

let program: Program
const tenants: Record<"one" | "two" | "idle", Tenant> = {} as never
const words = { one: "zanzibar", two: "quagga" } as const
const day = (at: number) => new Date(at).toISOString().slice(0, 10)
/** Later than the fold, which does not announce its end; a late fold is seen in the next run. */
const FOLDED_AFTER_MS = 3_000
/** Also correct if midnight passes during this run. */
const range = () => `from=${day(Date.now() - 86_400_000)}&to=${day(Date.now() + 86_400_000)}`
const metrics = async (tenant: Tenant, name: string) => {
  const answer = await program.request("GET", `/v1/analytics/metrics/${name}?${range()}`, { key: tenant.full_key })
  expect(answer.status, name).toBe(200)
  return answer.body
}

beforeAll(async () => {
  program = await startProgram()
  for (const name of ["one", "two", "idle"] as const) tenants[name] = await program.tenant(name)
  for (const [name, word] of Object.entries(words)) {
    const key = tenants[name as keyof typeof words].full_key
    const send = async (path: string, body: unknown) =>
      expect([200, 201]).toContain((await program.request("POST", path, { key, body })).status)
    await send("/v1/collections", {
      name: "goods",
      fields: [
        { name: "title", type: "string" },
        { name: "maker", type: "string", facet: true }
      ]
    })
    await send("/v1/collections/goods/documents", { id: `g-${word}`, title: word, maker: word })
    // The same ids, sessions and collections in both; one more search by the second.
    const at = Date.now() - 60_000
    const searches = Array.from({ length: name === "one" ? 2 : 3 }, (_, i) => ({
      type: "search",
      q: word,
      collection: "goods",
      event_id: `s${i}`,
      query_id: `q${i}`,
      session_id: `s${i}`,
      results_found: i,
      timestamp: at
    }))
    const { body } = await program.request("POST", "/v1/events", {
      key,
      body: {
        events: [
          ...searches,
          {
            type: "click",
            collection: "goods",
            document_id: `g-${word}`,
            query_id: "q0",
            session_id: "s0",
            event_id: "c",
            timestamp: at + 1_000
          },
          {
            type: "purchase",
            collection: "goods",
            document_id: `g-${word}`,
            query_id: "q0",
            session_id: "s0",
            revenue: name === "one" ? 7 : 11,
            event_id: "p",
            timestamp: at + 2_000
          }
        ]
      }
    })
    expect(body).toMatchObject({ accepted: searches.length + 2, rejected: [] })
    expect(
      (
        await program.request(
          "GET",
          `/v1/collections/goods/documents/search?q=*&facet_by=maker&filter_by=maker:=${word}`,
          { key }
        )
      ).body.found
    ).toBe(1)
  }
})
afterAll(() => program.stop())

const METRICS = ["queries", "products", "zero-results", "filters", "overview"]
type Row = Record<string, unknown>

const seesItsOwn = async (name: "one" | "two") => {
  const word = words[name],
    tenant = tenants[name],
    searches = name === "one" ? 2 : 3,
    revenue = name === "one" ? 7 : 11
  const own = await metrics(tenant, "queries")
  expect(own.data.filter(({ q }: Row) => q === word)).toEqual([
    expect.objectContaining({ q: word, searches, clicks: 1, purchases: 1, revenue })
  ])
  expect((await metrics(tenant, "products")).data).toEqual([
    expect.objectContaining({ document_id: `g-${word}`, clicks: 1, purchases: 1, revenue })
  ])
  expect((await metrics(tenant, "zero-results")).data.filter(({ q }: Row) => q === word)).toEqual([
    { q: word, searches, zero_results: 1, zero_result_rate: 1 / searches }
  ])
  expect(
    (await metrics(tenant, "filters")).data.map(({ field, searches, value }: Row) => [field, value, searches]).sort()
  ).toEqual(
    [
      ["maker", word, 1],
      ["maker", undefined, 1]
    ].sort()
  )
  // Including the search that the search room itself reported.
  expect((await metrics(tenant, "overview")).totals).toMatchObject({
    searches: searches + 1,
    clicks: 1,
    purchases: 1,
    revenue
  })
}
/** At every moment, including while they are counted. */
const seesNothingElse = async (name: "one" | "two") => {
  const other = words[name === "one" ? "two" : "one"]
  for (const metric of METRICS)
    expect(JSON.stringify(await metrics(tenants[name], metric)), metric).not.toContain(other)
  const { revenue } = (await metrics(tenants[name], "overview")).totals
  expect([0, name === "one" ? 7 : 11]).toContain(revenue)
}

it("each organization sees its own figures and none of the other's, in every metric, before and after they become rows", async () => {
  const names = ["one", "two"] as const
  const counted = async () => {
    for (const name of names) await seesNothingElse(name)
    return Promise.all(
      names.map(async (name) => [
        (await metrics(tenants[name], "filters")).data.length,
        (await metrics(tenants[name], "overview")).totals.revenue
      ])
    )
  }
  // A read that sees too much ends the test; one that sees too little is repeated.
  for (let looks = 0; JSON.stringify(await counted()) !== "[[2,7],[2,11]]"; looks++) {
    expect(looks).toBeLessThan(300)
    await new Promise((settle) => setTimeout(settle, 50))
  }
  for (const name of names) await seesItsOwn(name)
  // What was flushed becomes rows of minutes, hours and days half a second later.
  await new Promise((settle) => setTimeout(settle, FOLDED_AFTER_MS))
  for (const name of names) {
    await seesItsOwn(name)
    await seesNothingElse(name)
  }
})
it("an organization that did nothing sees nothing", async () => {
  for (const metric of ["queries", "products", "zero-results", "filters"])
    expect([metric, await metrics(tenants.idle, metric)]).toEqual([
      metric,
      expect.objectContaining({ events: 0, total: 0, data: [] })
    ])
  expect(await metrics(tenants.idle, "overview")).toMatchObject({
    events: 0,
    totals: { searches: 0, clicks: 0, purchases: 0, revenue: 0 }
  })
})
