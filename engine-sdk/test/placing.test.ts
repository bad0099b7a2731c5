/** The decisions about where a search runs, without threads. */
import { describe, expect, it } from "vitest"
import {
  collectionsToKeep,
  Costs,
  failuresBefore,
  isWorthSending,
  leastLoaded,
  restartAfter_ms,
  TimeHere,
  workersOf
} from "../src/lane/placing.ts"

describe("searches sent to a worker", () => {
  const workers = workersOf({ count: 2 })
  it.each([
    [999, 5, false],
    [1_000, 5, true],
    [1_000_000, 0.249, false],
    [1_000_000, 0.25, true]
  ])("%i documents, %f ms: %s", (documents, expected_ms, isSent) => {
    expect(isWorthSending(workers, documents, expected_ms)).toBe(isSent)
  })
  it("follow the host's setting", () => {
    expect(isWorthSending(workersOf({ count: 1, documents_min: 0, cost_min_ms: 0 }), 0, 0)).toBe(true)
    expect(isWorthSending(workersOf({ count: 1, documents_min: 10, cost_min_ms: 3 }), 10, 2)).toBe(false)
  })
})
describe("the calling thread's time for searches", () => {
  it("is half of it by default, for cheap searches, in bursts of 2 ms", () => {
    const here = new TimeHere(workersOf({ count: 1 }).here_share)
    expect([here.hasRoom(2, 1_000), here.hasRoom(2.1, 1_000)]).toEqual([true, false])
    let ran = 0
    // Half a millisecond each, and ten of them due every millisecond, for a second.
    for (let now = 1_000; now < 2_000; now++)
      for (let i = 0; i < 10; i++)
        if (here.hasRoom(0.5, now)) {
          here.took(0.5, now)
          ran++
        }
    expect(Math.abs(ran - 1_000)).toBeLessThanOrEqual(5)
    // Unused time is not saved up.
    for (let i = 0; i < 4; i++) here.took(0.5, 9_000)
    expect(here.hasRoom(0.5, 9_000)).toBe(false)
    expect(here.hasRoom(0.5, 9_001)).toBe(true)
  })
  it("is zero if all searches are sent", () => {
    expect(new TimeHere(0).hasRoom(0.1, 5)).toBe(false)
  })
})
describe("the cost of searches", () => {
  it("makes a new collection's searches worth sending, then is a moving average for each collection", () => {
    const costs = new Costs()
    expect(isWorthSending(workersOf({ count: 1 }), 1_000, costs.expected_ms(1))).toBe(true)
    for (let i = 0; i < 100; i++) {
      costs.note(1, 0.01)
      costs.note(2, 4)
    }
    expect(costs.expected_ms(1)).toBeCloseTo(0.01)
    expect(costs.expected_ms(2)).toBeCloseTo(4)
    costs.note(1, 10.01)
    expect(costs.expected_ms(1)).toBeCloseTo(1.01)
    for (let i = 0; i < 30; i++) costs.note(1, 0.01)
    expect(costs.expected_ms(1)).toBeLessThan(0.25)
  })
  it("is kept for a bounded number of collections, the most recently searched", () => {
    const costs = new Costs()
    for (let key = 0; key < 50_000; key++) costs.note(key, 9)
    expect(costs.expected_ms(0)).toBeLessThan(9)
    expect(costs.expected_ms(49_999)).toBe(9)
  })
})
describe("the worker chosen for a search", () => {
  it.each([
    [
      "the least loaded by what its searches are expected to take, not by their number",
      [
        [1, 1.5],
        [3, 0.3]
      ],
      1
    ],
    [
      "one that has one search only, however long",
      [
        [2, 9],
        [1, 50]
      ],
      1
    ],
    [
      "the first of equals",
      [
        [0, 0],
        [0, 0]
      ],
      0
    ],
    [
      "none while each has enough",
      [
        [2, 2],
        [2, 2.5]
      ],
      -1
    ],
    ["none that has many, however cheap", [[16, 0.1]], -1],
    ["none where there is none", [], -1]
  ] as ReadonlyArray<[string, ReadonlyArray<readonly [number, number]>, number]>)("is %s", (_name, loads, worker) => {
    expect(leastLoaded(loads.map(([searches, expected_ms]) => ({ searches, expected_ms })))).toBe(worker)
  })
})
it("a worker with too much memory closes the collections that are idle there, and no other", () => {
  expect(collectionsToKeep(9, 4, 60_000_000)).toBe(6)
  expect(collectionsToKeep(9, 0, 60_000_000)).toBe(10)
  expect(collectionsToKeep(9, 4, 30_000_000)).toBe(1_000)
})
it("a worker that ends right after its start is restarted with growing delays, one that lived at once", () => {
  let failures = 0
  const waits = [20_000, 5, 5, 5, undefined, 20_000].map((lived_ms) => {
    const before = failuresBefore(failures, lived_ms)
    failures = before + (lived_ms === undefined ? 0 : 1)
    return restartAfter_ms(before)
  })
  expect(waits).toEqual([0, 500, 1_000, 2_000, 8_000, 0])
})
it("a worker is restarted at once, with growing delays while none starts, at last every half minute", () => {
  expect([0, 1, 2, 3, 7, 50].map(restartAfter_ms)).toEqual([0, 500, 1_000, 2_000, 30_000, 30_000])
})
