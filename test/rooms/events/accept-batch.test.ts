/**
 * Validation of event batches: every rule of `docs/contract/events.md#events`, and the property that each entry has
 * exactly one outcome.
 */
import { describe, expect, it } from "vitest"
import { acceptBatch } from "../../../src/events/intake/accept-batch.ts"
import { keptEntry, keptLine, RejectionBudget } from "../../../log/rejection.ts"
import { EVENT_AGE_MAX_MS, EVENT_AHEAD_MAX_MS, EVENT_TYPES } from "../../../log/event-schema.ts"
import { decodeRecord, encodeRecord } from "../../../log/record.ts"
import { seeded } from "../../support/attribution-oracle.ts"

const NOW = Date.UTC(2026, 4, 4, 12)
const fate = (entry: unknown) => {
  const { accepted, rejected } = acceptBatch([entry], NOW)
  return rejected[0]?.reason ?? accepted[0]
}
const view = (over: Record<string, unknown> = {}) => ({ type: "view", collection: "c", document_id: "d", ...over })

describe("an entry", () => {
  it.each([
    [null, "must be an object"],
    [[], "must be an object"],
    ["x", "must be an object"],
    [{}, "type must be one of"],
    [{ type: "VIEW", collection: "c" }, "type must be one of"],
    [{ type: "toString", collection: "c" }, "type must be one of"],
    [{ type: "view", document_id: "d" }, "collection is required"],
    [view({ collection: "" }), "collection is required"],
    [view({ collection: 7.5 }), "collection must be a string"],
    [{ type: "search", collection: "c" }, "q is required"],
    [{ type: "view", collection: "c" }, "document_id is required"],
    [{ type: "click", collection: "c", document_id: "" }, "document_id is required"],
    [{ type: "custom", collection: "c" }, "name is required"],
    [{ type: "purchase", collection: "c", revenue: 1 }, "document_id or items"],
    [{ type: "add_to_cart", collection: "c", document_id: "d" }, "revenue, or price"],
    [{ type: "purchase", collection: "c", items: [{ document_id: "d", quantity: 2 }] }, "revenue, or price"],
    [{ type: "purchase", collection: "c", items: [] }, "items must be"],
    [{ type: "purchase", collection: "c", items: [{ price: 2 }] }, "items[0].document_id is required"],
    [{ type: "purchase", collection: "c", document_id: "d", revenue: -1 }, "revenue must be a number"],
    [{ type: "purchase", collection: "c", document_id: "d", revenue: "5" }, "revenue must be a number"],
    [view({ event_id: 7 }), "event_id must be a string"],
    [view({ event_id: "é".repeat(65) }), "at most 128 bytes"],
    [view({ user_id: "a\u0000b" }), "NUL"],
    [view({ timestamp: "now" }), "timestamp must be"],
    [view({ timestamp: NOW - EVENT_AGE_MAX_MS - 1 }), "30 days"],
    [view({ timestamp: NOW + EVENT_AHEAD_MAX_MS + 1 }), "5 minutes"],
    [view({ position: -1 }), "position must be"],
    [view({ metadata: [1] }), "metadata must be an object"],
    [view({ quantity: 0 }), "quantity must be"]
  ])("%j is rejected: %s", (entry, reason) => {
    expect(fate(entry)).toEqual(expect.stringContaining(reason))
  })
  it("at the edge of every bound is accepted", () => {
    expect(fate(view({ event_id: "e".repeat(128), timestamp: NOW - EVENT_AGE_MAX_MS }))).toMatchObject({
      timestamp: NOW - EVENT_AGE_MAX_MS
    })
    expect(fate(view({ timestamp: NOW + EVENT_AHEAD_MAX_MS }))).toMatchObject({ type: "view" })
    expect(fate({ type: "search", collection: "c", q: "" })).toMatchObject({ q: "", timestamp: NOW })
    expect(
      fate({ type: "purchase", collection: "c", items: [{ document_id: 7, price: 2, quantity: 0.5 }] })
    ).toMatchObject({ items: [{ document_id: "7", price: 2, quantity: 0.5 }] })
    expect(fate({ type: "conversion", collection: "c" })).toMatchObject({ type: "conversion" })
  })
  it("keeps unknown keys under metadata, which the sender's own metadata overrides, and treats null as absent", () => {
    const { accepted, unknownKeys } = acceptBatch(
      [view({ colour: "red", size: 3, metadata: { size: 4 }, user_id: null })],
      NOW
    )
    expect(accepted[0]).toMatchObject({ metadata: { colour: "red", size: 4 } })
    expect(accepted[0]).not.toHaveProperty("user_id")
    expect(unknownKeys).toBe(2)
  })
  it("for a collection beyond the key's reach is rejected alone", () => {
    const { accepted, rejected } = acceptBatch([view(), view({ collection: "secret" })], NOW, {
      indexFrom: 10,
      reaches: (name) => name === "c"
    })
    expect([accepted.length, rejected]).toEqual([1, [{ index: 11, reason: "the key does not reach this collection" }]])
  })
})

