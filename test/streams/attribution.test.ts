/**
 * The attribution step as a function: first its rules one by one, then random visits in random order against a plain
 * oracle.
 */
import { assert, describe, it } from "vitest"
import type { BehaviouralEvent, ServedSearch } from "../../log/event-schema.ts"
import type { Facts } from "../../streams/facts/facts.ts"
import type { RollupSums } from "../../streams/processors/rollups/emitted.ts"
import { QUERY_AMOUNTS, QUERY_MEASURES } from "../../streams/processors/rollups/tables.ts"
import { AttributionState } from "../../streams/processors/attribution/state.ts"
import type { Body } from "../../streams/processors/attribution/body.ts"
import { step } from "../../streams/processors/attribution/step.ts"
import { memoryStore, type StateStore } from "../../streams/state/state.ts"
import { generate, oracleRows, type OracleRow, seeded } from "../support/attribution-oracle.ts"
import { newCounted } from "../support/facts.ts"

const NOW = Date.UTC(2026, 4, 4, 12)
const options = { fingerprintKey: [1, 2, 3, 4] as const }
type Numbered = { readonly body: Body; readonly offset: number }

/** A record's place is fixed by its content, as in the log, so that a shuffle changes only the order of arrival. */
const number = (bodies: ReadonlyArray<Body>): Array<Numbered> => bodies.map((body, offset) => ({ body, offset }))
const run = (state: AttributionState, records: ReadonlyArray<Numbered>, facts: Facts): void => {
  for (const { body, offset } of records) step(state, body, { topic: "t", offset, index: 0, appendedAt: NOW }, facts)
}
const rowsOf = (rollups: RollupSums): Map<string, OracleRow> => {
  const rows = new Map<string, OracleRow>()
  rollups.queries.eachInstant((key, _at, sums, from) => {
    const plain = QUERY_MEASURES.length - QUERY_AMOUNTS
    const value = (name: (typeof QUERY_MEASURES)[number]) => {
      const at = QUERY_MEASURES.indexOf(name)
      return at < plain
        ? sums[from + at]!
        : sums[from + plain + 2 * (at - plain)]! * 1e6 + sums[from + plain + 2 * (at - plain) + 1]!
    }
    const id = `${key[1]}|${key[2]}`
    const row = rows.get(id) ?? {
      searches: 0,
      zero_results: 0,
      searches_with_click: 0,
      searches_with_purchase: 0,
      clicks: 0,
      add_to_carts: 0,
      purchases: 0,
      revenue: 0
    }
    for (const name of [
      "searches",
      "zero_results",
      "searches_with_click",
      "searches_with_purchase",
      "clicks",
      "add_to_carts",
      "purchases"
    ] as const)
      row[name] += value(name)
    row.revenue = Math.round((row.revenue + value("revenue_micros") / 1e6) * 1e6) / 1e6
    rows.set(id, row)
  })
  for (const [id, row] of rows) if (Object.values(row).every((sum) => sum === 0)) rows.delete(id)
  return rows
}
const sorted = (rows: Map<string, OracleRow>) => [...rows].sort(([a], [b]) => (a < b ? -1 : 1))
const served = (query_id: string, q: string, at: number, over: Partial<ServedSearch> = {}): Body => ({
  kind: "served",
  served: {
    organization_id: "o",
    query_id,
    collection: "c",
    q,
    found: 3,
    session_id: "s",
    at: NOW + at,
    isCounted: true,
    ...over
  }
})
const event = (over: Partial<BehaviouralEvent> & { type: BehaviouralEvent["type"] }, at: number): Body => ({
  kind: "event",
  organizationId: "o",
  event: { collection: "c", session_id: "s", timestamp: NOW + at, ...over }
})
const count = (...bodies: ReadonlyArray<Body>) => {
  const { facts, sums: rollups } = newCounted()
  run(new AttributionState(memoryStore(), options), number(bodies), facts)
  return Object.fromEntries([...rowsOf(rollups)].map(([key, row]) => [key.slice(2), row]))
}

describe("what counts as a search", () => {
  it("merges an event with the answer it names, whichever comes first", () => {
    const answer = served("q1", "Red  Shoes", 0)
    const told = event({ type: "search", q: "red shoes", query_id: "q1", results_found: 0 }, 10)
    assert.strictEqual(count(answer, told)["red shoes"]!.searches, 1)
    const reversed = count(told, answer)["red shoes"]!
    assert.deepStrictEqual([reversed.searches, reversed.zero_results], [1, 0])
  })
  it("folds the keystrokes of one session into the last, and takes an earlier count back", () => {
    const typed = [served("a", "sh", 0), served("b", "sho", 1_000), served("c", "shoe", 4_900)]
    assert.deepStrictEqual(Object.keys(count(...typed)), ["shoe"])
    assert.deepStrictEqual(Object.keys(count(...typed.toReversed())), ["shoe"])
    assert.deepStrictEqual(Object.keys(count(served("a", "sh", 0), served("b", "sho", 4_000))).sort(), ["sh", "sho"])
    assert.deepStrictEqual(
      Object.keys(count(served("a", "sh", 0), served("b", "sho", 10, { session_id: "other" }))).sort(),
      ["sh", "sho"]
    )
    assert.strictEqual(
      count(served("a", "sh", 0, { session_id: undefined }), served("b", "sho", 10, { session_id: undefined }))["sh"]!
        .searches,
      1
    )
  })
  it("counts no answer made with enable_analytics=false, and nothing that names it", () => {
    const rows = count(
      served("a", "hat", 0),
      event({ type: "click", document_id: "d", query_id: "b" }, 100),
      served("b", "shoe", 50, { isCounted: false })
    )
    assert.deepStrictEqual([rows.hat!.searches, rows.hat!.clicks, rows.shoe], [1, 0, undefined])
  })
})

