/** The memory of the click reader is bounded in bytes, because senders of events choose the ids of documents. */
import { expect, it } from "vitest"
import type { BehaviouralEvent, ServedSearch } from "../../../log/event-schema.ts"
import { ClickedGrades } from "../../../engine-sdk/src/judging/clicked-grades.ts"
import { ClickedQueries } from "../../../src/quality/clicked-queries.ts"
import { type ClickedSearch, OpenSearches } from "../../../src/clicks/open-searches.ts"

const answered = (n: number, q = `query ${n}`): ServedSearch => ({
  organization_id: "org_a",
  query_id: `qry_${n}`,
  collection: "goods",
  q,
  found: 1,
  session_id: `s${n}`,
  at: 1_000 + n,
  isCounted: true
})
const event = (n: number, more: Partial<BehaviouralEvent>): BehaviouralEvent =>
  ({
    type: "click",
    collection: "goods",
    query_id: `qry_${n}`,
    session_id: `s${n}`,
    timestamp: 2_000 + n,
    ...more
  }) as BehaviouralEvent

it("counts at most 200 documents that one visitor chose from a search", () => {
  const told: Array<ClickedSearch> = []
  const open = new OpenSearches((search) => told.push(search))
  open.answered(answered(1))
  for (let i = 0; i < 10_000; i++) open.happened(event(1, { document_id: `d${i}` }))
  open.end()
  expect(told.map(({ taken }) => taken.size)).toEqual([200])
})
it("emits the oldest searches when the open ones take more than 64 MB", () => {
  let told = 0
  const open = new OpenSearches(() => void told++)
  for (let n = 0; n < 4_000; n++) {
    open.answered(answered(n))
    open.happened(
      event(n, { type: "search", document_ids: Array.from({ length: 50 }, (_, i) => `${i}${"x".repeat(250)}`) })
    )
  }
  // Some 30 kB each, so about two thousand fit.
  expect(told).toBeGreaterThan(1_500)
  expect(told).toBeLessThan(2_500)
  open.end()
  expect(told).toBe(4_000)
})
it("counts at most 1,000 documents of a query", () => {
  const grades = new ClickedGrades()
  for (let i = 0; i < 200; i++)
    grades.add(
      Array.from({ length: 50 }, (_, row) => `d${i * 50 + row}`),
      20,
      new Map()
    )
  expect(grades.grades(20, 0).length).toBe(1_000)
})
it("forgets the least searched queries when all take more than 96 MB", () => {
  const queries = new ClickedQueries()
  const shown = Array.from({ length: 50 }, (_, i) => `${i}${"x".repeat(250)}`)
  for (let i = 0; i < 40; i++) queries.add({ visitor: "", at: 0, found: 0, q: "often", shown, taken: new Map() })
  for (let n = 0; n < 5_000; n++)
    queries.add({ visitor: "", at: 0, found: 0, q: `seldom ${n}`, shown, taken: new Map() })
  expect(queries.often(1).length).toBeLessThan(4_000)
  expect(queries.often(20).map(({ q }) => q)).toEqual(["often"])
})
