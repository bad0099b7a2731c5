/**
 * Long visits are stored in parts, and most events need only the last part. Whatever is evicted when, the facts must be
 * those of visits that always stayed in memory.
 */
import { describe, expect, it } from "vitest"
import type { BehaviouralEvent } from "../../log/event-schema.ts"
import type { Body } from "../../streams/processors/attribution/body.ts"
import { AttributionState } from "../../streams/processors/attribution/state.ts"
import { step } from "../../streams/processors/attribution/step.ts"
import type { Visit } from "../../streams/processors/attribution/visit.ts"
import { memoryStore, type StateStore } from "../../streams/state/state.ts"
import { seeded } from "../support/attribution-oracle.ts"
import { newCounted } from "../support/facts.ts"

const NOW = Date.UTC(2026, 4, 4, 12)
const VISITORS = 3

/** Interleaved visits of `size` bodies: keystrokes, late and repeated events, every way to name a search. */
const bodiesOf = (seed: number, size: number): ReadonlyArray<Body> => {
  const random = seeded(seed)
  const below = (n: number) => Math.floor(random() * n)
  const ids: Array<string> = []
  // Some visits have many searches, others many interactions after few searches.
  const searchShare = [0.5, 0.15, 0.03][seed % 3]!
  let at = NOW - size * 20_000
  return Array.from({ length: size }, (_, i): Body => {
    at += [200, 200, 400, 400, 900, 90_000][below(6)]!
    const late = below(12) === 0 ? below(3_600_000) : 0
    const visitor = { session_id: `s${i % VISITORS}`, anonymous_id: `a${i % VISITORS}` }
    const common = { collection: "c", timestamp: at - late, ...visitor }
    const draw = random()
    if (draw < searchShare) {
      const q = "running shoes".slice(0, 3 + below(10))
      // The answer and the event of one search may arrive separately.
      const query_id =
        below(2) === 0 ? (below(2) === 0 ? `q${i}` : (ids[ids.length - 1 - below(9)] ?? `q${i}`)) : undefined
      if (query_id !== undefined) ids.push(query_id)
      if (query_id !== undefined && below(2) === 0)
        return {
          kind: "served",
          served: {
            organization_id: "o",
            query_id,
            collection: "c",
            q,
            found: below(3),
            at: at - late,
            network: 1 + below(4),
            isCounted: below(9) > 0,
            ...visitor
          }
        }
      const event = {
        type: "search",
        q,
        results_found: below(3),
        ...common,
        ...(query_id === undefined ? {} : { query_id })
      }
      return { kind: "event", organizationId: "o", event: event as BehaviouralEvent }
    }
    // Some events name a search before it arrives, others one from long ago.
    const named =
      below(3) > 0 ? undefined : below(6) === 0 ? `q${i + below(9)}` : ids[ids.length - 1 - below(ids.length)]
    const type = (["click", "click", "add_to_cart", "purchase", "view"] as const)[below(5)]!
    const event = {
      type,
      document_id: `p${below(9)}`,
      price: below(90),
      ...common,
      ...(named === undefined ? {} : { query_id: named })
    }
    return { kind: "event", organizationId: "o", event: event as BehaviouralEvent }
  })
}

const factsOf = async (
  bodies: ReadonlyArray<Body>,
  options: { readonly hotVisitsMax?: number; readonly hotQueriesMax?: number },
  snapshotEvery: number
) => {
  const { facts, sums } = newCounted()
  const store: StateStore = memoryStore()
  const state = new AttributionState(store, { fingerprintKey: [1, 2, 3, 4], ...options })
  let parted = 0
  for (const [offset, body] of bodies.entries()) {
    step(state, body, { topic: "t", offset, index: 0, appendedAt: NOW }, facts)
    const visit: Visit | undefined = state.visits.get(`o|2|s${offset % VISITORS}|c`, NOW)
    if (visit?.older !== undefined) parted++
    if (offset % snapshotEvery !== snapshotEvery - 1) continue
    const { stored, writes } = state.snapshot(NOW)
    await store.commit(writes, {})
    stored()
  }
  const rows: Array<string> = []
  sums.queries.eachInstant((key, at, measures, from) =>
    rows.push(JSON.stringify([key, at, [...measures.slice(from, from + sums.queries.slots)]]))
  )
  return { rows: rows.sort(), parted }
}

describe("long visits that interleave", () => {
  it("count the same whether they are evicted between any two of their events or never", async () => {
    for (let seed = 1; seed <= 24; seed++) {
      const bodies = bodiesOf(seed, seed % 4 === 0 ? 2_000 : 300)
      const never = await factsOf(bodies, {}, Infinity)
      const resting = await factsOf(bodies, { hotVisitsMax: 1, hotQueriesMax: 1 }, 1 + (seed % 7))
      expect(never.parted).toBe(0)
      // Otherwise the test would have tried nothing.
      expect(resting.parted).toBeGreaterThan(bodies.length / 4)
      expect(resting.rows, `seed ${seed}`).toEqual(never.rows)
      expect(never.rows.length).toBeGreaterThan(20)
    }
  })
})
