/** Turns of searches on one thread, under the test's own clock and event loop. */
import { expect, it } from "vitest"
import { createEngine, type SearchBudget, type SearchEngine, type SearchPlan } from "@dowser/engine-sdk"
import { makeFairQueue } from "../../../src/fair-queue.ts"
import { timelyEngine } from "../../../src/search/timely-engine.ts"
import { makeTurns } from "../../../src/search/turns.ts"

const stage = (options: { readonly waitingMax?: number; readonly weightOf?: (id: string) => number } = {}) => {
  let now = 0
  const later: Array<() => void> = []
  const turns = makeTurns({
    slice_ms: 5,
    now: () => now,
    soon: (run) => {
      later.push(run)
    },
    ...options
  })
  const ran: Array<string> = []
  const search = (organizationId: string, took_ms: number, until = Infinity, signal = new AbortController().signal) =>
    turns.take(
      { organizationId, until, signal },
      () => {
        ran.push(organizationId)
        now += took_ms
        return "ran"
      },
      (reason) => reason
    )
  return {
    search,
    ran,
    turns,
    pass: (ms: number) => {
      now += ms
    },
    turn: () => {
      for (const run of later.splice(0)) run()
    },
    isYielding: () => later.length > 0
  }
}

it("runs at once while a slice is not used up, then yields once", async () => {
  const { isYielding, ran, search, turn } = stage()
  for (let i = 0; i < 5; i++) expect(search("a", 1)).toBe("ran")
  expect(isYielding()).toBe(true)
  const waiting = [search("a", 1), search("a", 1)]
  expect(ran).toHaveLength(5)
  turn()
  expect(await Promise.all(waiting)).toEqual(["ran", "ran"])
  expect([isYielding(), search("a", 1)]).toEqual([false, "ran"])
})
it("runs a slow search alone in its turn, and then the organization that used least", async () => {
  const { ran, search, turn } = stage()
  void search("a", 100)
  const waiting = [
    search("a", 100),
    search("a", 100),
    search("b", 100),
    search("a", 100),
    search("c", 1),
    search("c", 1)
  ]
  for (let i = 0; i < 7; i++) turn()
  await Promise.all(waiting)
  // With equal use, the first one comes first; then the two of c and one of a fit, one slice after another.
  expect(ran).toEqual(["a", "a", "b", "c", "c", "a", "a"])
})
it("does not run late or cancelled searches, and refuses what does not fit", async () => {
  const { pass, ran, search, turn, turns } = stage({ waitingMax: 2 })
  expect(search("a", 1, 0)).toBe("late")
  void search("a", 10)
  const gone = new AbortController()
  const waiting = [search("b", 1, 50), search("c", 1, Infinity, gone.signal)]
  expect(search("d", 1)).toBe("full")
  pass(50)
  gone.abort()
  turn()
  expect([await Promise.all(waiting), ran, turns.waiting()]).toEqual([["late", "late"], ["a"], 0])
  expect(search("a", 1, 1_000, gone.signal)).toBe("late")
})
it("passes on what a search throws, whether it waited or not", async () => {
  const turns = makeTurns({ slice_ms: 0 })
  const turn = { organizationId: "a", until: Infinity, signal: new AbortController().signal }
  const broken = () => {
    throw new Error("defect")
  }
  expect(() => turns.take(turn, broken, String)).toThrow("defect")
  await expect(turns.take(turn, broken, String)).rejects.toThrow("defect")
  expect(await turns.take(turn, async () => "later", String)).toBe("later")
})
const seeded = (seed: number) => {
  let state = seed
  return (max: number): number => ((state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0) % 65_536) % max
}
it.each(Array.from({ length: 40 }, (_, i) => i + 1))(
  "an always busy organization gets its weight's share of the time, however many searches arrive at once: seed %i",
  (seed) => {
    const random = seeded(seed)
    const members = Array.from({ length: 2 + random(5) }, () => ({
      weight: 1 << random(3),
      took_ms: 1 + random(50),
      burst: 1 + random(40)
    }))
    const queue = makeFairQueue<number>((id) => members[Number(id)]!.weight)
    const used = members.map(() => 0)
    const waiting = members.map(({ burst }) => burst)
    for (const [i, { burst }] of members.entries()) for (let n = 0; n < burst; n++) queue.put(String(i), i)
    let worked = 0
    while (worked < 20_000) {
      const { entry } = queue.take()!
      waiting[entry]!--
      used[entry]! += members[entry]!.took_ms
      worked += members[entry]!.took_ms
      // An organization without waiting searches sends as many again.
      if (waiting[entry] === 0)
        for (; waiting[entry]! < members[entry]!.burst; waiting[entry]!++) queue.put(String(entry), entry)
      queue.worked(String(entry), members[entry]!.took_ms)
    }
    const shares = used.map((ms, i) => ms / members[i]!.weight)
    // Shares never differ by more than the duration of one search.
    expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(50)
  }
)
it("a newcomer starts without debt and without credit", () => {
  const queue = makeFairQueue<string>(() => 1)
  for (let i = 0; i < 100; i++) queue.put("old", "old")
  const next = () => {
    const { entry, organizationId } = queue.take()!
    queue.worked(organizationId, 10)
    return entry
  }
  for (let i = 0; i < 50; i++) next()
  for (let i = 0; i < 5; i++) queue.put("new", "new")
  // The newcomer does not catch up with what was done before it came.
  expect(Array.from({ length: 8 }, next).filter((who) => who === "new")).toHaveLength(4)
})

it("an engine with its own threads receives the organization's weight", async () => {
  const weights: Array<number | undefined> = []
  const engine = createEngine()
  const heard: SearchEngine = Object.assign(Object.create(engine) as SearchEngine, {
    search: (_namespace: string, _plans: ReadonlyArray<SearchPlan>, budget?: SearchBudget) => {
      weights.push(budget?.weight)
      return []
    }
  })
  const turns = makeTurns({ weightOf: (id) => (id === "big" ? 3 : 1) })
  for (const organizationId of ["big", "small"]) {
    const turn = { organizationId, until: Infinity, signal: new AbortController().signal }
    await timelyEngine(heard, turns, turn).search(organizationId, [])
  }
  expect(weights).toEqual([3, 1])
  await engine.close()
})