describe("a batch of anything", () => {
  const random = seeded(77)
  const pick = <A>(from: ReadonlyArray<A>): A => from[Math.floor(random() * from.length)]!
  const value = (depth = 0): unknown =>
    pick<() => unknown>([
      () => undefined,
      () => null,
      () => "",
      () => "text",
      () => "é\ud800",
      () => -1,
      () => 0,
      () => 1.5,
      () => NOW,
      () => Number.NaN,
      () => true,
      () => (depth > 2 ? {} : { a: value(depth + 1), ["__proto__"]: 1, document_id: value(depth + 1) }),
      () => (depth > 2 ? [] : [value(depth + 1), value(depth + 1)])
    ])()
  const keys = [
    "collection",
    "event_id",
    "query_id",
    "user_id",
    "session_id",
    "timestamp",
    "document_id",
    "items",
    "document_ids",
    "position",
    "q",
    "quantity",
    "price",
    "revenue",
    "metadata",
    "name",
    "surface",
    "__proto__",
    "constructor",
    "odd key"
  ]
  it("gives every entry one outcome, never throws, and what it accepts survives the log unchanged", () => {
    for (let round = 0; round < 400; round++) {
      const entries = Array.from({ length: 20 }, () =>
        random() < 0.1
          ? value()
          : Object.fromEntries([
              ["type", pick([...EVENT_TYPES, "other"])],
              ["collection", "c"],
              ["document_id", "d"],
              ["q", "q"],
              ...keys.filter(() => random() < 0.15).map((key) => [key, value()])
            ])
      )
      const { accepted, rejected } = acceptBatch(entries, NOW)
      expect(accepted.length + rejected.length).toBe(entries.length)
      expect(rejected.every(({ index, reason }) => index >= 0 && index < entries.length && reason.length > 0)).toBe(
        true
      )
      const back = decodeRecord(
        encodeRecord({ schema_version: 1, organization_id: "o", occurred_at: NOW, payload: { events: accepted } })
      ).payload as { events: Array<Record<string, unknown>> }
      back.events.forEach((event, i) => {
        const sent = accepted[i]! as unknown as Record<string, unknown>
        for (const key of ["type", "collection", "event_id", "session_id", "timestamp", "revenue", "q"])
          expect(event[key]).toEqual(sent[key])
      })
    }
  })
})