describe("the search to which a click belongs", () => {
  it("is that of its query id, else the session's last search within 30 minutes, else none", () => {
    const click = (over: Partial<BehaviouralEvent>, at: number) =>
      event({ type: "click", document_id: "d", ...over }, at)
    const searches = [served("a", "hat", 0), served("b", "shoe", 60_000)]
    assert.strictEqual(count(...searches, click({ query_id: "a" }, 70_000)).hat!.clicks, 1)
    assert.strictEqual(count(...searches, click({}, 70_000)).shoe!.clicks, 1)
    assert.strictEqual(count(...searches, click({}, 30_000)).hat!.searches_with_click, 1)
    assert.strictEqual(count(...searches, click({ query_id: "unknown" }, 70_000)).shoe!.clicks, 1)
    assert.strictEqual(count(...searches, click({}, 60_000 + 30 * 60_000)).shoe!.clicks, 1)
    assert.strictEqual(count(...searches, click({}, 60_001 + 30 * 60_000)).shoe!.clicks, 0)
    assert.strictEqual(count(...searches, click({ collection: "other" }, 70_000)).shoe!.clicks, 0)
  })
  it("changes from the session's search to the named one when that arrives late", () => {
    const rows = count(
      served("a", "hat", 0),
      event({ type: "purchase", document_id: "d", revenue: 0.1, query_id: "b" }, 100),
      served("b", "shoe", 50)
    )
    assert.deepStrictEqual(
      [rows.hat!.purchases, rows.hat!.revenue, rows.shoe!.purchases, rows.shoe!.revenue],
      [0, 0, 1, 0.1]
    )
  })
  it("is the last query when its search is folded with other keystrokes", () => {
    const rows = count(
      served("a", "sh", 0),
      event({ type: "click", document_id: "d", query_id: "a" }, 500),
      served("b", "shoe", 1_000)
    )
    assert.deepStrictEqual(Object.keys(rows), ["shoe"])
    assert.deepStrictEqual([rows.shoe!.clicks, rows.shoe!.searches_with_click], [1, 1])
  })
})

describe("figures", () => {
  it("equal those of the oracle, whatever the order of arrival", () => {
    for (let seed = 1; seed <= 60; seed++) {
      const input = generate(seed, 60, NOW)
      const expected = sorted(oracleRows(input))
      const bodies = number([
        ...input.served.map((s): Body => ({ kind: "served", served: s })),
        ...input.events.map((e): Body => ({ kind: "event", organizationId: input.organizationId, event: e }))
      ])
      const random = seeded(seed * 7)
      for (let shuffle = 0; shuffle < 4; shuffle++) {
        const order =
          shuffle === 0
            ? bodies
            : bodies
                .map((record) => ({ record, at: random() }))
                .sort((a, b) => a.at - b.at)
                .map(({ record }) => record)
        const { facts, sums: rollups } = newCounted()
        run(new AttributionState(memoryStore(), options), order, facts)
        assert.deepStrictEqual(sorted(rowsOf(rollups)), expected, `seed ${seed}, shuffle ${shuffle}`)
      }
    }
  })

  it("survive a snapshot at any point: two runs with half of the bodies each equal one run", async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const input = generate(seed, 50, NOW)
      const bodies = number([
        ...input.events.map((e): Body => ({ kind: "event", organizationId: input.organizationId, event: e })),
        ...input.served.map((s): Body => ({ kind: "served", served: s }))
      ])
      const store: StateStore = memoryStore()
      const { facts, sums: rollups } = newCounted()
      const cut = Math.floor(bodies.length * seeded(seed)())
      // For every second seed, whatever was not just used is stored and evicted.
      const resting = seed % 2 === 0 ? options : { ...options, hotVisitsMax: 0, hotQueriesMax: 0 }
      const first = new AttributionState(store, resting)
      run(first, bodies.slice(0, cut), facts)
      await store.commit(first.snapshot(NOW).writes, { t: cut })
      run(new AttributionState(store, resting), bodies.slice(cut), facts)
      assert.deepStrictEqual(sorted(rowsOf(rollups)), sorted(oracleRows(input)), `seed ${seed}`)
    }
  })

  it("stay exact in a visit that exceeds its bounds", () => {
    const bodies: Array<Body> = []
    for (let i = 0; i < 700; i++) {
      bodies.push(served(`q${i}`, `query ${i % 50}`, i * 5_000))
      if (i % 3 === 0)
        bodies.push(event({ type: "click", document_id: "d", query_id: `q${Math.max(0, i - 300)}` }, i * 5_000 + 10))
      if (i % 5 === 0) bodies.push(event({ type: "purchase", document_id: "d", revenue: 2 }, i * 5_000 + 20))
    }
    const { facts, sums: rollups } = newCounted()
    run(new AttributionState(memoryStore(), options), number(bodies), facts)
    const input = {
      organizationId: "o",
      served: bodies.flatMap((b) => (b.kind === "served" ? [b.served] : [])),
      events: bodies.flatMap((b) => (b.kind === "event" ? [b.event] : []))
    }
    assert.deepStrictEqual(sorted(rowsOf(rollups)), sorted(oracleRows(input)))
  })

  it("stay exact when one session repeats one query endlessly", () => {
    const bodies = Array.from({ length: 600 }, (_, i) => [
      served(`q${i}`, "same", i * 1_000),
      event({ type: "click", document_id: "d", query_id: `q${i}` }, i * 1_000 + 1)
    ]).flat()
    const row = count(...bodies).same!
    assert.deepStrictEqual([row.searches, row.clicks, row.searches_with_click], [1, 600, 1])
  })
})
