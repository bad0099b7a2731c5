/**
 * An engine that is slow, away, or broken, behind a real program: what callers of both APIs receive, what it costs
 * them, and that it recovers by itself.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { fail, type Result, type SearchAnswer, type SearchEngine, type SearchPlan } from "../../engine-sdk/src/mod.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"

const SEARCH_TIME_MAX_MS = 1_000
const WAIT_MS = 1_500
let program: Program
let tenant: Tenant
let gateway: string, connector: string
let isShedding = false
/** What the engine does in place of searching. */
let searched: SearchEngine["search"] | undefined
let planned: ReadonlyArray<SearchPlan> = []
/** Whether it reports that it does not search on this thread. */
let isElsewhere = false
let calls = 0
let writesAre: "real" | "away" | "broken" = "real"

const wrapEngine = (engine: SearchEngine): SearchEngine =>
  new Proxy(engine, {
    get: (target, name: keyof SearchEngine) => {
      if (name === "search")
        return (namespace: string, given: ReadonlyArray<SearchPlan>) => {
          calls++
          planned = [...planned, ...given]
          return (searched ?? target.search.bind(target))(namespace, given)
        }
      if (name === "capabilities" && isElsewhere) return () => ({ ...target.capabilities(), searchesOnCaller: false })
      if (name === "write" && writesAre !== "real")
        return async () => {
          if (writesAre === "broken") throw new Error("a defect with a secret in it")
          return fail({ kind: "Unavailable", message: "connection refused" })
        }
      const value: unknown = target[name]
      return typeof value === "function" ? value.bind(target) : value
    }
  })
const away: SearchEngine["search"] = async (_, given) =>
  given.map(() => fail({ kind: "Unavailable", message: "connection refused" }))

const ask = (path: string, body: unknown = { q: "*" }, key = gateway) =>
  program.request("POST", `/api/v1${path}`, { body, headers: { authorization: `Bearer ${key}` } })
const direct = () => program.request("GET", "/v1/collections/things/documents/search?q=*", { key: tenant.search_key })
const used = async (): Promise<number> => {
  // Figures of the entitlement are two seconds old at most: polled until they are stable.
  let before = -1
  for (;;) {
    const now = (await program.request("GET", "/v1/entitlement", { key: tenant.full_key })).body.quota.used as number
    if (now === before) return now
    before = now
    await new Promise((after) => setTimeout(after, 2_100))
  }
}
const statusOfEngine = async () =>
  (
    await program.request("GET", "/console/v1/status", {
      headers: { authorization: `Bearer ${program.operatorToken}` }
    })
  ).body
const until = async (holds: () => Promise<boolean>) => {
  const deadline = performance.now() + 60_000
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error("it did not come to be")
    await new Promise((after) => setTimeout(after, 20))
  }
}

beforeAll(async () => {
  program = await startProgram({
    wrapEngine,
    guard: { reads: { wait_ms: WAIT_MS }, writes: { wait_ms: WAIT_MS } },
    gateway: { searchTimeMax_ms: SEARCH_TIME_MAX_MS, isShedding: () => isShedding }
  })
  tenant = await program.tenant("Patient")
  await program.request("POST", "/v1/collections", {
    key: tenant.full_key,
    body: { name: "things", fields: [{ name: "name", type: "string" }] }
  })
  const make = async (body: object) =>
    (
      await program.request("POST", "/v1/keys", {
        key: tenant.full_key,
        body: { description: "g", rate_limit_per_minute: 0, ...body }
      })
    ).body.value as string
  gateway = await make({ scope: "search", gateway: true })
  connector = await make({ scope: "connector_write" })
  await ask("/indexes/things/documents", { documents: [{ id: "1", name: "kettle" }] }, connector)
})
afterAll(() => program.stop())
beforeEach(async () => {
  searched = undefined
  isElsewhere = false
  writesAre = "real"
  isShedding = false
  await until(async () => (await direct()).status === 200)
})

