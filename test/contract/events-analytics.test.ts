/**
 * `POST /events` and the analytics metrics on a running program: counts, rejections, retries, paging, dates, segments,
 * tenants.
 */
import { gzipSync } from "node:zlib"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Program, Tenant } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"
import { promised } from "../support/patience.ts"

let program: Program
let tenant: Tenant
let other: Tenant
beforeAll(async () => {
  program = await sharedProgram()
  tenant = await program.tenant("Events")
  other = await program.tenant("Other")
})
afterAll(() => program.stop())

const HOUR = 3_600_000
const now = Date.now()
const day = (at: number) => new Date(at).toISOString().slice(0, 10)
const range = `from=${day(now - 2 * 24 * HOUR)}&to=${day(now + 24 * HOUR)}`
const post = (events: unknown, key = tenant.search_key) =>
  program.request("POST", "/v1/events", { key, body: { events } })
const metrics = async (path: string, query: string, key = tenant.full_key) =>
  (await program.request("GET", `/v1/analytics/metrics/${path}?${query}`, { key })).body
/** Polls until the answer satisfies, and returns how long that took. */
const eventually = async <A>(
  read: () => Promise<A>,
  isThere: (answer: A) => boolean
): Promise<{ answer: A; waited_ms: number }> => {
  const startedAt = Date.now()
  for (;;) {
    const answer = await read()
    if (isThere(answer) || Date.now() - startedAt > 60_000) return { answer, waited_ms: Date.now() - startedAt }
    await new Promise((settle) => setTimeout(settle, 20))
  }
}
const search = (q: string, over: Record<string, unknown> = {}) => ({
  type: "search",
  collection: "shop",
  q,
  results_found: 5,
  timestamp: now - HOUR,
  ...over
})

describe("POST /events", () => {
  it("answers accepted, deduplicated and rejected, and every entry is one of them", async () => {
    const batch = [
      { type: "view", collection: "c", document_id: "1", event_id: "a" },
      { type: "view", collection: "c", document_id: "1", event_id: "a" },
      { type: "walk", collection: "c" },
      { type: "view", collection: "c" },
      { type: "purchase", collection: "c", document_id: "1" },
      { type: "purchase", collection: "c", items: [{ document_id: "1", quantity: 2, price: 3.5 }], colour: "red" },
      { type: "custom", collection: "c", name: "scrolled", timestamp: now - 31 * 24 * HOUR },
      { type: "click", collection: "c", document_id: "1", timestamp: now + 10 * 60_000 },
      "not an object"
    ]
    const first = await post(batch, other.search_key)
    expect(first.status).toBe(200)
    expect(first.body).toEqual({
      accepted: 2,
      deduplicated: 1,
      rejected: [
        { index: 2, reason: expect.stringContaining("type must be one of") },
        { index: 3, reason: expect.stringContaining("document_id") },
        { index: 4, reason: expect.stringContaining("revenue") },
        { index: 6, reason: expect.stringContaining("30 days") },
        { index: 7, reason: expect.stringContaining("5 minutes") },
        { index: 8, reason: expect.stringContaining("object") }
      ]
    })
    expect((await post([batch[0]], other.search_key)).body).toEqual({ accepted: 0, deduplicated: 1, rejected: [] })
    // The same id in another tenant is another event.
    expect((await post([batch[0]], tenant.search_key)).body).toEqual({ accepted: 1, deduplicated: 0, rejected: [] })
  })
  it("refuses an invalid batch with 400, shape B", async () => {
    for (const body of [{}, { events: 3 }, [], "{", { events: Array.from({ length: 1_001 }, () => search("x")) }]) {
      const answer = await program.request("POST", "/v1/events", { key: tenant.search_key, body })
      expect(answer.status).toBe(400)
      expect(answer.body).toMatchObject({ defined: true, code: "BAD_REQUEST", status: 400 })
    }
    expect((await post([])).body).toEqual({ accepted: 0, deduplicated: 0, rejected: [] })
    const large = await program.request("POST", "/v1/events", {
      key: tenant.search_key,
      body: { events: [search("x", { metadata: { text: "y".repeat(1_100_000) } })] }
    })
    expect(large.status).toBe(400)
  })
  it("takes NDJSON of any length, plain and compressed, and numbers its lines", async () => {
    const lines = Array.from({ length: 2_500 }, (_, i) =>
      i === 1_700
        ? "{broken"
        : JSON.stringify({
            type: i === 2_400 ? "nothing" : "view",
            collection: "lines",
            document_id: `d${i}`,
            event_id: `line-${i}`
          })
    )
    const text = `${lines.slice(0, 10).join("\r\n")}\n\n${lines.slice(10).join("\n")}`
    const answer = await program.request("POST", "/v1/events", {
      key: other.search_key,
      body: text,
      headers: { "content-type": "application/x-ndjson" }
    })
    expect(answer.body).toEqual({
      accepted: 2_498,
      deduplicated: 0,
      rejected: [
        { index: 1_700, reason: expect.stringContaining("JSON") },
        { index: 2_400, reason: expect.stringContaining("type") }
      ]
    })
    const again = await program.request("POST", "/v1/events", {
      key: other.search_key,
      body: gzipSync(text),
      headers: { "content-type": "application/x-ndjson", "content-encoding": "gzip" }
    })
    expect(again.body).toMatchObject({ accepted: 0, deduplicated: 2_498 })
  })
})