describe("an entry that already has the form of an event", () => {
  const random = seeded(78)
  const pick = <A>(from: ReadonlyArray<A>): A => from[Math.floor(random() * from.length)]!
  const long = "x".repeat(86),
    texts = [
      "s",
      "",
      "a".repeat(42),
      "a".repeat(43),
      "é".repeat(42),
      "é".repeat(43),
      long,
      "é".repeat(129),
      "a\u0000b",
      "\ud800",
      "\ud83d\ude00"
    ]
  const numbers = [0, -0, -1, 1, 0.5, 1e9, 1e9 + 1, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY]
  const times = [
    NOW,
    NOW + 0.5,
    NOW - EVENT_AGE_MAX_MS,
    NOW - EVENT_AGE_MAX_MS - 0.5,
    NOW - EVENT_AGE_MAX_MS - 1,
    NOW + EVENT_AHEAD_MAX_MS,
    NOW + EVENT_AHEAD_MAX_MS + 0.5,
    NOW + EVENT_AHEAD_MAX_MS + 1,
    "now"
  ]
  const item = () =>
    pick<() => unknown>([
      () => ({ document_id: pick(texts) }),
      () => ({ document_id: "d", price: pick(numbers), quantity: pick(numbers) }),
      () => ({ document_id: 7 }),
      () => ({ document_id: "d", colour: "red" }),
      () => ({ price: 1 }),
      () => null,
      () => []
    ])()
  const listOf = (one: () => unknown) => () => Array.from({ length: pick([0, 1, 2, 501]) }, one)
  const values: Readonly<Record<string, () => unknown>> = {
    ...Object.fromEntries(
      [
        "event_id",
        "query_id",
        "user_id",
        "anonymous_id",
        "session_id",
        "document_id",
        "surface",
        "device",
        "country",
        "q",
        "filter_by",
        "currency",
        "name"
      ].map((key) => [key, () => pick([...texts, 7, null])])
    ),
    ...Object.fromEntries(
      ["position", "results_found", "quantity", "price", "revenue"].map((key) => [
        key,
        () => pick([...numbers, "1", null])
      ])
    ),
    timestamp: () => pick(times),
    items: listOf(item),
    document_ids: listOf(() => pick([...texts, 7])),
    metadata: () => pick<unknown>([{ a: 1 }, {}, [], "x", null]),
    other: () => 1,
    ["__proto__"]: () => 1
  }
  it("has the same outcome as if a new object were made from it, and is not changed", () => {
    let same = 0
    for (let round = 0; round < 20_000; round++) {
      const entry: Record<string, unknown> = Object.fromEntries([
        ["type", pick([...EVENT_TYPES, "other"])],
        ["collection", "c"],
        ["timestamp", NOW],
        ["document_id", "d"],
        ["q", "q"],
        ["revenue", 1]
      ])
      for (const key of Object.keys(values))
        if (random() < 0.08)
          Object.defineProperty(entry, key, {
            value: values[key]!(),
            enumerable: true,
            writable: true,
            configurable: true
          })
      const before = JSON.stringify(entry)
      const now = acceptBatch([entry], NOW)
      expect(JSON.stringify(entry)).toBe(before)
      // A key without a value does not count, but such an entry cannot be used as it is.
      const other = acceptBatch([{ ...entry, nothing: null }], NOW)
      expect(now).toStrictEqual(other)
      if ((now.accepted[0] as unknown) === entry) same++
    }
    expect(same).toBeGreaterThan(1_000)
  })
  it("is used as it is: no copy is kept until the commit", () => {
    const entry = {
      type: "purchase",
      collection: "c",
      event_id: "e",
      timestamp: NOW,
      session_id: "s",
      items: [{ document_id: "d", price: 2, quantity: 1 }],
      currency: "EUR",
      metadata: { a: 1 }
    }
    expect(acceptBatch([entry], NOW).accepted[0]).toBe(entry)
  })
})

describe("what is stored of refused entries", () => {
  it("is bounded by organization: a burst, then a slow refill, each organization separately", () => {
    const budget = new RejectionBudget()
    expect(budget.take("a", 9_000, NOW)).toBe(9_000)
    expect(budget.take("a", 9_000, NOW)).toBe(1_000)
    expect(budget.take("a", 1, NOW)).toBe(0)
    expect(budget.take("b", 5, NOW)).toBe(5)
    expect(budget.take("a", 9_000, NOW + 3_600_000)).toBe(2_000)
    expect(budget.take("a", 20_000, NOW + 86_400_000)).toBe(10_000)
    // A clock that is set back gives nothing.
    expect(budget.take("a", 1, NOW)).toBe(0)
  })
  it("is text that Postgres can store, cut if it is long, readable if it is complete", () => {
    expect(keptEntry({ collection: "c", q: "a\u0000b\ud800" }, "why")).toMatchObject({
      collection: "c",
      isUnreadable: false,
      reason: "why"
    })
    expect(JSON.parse(keptEntry({ q: "a\u0000b\ud800" }, "why").entry)).toEqual({ q: "a\u0000b\ud800" })
    expect(keptEntry({ q: "x".repeat(9_000) }, "why")).toMatchObject({
      isUnreadable: true,
      entry: expect.stringMatching(/^.{8192}$/)
    })
    expect(keptLine("a\u0000b\ud800", "why").entry).toBe("a b\ufffd")
    expect(keptEntry(null, "why")).toEqual({ entry: "null", isUnreadable: false, reason: "why" })
    expect(keptEntry({ collection: "x".repeat(300) }, "why").collection).toBeUndefined()
  })
})
