/** Work in pieces on one thread, under the test's own clock and timers. */
import { afterEach, beforeEach, expect, it, vi } from "vitest"
import { giveWayTo, givingWay, nextTurn } from "../src/turns.ts"

/** Later than the clock of any earlier test. */
let now = 1e12
let timers: Array<() => void> = []
beforeEach(() => {
  now += 1e9
  timers = []
  vi.spyOn(performance, "now").mockImplementation(() => now)
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void) => {
    timers.push(run)
  }) as unknown as typeof setTimeout)
})
afterEach(() => {
  vi.restoreAllMocks()
})
/** Runs the timers that are due, and then everything that they start. */
const turn = async (): Promise<void> => {
  now++
  for (const run of timers.splice(0)) run()
  for (let i = 0; i < 1_000; i++) await Promise.resolve()
}
/**
 * Runs this many pieces that arrived in one turn and had to yield; each works `ms` when it resumes. Returns how many
 * were done in each turn.
 */
const waiting = async (pieces: number, ms: number): Promise<ReadonlyArray<number>> => {
  const gives = Array.from({ length: pieces }, () => givingWay())
  now += 2
  let ran = 0
  const all = Promise.all(
    gives.map(async (give) => {
      await give()
      ran++
      now += ms
    })
  )
  const byTurn: Array<number> = []
  while (ran < pieces && byTurn.length < 100) {
    const before = ran
    await turn()
    byTurn.push(ran - before)
  }
  await all
  // The timer that was set for a turn in which nothing waits.
  await turn()
  return byTurn
}

it("as many resume in a turn as fit into two milliseconds, so that quick ones do not wait a turn each", async () => {
  expect(await waiting(20, 0.25)).toEqual([8, 8, 4])
})
it("what takes longer has a turn of its own, and everything that arrived runs in between", async () => {
  expect(await waiting(3, 5)).toEqual([1, 1, 1])
})
it("work that yields to a message resumes when it has arrived, not when a timer ends", async () => {
  let isUnderWay = true
  const messageCame = giveWayTo(() => isUnderWay)
  try {
    let isOn = false
    const on = nextTurn().then(() => {
      isOn = true
    })
    await Promise.resolve()
    expect([isOn, timers.length]).toEqual([false, 1])
    messageCame()
    await on
    isUnderWay = false
    // A timer without remaining work, and a message that never arrives.
    await turn()
    isUnderWay = true
    const late = nextTurn()
    await turn()
    await late
  } finally {
    giveWayTo(() => false)
  }
})
