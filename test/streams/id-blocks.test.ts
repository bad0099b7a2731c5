/** Blocks of event ids: few for any number of snapshots, none lost by merging, none kept beyond the window. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { absorbedBlocks } from "../../streams/processors/attribution/id-blocks.ts"
import { AttributionState } from "../../streams/processors/attribution/state.ts"
import type { StateStore } from "../../streams/state/state.ts"
import { openStateStore } from "../../streams/state/lmdb.ts"

const DAY = 86_400_000
const START = Date.UTC(2026, 0, 5)
const options = { fingerprintKey: [1, 2, 3, 4] as const }
const ids = (store: StateStore) => [...store.scan("i")].map(([key, value]) => [key, value.length] as const)
const withStore = async (body: (open: () => StateStore) => Promise<void>) => {
  const path = await mkdtemp(join(tmpdir(), "dowser-ids-"))
  try {
    await body(() => openStateStore(join(path, "state")))
  } finally {
    await rm(path, { recursive: true, force: true })
  }
}

describe("a fresh block", () => {
  it("absorbs blocks that are not much larger, up to a bound", () => {
    expect(absorbedBlocks([], 16)).toBe(0)
    expect(absorbedBlocks([1_000, 64, 32], 16)).toBe(2)
    expect(absorbedBlocks([64, 33], 16)).toBe(0)
    const nearlyFull = 1024 * 1024 - 16
    expect(absorbedBlocks([nearlyFull], nearlyFull)).toBe(0)
    expect(absorbedBlocks([nearlyFull], 16)).toBe(0)
  })
  it("leaves few blocks whatever the sizes of new ones", () => {
    let seed = 9
    const random = () => (seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32
    for (const next of [
      () => 16,
      () => 16 * (1 + Math.floor(random() * 2_000)),
      (i: number) => 16 * (1 + ((20_000 - i) % 5_000))
    ]) {
      const sizes: Array<number> = []
      let total = 0
      for (let i = 0; i < 20_000; i++) {
        let fresh = next(i)
        total += fresh
        for (const absorbed of sizes.splice(sizes.length - absorbedBlocks(sizes, fresh))) fresh += absorbed
        sizes.push(fresh)
      }
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(total)
      expect(sizes.length).toBeLessThanOrEqual(17 + (2 * total) / (1024 * 1024))
    }
  })
})

describe("event ids in the store", () => {
  it("stay in few blocks over thousands of snapshots, and are all recognised after a restart", () =>
    withStore(async (open) => {
      let store = open()
      const state = new AttributionState(store, options)
      for (let i = 0; i < 1_500; i++) {
        const now = START + Math.floor(i / 750) * DAY + i
        for (let j = 0; j < 3; j++) expect(state.admit("o", { event_id: `${i}-${j}` }, now)).toBe(true)
        await store.commit(state.snapshot(now).writes, { t: i })
      }
      const kept = ids(store)
      expect(kept.length).toBeLessThanOrEqual(2 * 16)
      expect(kept.reduce((bytes, [, length]) => bytes + length, 0)).toBe(1_500 * 3 * 16)
      await store.close()
      store = open()
      const again = new AttributionState(store, options)
      for (let i = 0; i < 1_500; i++)
        for (let j = 0; j < 3; j++)
          expect(again.admit("o", { event_id: `${i}-${j}` }, START + 2 * DAY), `${i}-${j}`).toBe(false)
      expect(again.admit("o", { event_id: "new" }, START + 2 * DAY)).toBe(true)
      await store.close()
    }))

  it("that an older version left in one block for each snapshot are merged by the next one, and expire", () =>
    withStore(async (open) => {
      const store = open()
      // As an older version wrote them: a block for every snapshot, none merged.
      const word = (i: number) => new Uint8Array(Uint32Array.of(i, 2, 3, 4).buffer)
      await store.commit(
        Array.from(
          { length: 2_000 },
          (_, i) => [`i${Math.floor(START / DAY)}.${String(i).padStart(12, "0")}`, word(i)] as const
        ),
        { t: 1 }
      )
      const state = new AttributionState(store, options)
      expect(state.admit("o", { event_id: "new" }, START + 1_000)).toBe(true)
      await store.commit(state.snapshot(START + 1_000).writes, { t: 2 })
      expect(ids(store).map(([, bytes]) => bytes)).toEqual([2_001 * 16])
      // Nothing new comes and the window passes: its blocks are removed one day later, because restored ids may look up
      // to a day older than they are.
      await store.commit(state.snapshot(START + 31 * DAY).writes, { t: 3 })
      expect(ids(store)).toHaveLength(1)
      await store.commit(state.snapshot(START + 32 * DAY).writes, { t: 4 })
      expect(ids(store)).toEqual([])
      await store.close()
    }))
})