describe("GET /analytics/metrics", () => {
  it("shows an event within two seconds", async () => {
    // While other tests occupy the processors, one attempt of three in time is enough.
    const { full_key, search_key } = await program.tenant("Swift")
    const waits: Array<number> = []
    for (let i = 1; i <= 3 && !waits.some((ms) => ms < promised(2_000)); i++) {
      await post([search("swift", { event_id: `swift-${i}` })], search_key)
      const { waited_ms } = await eventually(
        () => metrics("queries", range, full_key),
        (body) => body.events === i
      )
      waits.push(waited_ms)
    }
    expect(Math.min(...waits)).toBeLessThan(promised(2_000))
  })
  it("shows events exactly", async () => {
    const batch = [
      search("Red  Shoes", { query_id: "q1", session_id: "s1", device: "mobile", event_id: "s-1" }),
      search("red shoes", { query_id: "q2", session_id: "s2", device: "desktop", event_id: "s-2" }),
      search("hats", { query_id: "q3", session_id: "s3", device: "mobile", results_found: 0, event_id: "s-3" }),
      {
        type: "click",
        collection: "shop",
        document_id: "d1",
        query_id: "q1",
        event_id: "c-1",
        timestamp: now - HOUR + 1_000
      },
      {
        type: "click",
        collection: "shop",
        document_id: "d2",
        query_id: "q1",
        event_id: "c-2",
        timestamp: now - HOUR + 2_000
      },
      {
        type: "add_to_cart",
        collection: "shop",
        document_id: "d2",
        session_id: "s2",
        price: 2.5,
        quantity: 2,
        event_id: "a-1",
        timestamp: now - HOUR + 3_000
      },
      {
        type: "purchase",
        collection: "shop",
        document_id: "d2",
        session_id: "s2",
        revenue: 19.99,
        event_id: "p-1",
        timestamp: now - HOUR + 4_000
      }
    ]
    expect((await post(batch)).body).toEqual({ accepted: 7, deduplicated: 0, rejected: [] })
    expect((await post(batch)).body).toEqual({ accepted: 0, deduplicated: 7, rejected: [] })
    const { answer } = await eventually(
      () => metrics("queries", `${range}&collection=shop`),
      (body) => body.events === 7
    )
    expect(answer).toEqual({
      from: expect.stringMatching(/T00:00:00\.000Z$/),
      to: expect.stringMatching(/T23:59:59\.999Z$/),
      collection: "shop",
      events: 7,
      truncated: false,
      total: 2,
      next_offset: null,
      data: [
        {
          q: "red shoes",
          searches: 2,
          clicks: 2,
          add_to_carts: 1,
          purchases: 1,
          results_found_rate: 1,
          ctr: 0.5,
          no_click_rate: 0.5,
          revenue: 19.99,
          conversion_rate: 0.5,
          revenue_per_search: 9.995,
          cart_value: 5
        },
        {
          q: "hats",
          searches: 1,
          clicks: 0,
          add_to_carts: 0,
          purchases: 0,
          results_found_rate: 0,
          ctr: 0,
          no_click_rate: 1,
          revenue: 0,
          conversion_rate: 0,
          revenue_per_search: 0,
          cart_value: 0
        }
      ]
    })
    expect(await metrics("queries", `${range}&collection=shop`, other.full_key)).toMatchObject({
      events: 0,
      total: 0,
      data: []
    })
  })
  it("pages, and returns the total even past the last row", async () => {
    expect(await metrics("queries", `${range}&collection=shop&limit=1`)).toMatchObject({
      total: 2,
      next_offset: 1,
      data: [{ q: "red shoes" }]
    })
    expect(await metrics("queries", `${range}&collection=shop&limit=1&offset=1`)).toMatchObject({
      total: 2,
      next_offset: null,
      data: [{ q: "hats" }]
    })
    expect(await metrics("queries", `${range}&collection=shop&offset=9`)).toMatchObject({
      total: 2,
      next_offset: null,
      data: []
    })
  })
  it("keeps one value of a segment, or groups by it", async () => {
    expect(await metrics("queries", `${range}&collection=shop&segment=device:mobile`)).toMatchObject({
      total: 2,
      data: [
        { q: "hats", searches: 1 },
        { q: "red shoes", searches: 1 }
      ]
    })
    const grouped = await metrics("queries", `${range}&collection=shop&segment=device`)
    expect(grouped.data.map((row: { q: string; device: string }) => [row.q, row.device])).toEqual([
      ["red shoes", "desktop"],
      ["hats", "mobile"],
      ["red shoes", "mobile"]
    ])
  })
  it("answers exact, inclusive instants", async () => {
    const at = now - HOUR
    const iso = (ms: number) => new Date(ms).toISOString()
    expect(await metrics("queries", `from=${iso(at)}&to=${iso(at)}&collection=shop`)).toMatchObject({
      events: 3,
      total: 2
    })
    expect(await metrics("queries", `from=${iso(at + 1)}&to=${iso(at + 1_000)}&collection=shop`)).toMatchObject({
      events: 1,
      data: [{ q: "red shoes", searches: 0, clicks: 1 }]
    })
    expect(await metrics("queries", `from=${iso(at - 5_000)}&to=${iso(at - 1)}&collection=shop`)).toMatchObject({
      events: 0,
      total: 0
    })
  })
  it("ranks zero results by rate, beside the organization's share", async () => {
    const answer = await metrics("zero-results", `${range}&collection=shop`)
    expect(answer.data).toEqual([
      { q: "hats", searches: 1, zero_results: 1, zero_result_rate: 1 },
      { q: "red shoes", searches: 2, zero_results: 0, zero_result_rate: 0 }
    ])
    expect(answer.organization_zero_result_rate).toBeCloseTo(1 / 3, 10)
  })
  it("sums up in the overview, day by day", async () => {
    const answer = await metrics("overview", `${range}&collection=shop`)
    expect(answer).toMatchObject({
      events: 7,
      totals: { searches: 3, clicks: 2, purchases: 1, revenue: 19.99, ctr: 1 / 3 }
    })
    expect(answer.series).toHaveLength(4)
    expect(answer.series.reduce((sum: number, each: { searches: number }) => sum + each.searches, 0)).toBe(3)
    // Partial days at both ends.
    const part = await metrics(
      "overview",
      `from=${new Date(now - 26 * HOUR).toISOString()}&to=${new Date(now - HOUR + 1_500).toISOString()}&collection=shop`
    )
    expect(part).toMatchObject({ events: 4, totals: { searches: 3, clicks: 1, purchases: 0 } })
    expect(part.series.reduce((sum: number, each: { clicks: number }) => sum + each.clicks, 0)).toBe(1)
  })
  it("counts answered searches too, merged with the events that name them, unless told not to", async () => {
    const shop = await program.tenant("Shop")
    const call = (method: string, path: string, body?: unknown, session = "visitor-1") =>
      program.request(method, path, {
        key: shop.full_key,
        ...(body === undefined ? {} : { body }),
        headers: { "x-svc-session-id": session }
      })
    expect(
      (await call("POST", "/v1/collections", { name: "goods", fields: [{ name: "title", type: "string" }] })).status
    ).toBe(201)
    expect((await call("POST", "/v1/collections/goods/documents", { id: "1", title: "Green kettle" })).status).toBe(201)
    const find = (q: string, more = "", session?: string) =>
      call(
        "GET",
        `/v1/collections/goods/documents/search?query_by=title&q=${encodeURIComponent(q)}${more}`,
        undefined,
        session
      )
    const typed = [await find("gr"), await find("gree"), await find("Green ")]
    expect(typed[2]!.body).toMatchObject({ found: 1, query_id: expect.stringMatching(/^qry_/) })
    await find("unicorn", "", "visitor-2")
    await find("secret", "&enable_analytics=false", "visitor-3")
    const told = await program.request("POST", "/v1/events", {
      key: shop.search_key,
      body: {
        events: [
          { type: "search", collection: "goods", q: "green", query_id: typed[2]!.body.query_id, results_found: 1 },
          { type: "click", collection: "goods", document_id: "1", query_id: typed[2]!.body.query_id, position: 1 }
        ]
      }
    })
    expect(told.body.accepted).toBe(2)
    const { answer: counted, waited_ms } = await eventually(
      () => metrics("queries", range, shop.full_key),
      (body) => body.total === 2 && body.events === 2 && body.data[0].clicks === 1
    )
    expect(waited_ms).toBeLessThan(promised(2_000))
    expect(counted.data).toMatchObject([
      { q: "green", searches: 1, clicks: 1, ctr: 1, results_found_rate: 1 },
      { q: "unicorn", searches: 1, clicks: 0, results_found_rate: 0 }
    ])
    expect(await metrics("zero-results", range, shop.full_key)).toMatchObject({
      total: 2,
      organization_zero_result_rate: 0.5,
      data: [
        { q: "unicorn", zero_result_rate: 1 },
        { q: "green", zero_result_rate: 0 }
      ]
    })
  })
  it("refuses missing, wrong and too wide bounds with 400", async () => {
    for (const query of [
      "",
      "from=2026-01-01",
      "to=2026-01-01",
      "from=x&to=2026-01-01",
      "from=2026-02-30&to=2026-03-01",
      "from=2026-01-02&to=2026-01-01",
      "from=2025-01-01&to=2026-01-02",
      `${range}&limit=0`,
      `${range}&limit=1001`,
      `${range}&limit=ten`,
      `${range}&offset=-1`,
      `${range}&segment=shoe`
    ]) {
      for (const path of ["queries", "zero-results"]) {
        const answer = await program.request("GET", `/v1/analytics/metrics/${path}?${query}`, { key: tenant.full_key })
        expect(answer.status, query).toBe(400)
        expect(answer.body.data.issues, query).toHaveLength(query === "" ? 2 : 1)
      }
    }
    expect(
      (
        await program.request("GET", "/v1/analytics/metrics/queries?from=2025-01-01&to=2026-01-01", {
          key: tenant.full_key
        })
      ).status
    ).toBe(200)
    expect(
      (await program.request("GET", `/v1/analytics/metrics/queries?${range}`, { key: tenant.search_key })).status
    ).toBe(403)
  })
})

