/**
 * The time of gateway searches that are truly slow: a real engine over words that all differ a little, searched with
 * twenty of them, every typo and every dropped word. Such a search ends only by its cut-off.
 */
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest"
import type { SearchEngine } from "../../engine-sdk/src/mod.ts"
import { loadLanguages } from "../../src/understanding/language.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"

const LIMIT_MS = 500
const DOCUMENTS = 30_000
let program: Program
const tenants: Record<"heavy" | "quick", Tenant & { readonly gateway: string }> = {} as never
/** Plans that the engine received, by organization. */
let ran: Array<string> = []
const counting = (engine: SearchEngine): SearchEngine =>
  new Proxy(engine, {
    get: (target, name: keyof SearchEngine) => {
      if (name === "search")
        return (...given: Parameters<SearchEngine["search"]>) => {
          for (const _ of given[1]) ran.push(given[0])
          return target.search(...given)
        }
      if (name === "union")
        return (...given: Parameters<SearchEngine["union"]>) => {
          ran.push(given[0])
          return target.union(...given)
        }
      const value: unknown = target[name]
      return typeof value === "function" ? value.bind(target) : value
    }
  })

let seed = 7
const random = () => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) / 2_147_483_648
const word = () => Array.from({ length: 8 }, () => "abcdefghij"[Math.floor(random() * 10)]).join("")
const words = (count: number) => Array.from({ length: count }, word).join(" ")
const endless = () => ({
  q: words(20),
  query_by: "name",
  num_typos: 2,
  exhaustive_search: true,
  drop_tokens_threshold: 100_000,
  typo_tokens_threshold: 100_000,
  per_page: 1
})

const ask = async (who: keyof typeof tenants, path: string, body: unknown) => {
  const { body: answer, status } = await program.request("POST", `/api/v1${path}`, {
    body,
    headers: { authorization: `Bearer ${tenants[who].gateway}` }
  })
  return { status, answer }
}
const search = (who: keyof typeof tenants, body: unknown) => ask(who, "/indexes/things/search", body)

beforeAll(async () => {
  program = await startProgram({
    wrapEngine: counting,
    gateway: { searchTimeMax_ms: LIMIT_MS, isShedding: () => false }
  })
  for (const [who, documents] of [
    ["heavy", DOCUMENTS],
    ["quick", 1]
  ] as const) {
    const tenant = await program.tenant(who)
    await program.request("POST", "/v1/collections", {
      key: tenant.full_key,
      body: { name: "things", fields: [{ name: "name", type: "string" }] }
    })
    await program.request("POST", "/v1/collections/things/documents/import", {
      key: tenant.full_key,
      body: Array.from({ length: documents }, (_, id) => JSON.stringify({ id: String(id), name: words(20) })).join("\n")
    })
    const { body } = await program.request("POST", "/v1/keys", {
      key: tenant.full_key,
      body: { description: "g", scope: "search", gateway: true, rate_limit_per_minute: 0 }
    })
    tenants[who] = { ...tenant, gateway: body.value }
  }
  // Warm-up, as a program does before it is ready: it takes longer than the requests here may.
  await loadLanguages()
})
afterAll(() => program.stop())
beforeEach(() => {
  ran = []
})

it("ends a search by what remains of its request's time, with a 504", async () => {
  expect(await search("heavy", endless())).toEqual({ status: 504, answer: { error: "search_timed_out" } })
  expect((await search("heavy", { ...endless(), search_cutoff_ms: 50 })).answer.search_cutoff).toBe(true)
})
it("refuses requests whose time ran out while they waited, and runs none of them afterwards", async () => {
  const answers = await Promise.all(Array.from({ length: 30 }, () => search("heavy", endless())))
  expect(new Set(answers.map(({ status }) => status)).has(504)).toBe(true)
  // Each ran for a moment and then waited in its tenant's line. No refused search continues there: thirty searches of
  // half a second would not let this one answer in time.
  expect((await search("heavy", { ...endless(), search_cutoff_ms: 50 })).status).toBe(200)
  expect((await search("quick", { q: "*" })).status).toBe(200)
  // A search that is running when its time ends stops at its cut-off, half a second at most; none that waited after it
  // begins.
  await new Promise((settle) => setTimeout(settle, 1_000))
  const before = process.cpuUsage()
  await new Promise((settle) => setTimeout(settle, 1_000))
  const { system, user } = process.cpuUsage(before)
  expect((user + system) / 1_000).toBeLessThan(500)
})
it.each([
  ["/multi-search", "one after the other"],
  ["/federated-search", "as one list"]
])("shares one time limit between all searches of a request: %s, %s", async (path) => {
  const answer = await ask("heavy", path, {
    searches: Array.from({ length: 50 }, () => ({ index: "things", ...endless() }))
  })
  expect(answer).toEqual({ status: 504, answer: { error: "search_timed_out" } })
  expect(ran.length).toBeLessThan(25)
})
it("is not used up by another tenant's searches, nor is that of other requests", async () => {
  const order: Array<string> = []
  const told = async <A>(name: string, answer: Promise<A>): Promise<A> => {
    const settled = await answer
    order.push(name)
    return settled
  }
  // Through the tenant API, which has no deadline: they take seconds together, each as long as its cut-off.
  const slow = () =>
    program.request("POST", "/v1/multi_search", {
      key: tenants.heavy.full_key,
      body: { searches: [{ collection: "things", ...endless(), search_cutoff_ms: 20 }] }
    })
  const all = Array.from({ length: 100 }, () => told("heavy", slow()))
  await Promise.race(all)
  const beside = await Promise.all([
    told(
      "beside",
      program.request("POST", "/v1/multi_search", {
        key: tenants.quick.full_key,
        body: {
          searches: [
            { collection: "things", q: "*" },
            { collection: "things", q: "x", query_by: "name" }
          ]
        }
      })
    ),
    told(
      "beside",
      program.request("GET", "/v1/collections/things/documents/search?q=*", { key: tenants.quick.search_key })
    ),
    told("beside", program.request("GET", "/api/v1/health")),
    told("beside", program.request("GET", "/v1/keys", { key: tenants.quick.full_key }))
  ])
  expect(beside.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  const answers = await Promise.all(all)
  // They were all answered in between, not after.
  expect(order.lastIndexOf("beside")).toBeLessThan(order.lastIndexOf("heavy"))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
})
