/** Slots of hash tables: what is found in them, and where something new would go. */
import { describe, expect, it } from "vitest"
import { freeSlot, slotOf } from "../src/slots.ts"

const LENGTH = 64
/** The keys at their places, and a table of them; every key gets the same hash, or one of its own. */
const tableOf = (hashOf: (key: number) => number) => {
  const slots = new Int32Array(LENGTH),
    keys: number[] = []
  const find = (key: number): number => slotOf(slots, hashOf(key), (value) => keys[value - 1] === key)
  const add = (key: number): void => {
    const slot = find(key)
    if (slots[slot] === 0) slots[slot] = keys.push(key)
  }
  return { add, find, keys, slots }
}

describe("slots", () => {
  for (const [name, hashOf] of [
    ["a hash of each key", (key: number) => Math.imul(key, 0x9e3779b1)],
    ["one hash for all keys", () => 7],
    ["a hash at the last slot", () => LENGTH - 1],
    ["negative hashes", (key: number) => -key]
  ] as const)
    it(`hold each key once and find it again, with ${name}`, () => {
      const { add, find, keys, slots } = tableOf(hashOf)
      const some = [0, 1, 0xffffffff, -1, 2 ** 31, ...Array.from({ length: 42 }, (_, i) => i * 31)]
      for (const key of [...some, ...some]) add(key)
      expect(keys).toEqual([...new Set(some)])
      for (const [place, key] of keys.entries()) expect(slots[find(key)]).toBe(place + 1)
      expect(slots[find(5)]).toBe(0)
    })
  it("give a new entry the slot at which it is found", () => {
    const { add, find, keys, slots } = tableOf(() => 7)
    for (let key = 0; key < 48; key++) add(key)
    const slot = freeSlot(slots, 7)
    expect(slot).toBe(find(1_000))
    slots[slot] = keys.push(1_000)
    expect(slots[find(1_000)]).toBe(49)
  })
  it("show every entry of a hash until one is wanted", () => {
    const { add, slots } = tableOf(() => 3)
    for (let key = 0; key < 5; key++) add(key)
    const seen: number[] = []
    const slot = slotOf(slots, 3, (value, at) => {
      seen.push(value, at)
      return value === 3
    })
    expect([seen, slot]).toEqual([[1, 3, 2, 4, 3, 5], 5])
  })
})