describe("absurd amounts", () => {
  it("neither overflow nor block anything", async () => {
    const rich = await program.tenant("Rich")
    const events = (from: number) =>
      Array.from({ length: 1_000 }, (_, i) => ({
        type: "purchase",
        collection: "gold",
        session_id: "s",
        items: [{ document_id: "bar", quantity: 1_000_000_000, price: 1_000_000_000 }],
        revenue: 1_000_000_000,
        event_id: `gold-${from + i}`,
        timestamp: now - HOUR + 1
      }))
    await post([search("gold", { collection: "gold", session_id: "s", timestamp: now - HOUR })], rich.search_key)
    for (let from = 0; from < 12_000; from += 1_000)
      expect((await post(events(from), rich.search_key)).body.accepted).toBe(1_000)
    const { answer } = await eventually(
      () => metrics("queries", range, rich.full_key),
      (body) => body.events === 12_001
    )
    expect(answer.data).toMatchObject([{ q: "gold", purchases: 12_000, revenue: 12_000 * 1_000_000_000 }])
  })
})

describe("a key that reaches some collections", () => {
  it("writes and reads those only", async () => {
    const made = await program.request("POST", "/v1/keys", {
      key: tenant.full_key,
      body: { description: "one", scope: "full", collections: ["shop"] }
    })
    const key = made.body.value as string
    expect(
      (
        await post(
          [search("x", { collection: "secret" }), search("y", { collection: "shop", timestamp: now - 20 * 24 * HOUR })],
          key
        )
      ).body
    ).toMatchObject({ accepted: 1, rejected: [{ index: 0 }] })
    expect(
      (await program.request("GET", `/v1/analytics/metrics/queries?${range}&collection=secret`, { key })).status
    ).toBe(403)
    expect((await program.request("GET", `/v1/analytics/metrics/queries?${range}`, { key })).status).toBe(403)
    expect(
      (await program.request("GET", `/v1/analytics/metrics/queries?${range}&collection=shop`, { key })).status
    ).toBe(200)
  })
})

