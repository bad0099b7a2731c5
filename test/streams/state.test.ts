/**
 * A processor's memory is bounded by the weight of its values, not by their number; evicted values are read back from
 * the store.
 */
import { describe, expect, it } from "vitest"
import { AttributionState } from "../../streams/processors/attribution/state.ts"
import { step } from "../../streams/processors/attribution/step.ts"
import { type Form, KeyedState, memoryStore } from "../../streams/state/state.ts"
import { seeded } from "../support/attribution-oracle.ts"
import { newCounted } from "../support/facts.ts"

const LIST_FORM: Form<Array<number>> = {
  write: (to, list) => {
    to.whole(list.length)
    for (const one of list) to.whole(one)
  },
  read: (from) => Array.from({ length: from.whole() }, () => from.whole()),
  decode: (stored) => stored
}

describe("keyed state", () => {
  it("stays within its weight after a snapshot, equals a map, and tracks its weight", async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = seeded(seed)
      const store = memoryStore()
      const state = new KeyedState<Array<number>>(store, {
        prefix: "k",
        ttl_ms: 1_000,
        hotMax: 50,
        weigh: (value) => value.length,
        form: LIST_FORM
      })
      const plain = new Map<string, Array<number>>()
      for (let i = 0; i < 400; i++) {
        const key = `${Math.floor(random() * 3)}|${Math.floor(random() * 12)}`
        expect(state.get(key, 0)).toEqual(plain.get(key))
        if (random() < 0.6) {
          const value = [
            ...(state.get(key, 0) ?? []),
            ...Array.from({ length: Math.floor(random() * 9) }, () => i)
          ].slice(-30)
          state.put(key, value, 0)
          plain.set(key, value)
        }
        if (random() > 0.1) continue
        await store.commit(state.takeWrites(), {})
        state.passivate()
        expect(state.weight).toBeLessThanOrEqual(50)
        if (random() < 0.3) state.forget("1|")
      }
      for (const [key, value] of plain) expect(state.get(key, 0)).toEqual(value)
      expect(state.weight).toBe([...plain.values()].reduce((sum, { length }) => sum + length, 0))
    }
  })
  it("returns evicted values as last written, whatever happens meanwhile, and in whichever pages", async () => {
    for (const hotMax of [0, 3, 100, 100_000]) {
      const random = seeded(hotMax + 1)
      const store = memoryStore()
      const state = new KeyedState<Array<number>>(store, { prefix: "k", ttl_ms: 1_000, hotMax, form: LIST_FORM })
      const plain = new Map<string, Array<number>>()
      for (let i = 0; i < 6_000; i++) {
        const key = `${Math.floor(random() * 3)}|${Math.floor(random() * (i < 3_000 ? 1_000 : 100))}`
        expect(state.get(key, 0)).toEqual(plain.get(key))
        if (random() < 0.7) {
          const value = Array.from({ length: Math.floor(random() * (random() < 0.002 ? 20_000 : 20)) }, (_, k) => i * k)
          state.put(key, value, 0)
          plain.set(key, value)
        }
        if (random() > 0.002) continue
        await store.commit(state.takeWrites(), {})
        state.passivate()
        if (random() < 0.3) state.forget("1|")
      }
      for (const [key, value] of plain) expect(state.get(key, 0)).toEqual(value)
    }
  })
  it("evicts visits by their weight: few long ones are evicted like many short ones", async () => {
    const store = memoryStore()
    const state = new AttributionState(store, {
      fingerprintKey: [1, 2, 3, 4],
      idsBytesMax: 1_000_000,
      hotVisitsMax: 60
    })
    const { facts } = newCounted()
    const search = (session: number, i: number) =>
      step(
        state,
        {
          kind: "event",
          organizationId: "o",
          event: { type: "search", collection: "c", q: `query ${i}`, session_id: `s${session}`, timestamp: i * 10_000 }
        },
        { topic: "t", offset: session, index: i, appendedAt: 0 },
        facts
      )
    for (let session = 0; session < 40; session++) for (let i = 0; i < 100; i++) search(session, i)
    expect(state.visits.weight).toBe(40 * 14)
    const { stored, writes } = state.snapshot(0)
    await store.commit(writes, {})
    stored()
    expect([state.visits.size, state.visits.weight]).toEqual([4, 56])
    search(0, 100)
    expect(state.visits.weight).toBe(70)
  })
})
