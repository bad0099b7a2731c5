/** Analytics rules over HTTP: each operation, each refusal, and what they count from real events. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Program, Tenant } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"
import { eventually } from "../support/receiver.ts"

let program: Program
let tenant: Tenant
let other: Tenant
beforeAll(async () => {
  program = await sharedProgram()
  tenant = await program.tenant("Rules")
  other = await program.tenant("Others")
  for (const owner of [tenant, other]) {
    for (const [name, fields] of [
      [
        "products",
        [
          { name: "title", type: "string" },
          { name: "popularity", type: "int32" },
          { name: "brand", type: "string", facet: true }
        ]
      ],
      [
        "popular",
        [
          { name: "q", type: "string" },
          { name: "count", type: "int32" },
          { name: "filter_by", type: "string", optional: true },
          { name: "analytics_tag", type: "string", optional: true }
        ]
      ],
      [
        "missed",
        [
          { name: "q", type: "string" },
          { name: "count", type: "int32" }
        ]
      ]
    ])
      expect((await send("POST", "/collections", { name, fields }, owner)).status).toBe(201)
    for (const document of [
      { id: "1", title: "running shoes", popularity: 10, brand: "a" },
      { id: "2", title: "hat", popularity: 0, brand: "b" }
    ])
      await send("POST", "/collections/products/documents", document, owner)
  }
})
afterAll(() => program.stop())

const send = (method: string, path: string, body?: unknown, owner: Tenant = tenant, key = owner.full_key) =>
  program.request(method, `/v1${path}`, { key, body })
const popular = {
  name: "top",
  type: "popular_queries",
  collection: "products",
  event_type: "search",
  params: { destination_collection: "popular", limit: 3 }
}
const tell = async (events: ReadonlyArray<Record<string, unknown>>, owner: Tenant = tenant) =>
  expect(
    (
      await send(
        "POST",
        "/events",
        { events: events.map((event) => ({ collection: "products", ...event })) },
        owner,
        owner.search_key
      )
    ).body
  ).toMatchObject({ accepted: events.length, rejected: [] })
const documents = async (collection: string, owner: Tenant = tenant) =>
  (
    (await send("GET", `/collections/${collection}/documents/search?q=*&sort_by=count:desc`, undefined, owner)).body
      .hits as ReadonlyArray<{ document: Record<string, unknown> }>
  ).map(({ document: { id: _id, ...document } }) => document)
const comesTo = (what: string, look: () => Promise<unknown>, expected: unknown) => {
  let seen: unknown
  return eventually(
    what,
    async () => {
      seen = await look()
      return JSON.stringify(seen) === JSON.stringify(expected) || undefined
    },
    25_000
  ).catch(() => expect(seen).toEqual(expected))
}

describe("analytics rules", () => {
  it("are created, listed, read, changed and deleted", async () => {
    const made = await send("POST", "/analytics/rules", { ...popular, name: "crud", rule_tag: "t" })
    const full = {
      name: "crud",
      type: "popular_queries",
      collection: "products",
      event_type: "search",
      rule_tag: "t",
      params: {
        destination_collection: "popular",
        limit: 3,
        capture_search_requests: true,
        expand_query: false,
        meta_fields: []
      }
    }
    expect([made.status, made.body]).toEqual([201, full])
    expect((await send("GET", "/analytics/rules/crud")).body).toEqual(full)
    const counter = {
      type: "counter",
      collection: "products",
      event_type: "click",
      params: { counter_field: "popularity", weight: 2 }
    }
    expect((await send("PUT", "/analytics/rules/clicks%20crud", counter)).status).toBe(201)
    expect((await send("GET", "/analytics/rules")).body.map(({ name }: { name: string }) => name)).toEqual([
      "clicks crud",
      "crud"
    ])
    expect((await send("GET", "/analytics/rules?rule_tag=t")).body).toEqual([full])
    expect((await send("GET", "/analytics/rules", undefined, other)).body).toEqual([])
    const changed = await send("PUT", "/analytics/rules/crud", { rule_tag: "u", params: { limit: 7 } })
    expect([changed.status, changed.body]).toEqual([
      200,
      { ...full, rule_tag: "u", params: { ...full.params, limit: 7 } }
    ])
    const many = await send("POST", "/analytics/rules", [
      { ...popular, name: "one" },
      { ...popular, name: "crud" },
      "x"
    ])
    expect([many.status, many.body]).toEqual([
      201,
      [
        expect.objectContaining({ name: "one" }),
        { error: "name: Rule already exists" },
        { error: "body: A rule is an object" }
      ]
    ])
    expect((await send("DELETE", "/analytics/rules/crud")).body).toMatchObject({ name: "crud" })
    for (const [method, body] of [
      ["GET", undefined],
      ["DELETE", undefined]
    ] as const) {
      const gone = await send(method, "/analytics/rules/crud", body)
      expect([gone.status, gone.body.code]).toEqual([404, "NOT_FOUND"])
    }
    for (const name of ["one", "clicks%20crud"])
      expect((await send("DELETE", `/analytics/rules/${name}`)).status).toBe(200)
  })

  it("are refused with the field that is wrong", async () => {
    const refused = async (change: Record<string, unknown>, base: Record<string, unknown> = popular) => {
      const { body, status } = await send("POST", "/analytics/rules", { ...base, ...change })
      return [status, body.code, body.data?.issues?.[0]?.path, body.data?.issues?.[0]?.message]
    }
    const counter = {
      name: "c",
      type: "counter",
      collection: "products",
      event_type: "click",
      params: { counter_field: "popularity", weight: 1 }
    }
    const bad: ReadonlyArray<readonly [Record<string, unknown>, string, string, Record<string, unknown>?]> = [
      [{ name: undefined }, "name", "Name is required when creating an analytics rule"],
      [{ name: "x".repeat(201) }, "name", "At most 200 characters"],
      [{ type: "clicks" }, "type", "Event type or type is invalid (or) combination of both is invalid"],
      [{ type: undefined }, "type", "Type is required when creating an analytics rule"],
      [{ collection: "none" }, "collection", "Collection none does not exist"],
      [{ event_type: "click" }, "event_type", "Event type or type is invalid (or) combination of both is invalid"],
      [{ params: undefined }, "params.destination_collection", "Destination collection is required"],
      [
        { params: { destination_collection: "none", limit: 1 } },
        "params.destination_collection",
        "Destination collection does not exist"
      ],
      [
        { params: { destination_collection: "popular", limit: 0 } },
        "params.limit",
        "Limit should be a number greater than 0"
      ],
      [
        { params: { destination_collection: "popular", limit: 1, meta_fields: ["q"] } },
        "params.meta_fields",
        "An array of filter_by, analytics_tag"
      ],
      [
        { params: { destination_collection: "popular", limit: 1, weight: 1 } },
        "params.weight",
        "Not a parameter of a rule of type popular_queries"
      ],
      [{ colour: 1 }, "colour", "Not a field of a rule"],
      [{ rule_tag: 4 }, "rule_tag", "A text"],
      [
        { params: { weight: 1 } },
        "params.counter_field",
        "Counter field is required when creating a counter type rule",
        counter
      ],
      [
        { params: { counter_field: "popularity", weight: 0 } },
        "params.weight",
        "Weight should be a number greater than 0",
        counter
      ],
      [
        { params: { counter_field: "title", weight: 1 } },
        "params.counter_field",
        "A field of numbers at the top of the document",
        counter
      ],
      [
        { event_type: "search" },
        "event_type",
        "Event type or type is invalid (or) combination of both is invalid",
        counter
      ]
    ]
    for (const [change, path, message, base] of bad)
      expect(await refused(change, base), JSON.stringify(change)).toEqual([400, "BAD_REQUEST", path, message])
    expect((await send("PUT", "/analytics/rules/fixed", { ...counter, name: "fixed" })).status).toBe(201)
    for (const [change, path, message] of [
      [{ type: "log" }, "type", "Rule type cannot be changed"],
      [{ collection: "popular" }, "collection", "Rule collection cannot be changed"],
      [{ event_type: "visit" }, "event_type", "Rule event type cannot be changed"]
    ] as const) {
      const { body, status } = await send("PUT", "/analytics/rules/fixed", change)
      expect([status, body.data.issues[0]]).toEqual([400, { path, message }])
    }
    await send("DELETE", "/analytics/rules/fixed")
    for (const [method, path] of [
      ["GET", "/analytics/rules"],
      ["POST", "/analytics/rules"],
      ["GET", "/analytics/rules/x"],
      ["PUT", "/analytics/rules/x"],
      ["DELETE", "/analytics/rules/x"],
      ["GET", "/analytics/events"]
    ] as const) {
      expect((await send(method, path, method === "GET" ? undefined : {}, tenant, tenant.search_key)).status).toBe(403)
    }
  })

  it("write queries, counters and events to their destinations, from the server's own log", async () => {
    const rules = [
      popular,
      {
        ...popular,
        name: "by filter",
        params: {
          destination_collection: "popular",
          limit: 10,
          meta_fields: ["filter_by"],
          capture_search_requests: false
        }
      },
      { ...popular, name: "nothing", type: "nohits_queries", params: { destination_collection: "missed", limit: 10 } },
      {
        name: "clicks",
        type: "counter",
        collection: "products",
        event_type: "click",
        params: { counter_field: "popularity", weight: 3 }
      },
      {
        name: "signups",
        type: "counter",
        collection: "products",
        event_type: "conversion",
        params: { counter_field: "signups", weight: 1 }
      },
      { name: "journal", type: "log", collection: "products", event_type: "click" }
    ]
    expect((await send("POST", "/analytics/rules", rules)).body.map(({ name }: { name: string }) => name)).toEqual(
      rules.map(({ name }) => name)
    )
    expect((await send("POST", "/analytics/rules", [rules[0], rules[3]], other)).status).toBe(201)
    // The log rule takes effect with the first flush after it was created.
    await tell([{ type: "view", document_id: "2" }])
    const metrics = (path: string) => send("GET", `/analytics/metrics/${path}?from=2026-01-01T00:00:00Z&to=2026-12-31`)
    await eventually("the first flush", async () => (await metrics("products")).body.total > 0 || undefined)
    const search = (q: string, count: number, more: Record<string, unknown> = {}) =>
      Array.from({ length: count }, (_, i) => ({
        type: "search",
        q,
        results_found: 4,
        event_id: `${q}${i}${JSON.stringify(more)}`,
        ...more
      }))
    await tell([
      ...search("Shoes", 5),
      ...search("hat", 4, { filter_by: "brand:=b" }),
      ...search("sock", 3),
      ...search("glove", 2),
      ...search("unicorn", 2, { results_found: 0 }),
      // The user keeps typing; only the final query counts.
      { type: "search", q: "ha", session_id: "k", results_found: 1 },
      { type: "search", q: "hat", session_id: "k", results_found: 1 },
      { type: "click", document_id: "1", event_id: "c1", user_id: "ann", colour: "red" },
      { type: "click", document_id: "1", event_id: "c2", user_id: "bob" },
      { type: "click", document_id: "gone" },
      { type: "conversion", document_id: "2" },
      { type: "conversion", document_ids: ["1", "2"] },
      { type: "click", document_id: "1", timestamp: Date.now() - 86_400_000 }
    ])
    expect(
      (
        await send("POST", "/events", {
          events: [{ type: "click", collection: "products", document_id: "1", event_id: "c1" }]
        })
      ).body.deduplicated
    ).toBe(1)
    // Searches answered by the server count too.
    expect(
      (await send("GET", "/collections/products/documents/search?q=running%20shoes&query_by=title")).body.found
    ).toBe(1)
    await tell([{ type: "click", document_id: "2" }], other)

    await comesTo("missed queries", () => documents("missed"), [{ q: "unicorn", count: 2 }])
    const shown = {
      "by filter": [{ q: "hat", count: 4, filter_by: "brand:=b" }],
      top: [
        { q: "hat", count: 5 },
        { q: "shoes", count: 5 },
        { q: "sock", count: 3 }
      ]
    }
    const sorted = (all: ReadonlyArray<Record<string, unknown>>) =>
      all.map(({ count, filter_by, q }) => `${String(q)} ${String(count)} ${String(filter_by ?? "-")}`).sort()
    await comesTo(
      "popular queries",
      async () => sorted(await documents("popular")),
      [
        ...shown.top.map(({ count, q }) => `${q} ${count} -`),
        ...["glove 2 ", "hat 1 ", "hat 4 brand:=b", "shoes 5 ", "sock 3 "]
      ].sort()
    )
    const field =
      (id: string, name: string, owner = tenant) =>
      async () =>
        (await send("GET", `/collections/products/documents/${id}`, undefined, owner)).body[name]
    await comesTo("clicks of 1", field("1", "popularity"), 16)
    await comesTo("signups of 2", field("2", "signups"), 2)
    await comesTo("clicks of the other tenant", field("2", "popularity", other), 3)
    expect([
      await field("1", "signups")(),
      await field("2", "popularity")(),
      await field("1", "popularity", other)()
    ]).toEqual([1, 0, 10])
    expect(await documents("popular", other)).toEqual([])
    const kept = (await send("GET", "/analytics/events?user_id=ann&name=journal&n=10")).body.events
    expect(kept).toEqual([
      {
        name: "journal",
        event_type: "click",
        collection: "products",
        timestamp: expect.any(Number),
        user_id: "ann",
        doc_id: "1",
        event_id: "c1",
        colour: "red"
      }
    ])

    // Another query overtakes; the one that drops out is removed from the collection.
    await tell(search("glove", 9, { results_found: 9 }))
    await comesTo(
      "the new order",
      async () => sorted(await documents("popular")).filter((text) => text.endsWith(" -")),
      ["glove 11 -", "hat 5 -", "shoes 5 -"]
    )
    for (const [query, path] of [
      ["user_id=ann", "name"],
      ["name=journal", "user_id"],
      ["user_id=ann&name=journal&n=1001", "n"]
    ])
      expect((await send("GET", `/analytics/events?${query}`)).body.data.issues[0].path).toBe(path)
    expect((await send("GET", "/analytics/events?user_id=ann&name=journal", undefined, other)).status).toBe(404)
  })

  it("store the completed query if the rule requests it", async () => {
    await send("POST", "/collections", {
      name: "completed",
      fields: [
        { name: "q", type: "string" },
        { name: "count", type: "int32" }
      ]
    })
    await send("PUT", "/analytics/rules/expand", {
      ...popular,
      name: undefined,
      params: { destination_collection: "completed", limit: 5, expand_query: true }
    })
    await tell([
      { type: "search", q: "running sho", results_found: 1, session_id: "e1" },
      { type: "search", q: "running shoes", results_found: 1, session_id: "e2" },
      { type: "search", q: "zzz", results_found: 1 }
    ])
    await comesTo("completed queries", () => documents("completed"), [
      { q: "running shoes", count: 2 },
      { q: "zzz", count: 1 }
    ])
  })
})