describe("a slow engine", () => {
  it("is abandoned with a 504, costs nothing, and its late answer goes to no caller", async () => {
    const before = await used()
    const late: Array<() => void> = []
    searched = (_, given) =>
      new Promise((settle) => {
        late.push(() =>
          settle(
            given.map(() => ({
              ok: true,
              value: {
                found: 1,
                hits: [],
                facet_counts: [],
                search_cutoff: false,
                request_params: { collection_name: "things", first_q: "*", per_page: 10, q: "*" }
              } satisfies SearchAnswer
            })) as ReadonlyArray<Result<SearchAnswer>>
          )
        )
      })
    for (const [path, body] of [
      ["/indexes/things/search", { q: "late", query_by: "name" }],
      ["/multi-search", { searches: [{ index: "things", q: "late", query_by: "name" }] }]
    ] as const) {
      const { body: answer, status } = await ask(path, body)
      expect([status, answer]).toEqual([504, { error: "search_timed_out" }])
    }
    expect(late.length).toBe(2)
    for (const settle of late) settle()
    searched = undefined
    expect((await ask("/indexes/things/search", { q: "timely", query_by: "name" })).status).toBe(200)
    expect(await used()).toBe(before + 1)
    const queries = async () => {
      const day = new Date().toISOString().slice(0, 10)
      const { body } = await program.request("GET", `/v1/analytics/metrics/queries?from=${day}&to=${day}`, {
        key: tenant.full_key
      })
      return body.data.map(({ q }: { q: string }) => q) as ReadonlyArray<string>
    }
    await until(async () => (await queries()).includes("timely"))
    expect(await queries()).not.toContain("late")
  })
  it("that blocks this thread is answered 504 once it is done", async () => {
    searched = (_, given) => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SEARCH_TIME_MAX_MS + 50)
      return given.map(() => ({
        ok: true,
        value: {
          found: 0,
          hits: [],
          facet_counts: [],
          search_cutoff: true,
          request_params: { collection_name: "things", first_q: "*", per_page: 10, q: "*" }
        }
      }))
    }
    expect((await ask("/indexes/things/search")).status).toBe(504)
    // The tenant API has no such limit: the search is cut off, and the answer says so.
    const { body, status } = await direct()
    expect([status, body.search_cutoff]).toEqual([200, true])
  })
  it("gets the time limit with every plan: the rest of the request's time, and no more than requested", async () => {
    const cutoffs = async (path: string, body: unknown) => {
      planned = []
      expect((await ask(path, body)).status).toBe(200)
      return planned.map(({ cutoff_ms }) => cutoff_ms)
    }
    const entry = { index: "things", q: "*" }
    const isWhatRemains = (cutoff_ms: number | undefined) =>
      cutoff_ms !== undefined && cutoff_ms > SEARCH_TIME_MAX_MS / 2 && cutoff_ms <= SEARCH_TIME_MAX_MS
    expect(await cutoffs("/indexes/things/search", { q: "*" })).toSatisfy(([one]) => isWhatRemains(one))
    expect(await cutoffs("/indexes/things/search", { q: "*", search_cutoff_ms: 7 })).toEqual([7])
    expect(await cutoffs("/indexes/things/search", { q: "*", search_cutoff_ms: 60_000 })).toSatisfy(([one]) =>
      isWhatRemains(one)
    )
    expect(await cutoffs("/multi-search", { searches: [entry, { ...entry, search_cutoff_ms: 9 }, entry] })).toSatisfy(
      ([one, two, three]) => isWhatRemains(one) && two === 9 && isWhatRemains(three)
    )
    // A remote engine is called once for all of them.
    searched = async (_, given) =>
      given.map(() => ({
        ok: true,
        value: {
          found: 0,
          hits: [],
          facet_counts: [],
          search_cutoff: false,
          request_params: { collection_name: "things", first_q: "*", per_page: 10, q: "*" }
        }
      }))
    isElsewhere = true
    const before = calls
    expect(await cutoffs("/multi-search", { searches: [entry, entry] })).toHaveLength(2)
    expect(calls - before).toBe(1)
  })
  it("is unavailable on the tenant API if it times out by itself, because that API has no 504", async () => {
    searched = async (_, given) => given.map(() => fail({ kind: "TimedOut", message: "gave up" }))
    expect((await ask("/indexes/things/search")).status).toBe(504)
    expect((await direct()).status).toBe(502)
  })
})