describe("figures of products, filters and facets", () => {
  it("per document, by revenue, with segments, to the millisecond, and for one tenant", async () => {
    const shop = await program.tenant("Products")
    const at = now - HOUR
    const on = { collection: "shop", timestamp: at }
    await post(
      [
        { type: "view", document_id: "a", device: "mobile", ...on },
        { type: "view", document_id: "a", device: "desktop", ...on },
        { type: "click", document_id: "a", device: "mobile", ...on, timestamp: at + 1 },
        { type: "add_to_cart", document_id: "b", revenue: 5.5, ...on },
        {
          type: "purchase",
          items: [
            { document_id: "b", quantity: 2, price: 0.1 },
            { document_id: "c", quantity: 1, price: 9 }
          ],
          device: "mobile",
          country: "CH",
          ...on
        },
        { type: "view", document_id: "z", collection: "elsewhere", timestamp: at },
        { type: "search", q: "hats", ...on }
      ],
      shop.search_key
    )
    const { answer } = await eventually(
      () => metrics("products", range, shop.full_key),
      (body) => body.events === 7 && body.total === 4
    )
    const nothing = { views: 0, clicks: 0, add_to_carts: 0, purchases: 0, revenue: 0, cart_value: 0 }
    expect(answer).toMatchObject({
      collection: null,
      truncated: false,
      next_offset: null,
      data: [
        { document_id: "c", ...nothing, purchases: 1, revenue: 9 },
        { document_id: "b", ...nothing, add_to_carts: 1, purchases: 1, revenue: 0.2, cart_value: 5.5 },
        { document_id: "a", ...nothing, views: 2, clicks: 1 },
        { document_id: "z", ...nothing, views: 1 }
      ]
    })
    expect(await metrics("products", `${range}&collection=shop&limit=1&offset=2`, shop.full_key)).toMatchObject({
      total: 3,
      next_offset: null,
      data: [{ document_id: "a" }]
    })
    expect(
      (await metrics("products", `${range}&collection=shop&segment=device`, shop.full_key)).data.map((row: any) => [
        row.document_id,
        row.device,
        row.views,
        row.clicks,
        row.purchases
      ])
    ).toEqual([
      ["c", "mobile", 0, 0, 1],
      ["b", "mobile", 0, 0, 1],
      ["b", "", 0, 0, 0],
      ["a", "mobile", 1, 1, 0],
      ["a", "desktop", 1, 0, 0]
    ])
    expect(
      (await metrics("products", `${range}&segment=country:CH`, shop.full_key)).data.map(
        ({ document_id }: any) => document_id
      )
    ).toEqual(["c", "b"])
    // The ends of a range, given as instants.
    const iso = (ms: number) => new Date(ms).toISOString()
    expect(
      (await metrics("products", `from=${iso(at + 1)}&to=${iso(at + 1)}&segment=device:mobile`, shop.full_key)).data
    ).toEqual([{ document_id: "a", ...nothing, clicks: 1 }])
    expect(await metrics("products", range, other.full_key)).not.toMatchObject({ data: [{ document_id: "c" }] })
    for (const path of ["products", "filters"]) {
      expect(await metrics(path, "from=x&to=2026-01-01", shop.full_key)).toMatchObject({
        code: "BAD_REQUEST",
        data: { issues: [{ path: "from" }] }
      })
      expect(await metrics(path, `${range}&segment=shoe`, shop.full_key)).toMatchObject({
        data: { issues: [{ path: "segment" }] }
      })
      expect(
        (await program.request("GET", `/v1/analytics/metrics/${path}?${range}`, { key: shop.search_key })).status
      ).toBe(403)
    }
  })
  it("per filter value and facet, from events and from the server's own answers", async () => {
    const shop = await program.tenant("Filters")
    const on = (q: string, filter_by: string, over = {}) => ({
      type: "search",
      collection: "shop",
      q,
      filter_by,
      results_found: 3,
      timestamp: now - HOUR,
      ...over
    })
    await program.request("POST", "/v1/collections", {
      key: shop.full_key,
      body: {
        name: "shop",
        fields: [
          { name: "title", type: "string" },
          { name: "brand", type: "string", facet: true }
        ]
      }
    })
    await post(
      [
        on("a", "brand:=Sony", { query_id: "x1" }),
        on("b", "brand:=[Sony,LG] && price:<10", { results_found: 0, device: "mobile" }),
        on("c", ""),
        { type: "click", collection: "shop", document_id: "1", query_id: "x1", timestamp: now - HOUR + 1_000 }
      ],
      shop.search_key
    )
    const searched = await program.request(
      "GET",
      "/v1/collections/shop/documents/search?q=*&facet_by=brand&filter_by=brand:=LG&x_device=mobile",
      { key: shop.search_key }
    )
    expect(searched.status).toBe(200)
    const { answer } = await eventually(
      () => metrics("filters", range, shop.full_key),
      (body) => body.total === 4 && body.data[0].searches === 2 && body.data[1].searches === 2 && body.data[1].ctr > 0
    )
    const of = (searches: number, zero_results: number, ctr: number) => ({
      searches,
      zero_results,
      results_found_rate: 1 - zero_results / searches,
      ctr,
      conversion_rate: 0
    })
    expect(answer.data).toEqual([
      { type: "filter", field: "brand", value: "LG", ...of(2, 2, 0) },
      { type: "filter", field: "brand", value: "Sony", ...of(2, 1, 0.5) },
      { type: "facet", field: "brand", ...of(1, 1, 0) },
      { type: "filter", field: "price", value: "<10", ...of(1, 1, 0) }
    ])
    expect(await metrics("filters", `${range}&segment=device:mobile&limit=1`, shop.full_key)).toMatchObject({
      total: 4,
      next_offset: 1,
      data: [{ field: "brand", value: "LG", searches: 2 }]
    })
  })
})
