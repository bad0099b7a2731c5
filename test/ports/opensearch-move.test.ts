/**
 * The decisions about moving a collection between placements, from its record: which placement counts at each point.
 */
import { describe, expect, it } from "vitest"
import type { CollectionRecord } from "../../engine-sdk/src/opensearch/record.ts"
import {
  abandonedMove,
  begunMove,
  clearedMove,
  differenceOf,
  differingRanges,
  fateOf,
  fencedMove,
  isMovingTo,
  isToBePromoted,
  rangeOf,
  switchedMove,
  type SumsByRange
} from "../../engine-sdk/src/opensearch/move.ts"
import type { Placement } from "../../engine-sdk/src/opensearch/placement.ts"
import type { ClusterClient } from "../../engine-sdk/src/opensearch/client.ts"
import { Directory } from "../../engine-sdk/src/opensearch/directory.ts"
import { namesOf } from "../../engine-sdk/src/opensearch/placement.ts"
import { NO_SLOTS } from "../../engine-sdk/src/opensearch/slots.ts"
import { suiteSchema } from "../../engine-sdk/src/testing/engine-suite.ts"

const at = (key: string, kind: Placement["kind"] = "pool"): Placement => ({ kind, index: `i-${kind}`, key })
const schema = suiteSchema("products", [])
const settled: CollectionRecord = {
  namespace: "a",
  schema,
  createdAt_s: 1,
  placement: at("k1"),
  slots: NO_SLOTS,
  version: 1,
  isGone: false
}
const target = { schema, slots: NO_SLOTS, fence: 50 }
const begun = begunMove(settled, { to: at("k2", "own"), reason: "promotion", total: 3 })

describe("a move", () => {
  it("keeps the old placement in force until it is switched", () => {
    expect(fateOf(begun, at("k1"), 7)).toBe("counts")
    expect(fateOf(fencedMove(begun, true), at("k1"), 7)).toBe("waits")
    expect(fateOf(fencedMove(fencedMove(begun, true), false), at("k1"), 7)).toBe("counts")
    expect(abandonedMove(fencedMove(begun, true))).toEqual(settled)
    expect(isMovingTo(begun, "k2")).toBe(true)
    expect(isMovingTo(abandonedMove(begun), "k2")).toBe(false)
    expect(isMovingTo({ ...begun, isGone: true }, "k2")).toBe(false)
  })
  it("carries changes up to the fence and none beyond it, however often the collection moves again", () => {
    const once = switchedMove(fencedMove(begun, true), target)
    expect([once.placement.key, once.version, once.move]).toEqual(["k2", 2, undefined])
    expect([50, 51].map((change) => fateOf(once, at("k1"), change))).toEqual(["carried", "again"])
    expect(fateOf(once, at("k2"), 1)).toBe("counts")
    const again = begunMove(once, { to: at("k3"), reason: "schema", total: 3 })
    const twice = switchedMove(fencedMove(again, true), { ...target, fence: 9 })
    expect([50, 51].map((change) => fateOf(twice, at("k1"), change))).toEqual(["carried", "again"])
    expect([9, 10].map((change) => fateOf(twice, at("k2"), change))).toEqual(["carried", "again"])
    expect(() => switchedMove(settled, target)).toThrow("not moving")
  })
  it("remembers eight placements, and all that are not cleared", () => {
    let record = settled
    for (let n = 2; n < 20; n++) {
      record = switchedMove(begunMove(record, { to: at(`k${n}`), reason: "schema", total: 0 }), target)
      if (n !== 5) record = clearedMove(record, `k${n - 1}`)
    }
    expect(record.moved!.map(({ from }) => from.key)).toEqual([
      "k4",
      ...[11, 12, 13, 14, 15, 16, 17, 18].map((n) => `k${n}`)
    ])
    expect(fateOf(record, at("k4"), 1)).toBe("carried")
    expect(fateOf(record, at("k2"), 1)).toBe("unknown")
  })
})

it("a record that becomes visible only after a later one is still noticed", async () => {
  const records: Array<{ _id: string; _seq_no: number; _primary_term: number; _source: { record: CollectionRecord } }> =
    []
  const change = (seq: number, name: string, key: string) =>
    records.push({
      _id: name,
      _seq_no: seq,
      _primary_term: 1,
      _source: { record: { ...settled, identity: name, schema: suiteSchema(name, []), placement: at(key) } }
    })
  interface Asked {
    readonly body: { readonly query: { readonly bool: { readonly filter: any; readonly must_not: any } } }
  }
  const read: number[] = []
  const client = {
    ask: async ({ body: { query } }: Asked) => {
      const [{ range }] = query.bool.filter,
        [{ terms }] = query.bool.must_not
      const hits = records.filter(({ _seq_no }) => _seq_no > range._seq_no.gt && !terms._seq_no.includes(_seq_no))
      read.push(hits.length)
      return { ok: true, value: { hits: { hits } } }
    }
  }
  const directory = new Directory(client as unknown as ClusterClient, namesOf("x"))
  change(1, "one", "k1")
  await directory.hear()
  change(3, "two", "k3")
  await directory.hear()
  // Written before the other change, but visible only after it.
  records.shift()
  change(2, "one", "k2")
  await directory.hear()
  expect(["one", "two"].map((name) => directory.find("a", name)?.record.placement.key)).toEqual(["k2", "k3"])
  await directory.hear()
  expect(read).toEqual([1, 1, 1, 0])
})

describe("a copy", () => {
  const sums = (...all: ReadonlyArray<readonly [number, number, number, number]>): SumsByRange =>
    new Map(all.map(([range, count, seqs, changes]) => [range, { count, seqs, changes }]))
  it("differs where a document is missing, superfluous, or different", () => {
    const old = sums([0, 2, 3, 40], [500, 1, 501, 41])
    expect(differingRanges(old, old)).toEqual([])
    expect(differingRanges(old, sums([500, 1, 501, 41]))).toEqual([0])
    expect(differingRanges(sums([500, 1, 501, 41]), old)).toEqual([0])
    expect(differingRanges(old, sums([0, 2, 3, 39], [500, 1, 502, 41]))).toEqual([0, 500])
    const row = (id: string, change: number) => ({ id, change })
    expect(differenceOf([row("1", 1), row("2", 5), row("3", 3)], [row("1", 1), row("2", 2), row("4", 4)])).toEqual({
      copied: ["2", "3"],
      removed: ["4"]
    })
  })
  it("is compared in ranges that are few, and small enough to be read at once", () => {
    expect([-1, 100, 5_000_000, 900_000_000].map(rangeOf)).toEqual([500, 500, 1_001, 10_000])
  })
  it("is made, once, of a collection that is too large for a shared index", () => {
    expect(isToBePromoted(settled, 200_001, 200_000)).toBe(true)
    expect(isToBePromoted(settled, 200_000, 200_000)).toBe(false)
    expect(isToBePromoted(begun, 200_001, 200_000)).toBe(false)
    expect(isToBePromoted({ ...settled, placement: at("k1", "own") }, 200_001, 200_000)).toBe(false)
  })
})