describe("an engine that is away", () => {
  it("answers 502, then 503 with Retry-After: 10 without being called, and recovers by itself", async () => {
    const before = await used()
    searched = away
    isElsewhere = true
    const first = [
      await direct(),
      await ask("/indexes/things/search"),
      await ask("/multi-search", { searches: [{ index: "things", q: "*" }] })
    ]
    expect(first.map(({ body, status }) => [status, body.error ?? body.message])).toEqual([
      [502, "connection refused"],
      [502, "upstream_unreachable"],
      [502, "upstream_unreachable"]
    ])
    const multi = await program.request("POST", "/v1/multi_search", {
      key: tenant.search_key,
      body: {
        searches: [
          { collection: "things", q: "*" },
          { collection: "things", q: "*" }
        ]
      }
    })
    expect([multi.status, multi.body]).toEqual([502, { message: "connection refused" }])
    expect((await direct()).status).toBe(502)
    // Five in a row.
    const asked = calls
    const refused = [
      await direct(),
      await ask("/indexes/things/search"),
      await ask("/federated-search", { searches: [{ index: "things", q: "*" }] })
    ]
    expect(
      refused.map(({ body, headers, status }) => [status, headers.get("retry-after"), body.error ?? Object.keys(body)])
    ).toEqual([
      [503, "10", ["message"]],
      [503, "10", "degraded"],
      [503, "10", "degraded"]
    ])
    expect(calls).toBe(asked)
    // Documents have a separate circuit breaker.
    expect((await ask("/indexes/things/documents", { documents: [{ id: "2", name: "mug" }] }, connector)).status).toBe(
      200
    )
    expect((await ask("/indexes/things/documents", { documents: [] }, connector)).status).toBe(400)
    searched = undefined
    await until(async () => (await ask("/indexes/things/search")).status === 200)
    expect((await ask("/indexes/things/search")).body.found).toBe(2)
    expect(await used()).toBeGreaterThanOrEqual(before + 2)
  })
  it("is shown to the operator and by the probe while the circuit is open", async () => {
    searched = away
    isElsewhere = true
    await until(async () => {
      await direct()
      const { engine_circuits, status } = await statusOfEngine()
      return engine_circuits.reads === "open" && engine_circuits.writes === "closed" && status === "down"
    })
    const health = await program.request("GET", "/api/v1/health")
    expect([health.status, health.body, health.headers.get("retry-after")]).toEqual([503, { error: "degraded" }, "10"])
    searched = undefined
    await until(async () => (await direct()).status === 200 && (await statusOfEngine()).status !== "down")
    expect((await statusOfEngine()).engine_circuits).toEqual({ reads: "closed", writes: "closed" })
  })
  it("refuses only writes if only writes fail", async () => {
    writesAre = "away"
    const statuses: Array<number> = []
    for (let i = 0; i < 7; i++)
      statuses.push(
        (await ask("/indexes/things/documents", { documents: [{ id: "3", name: "pan" }] }, connector)).status
      )
    expect(statuses).toEqual([502, 502, 502, 502, 502, 503, 503])
    expect((await ask("/indexes/things/search")).status).toBe(200)
    writesAre = "real"
    await until(
      async () =>
        (await ask("/indexes/things/documents", { documents: [{ id: "3", name: "pan" }] }, connector)).status === 200
    )
  })
})

describe("trouble of our own", () => {
  it("answers 500 with the request's id and without its cause", async () => {
    writesAre = "broken"
    const answer = await ask("/indexes/things/documents", { documents: [{ id: "4", name: "x" }] }, connector)
    expect([answer.status, answer.body]).toEqual([
      500,
      { error: "internal_error", requestId: answer.headers.get("x-request-id") }
    ])
  })
  it("is reported as degraded if requests are not answered in time; the probe answers, the key comes first", async () => {
    isShedding = true
    for (const answer of [
      await ask("/indexes/things/search"),
      await ask("/multi-search", "not json"),
      await ask("/indexes/things/documents", {}, connector)
    ]) {
      expect([answer.status, answer.body, answer.headers.get("retry-after")]).toEqual([
        503,
        { error: "degraded" },
        "10"
      ])
    }
    expect((await ask("/indexes/things/search", {}, "ss_search_nobody")).status).toBe(401)
    expect((await program.request("GET", "/api/v1/health")).status).toBe(200)
    expect((await program.request("GET", "/api/v1/capabilities")).status).toBe(200)
    isShedding = false
    expect((await ask("/indexes/things/search")).status).toBe(200)
  })
})
