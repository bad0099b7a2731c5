/** Budgets, fallbacks, traces: the faults of a stage and their consequences. */
import { describe, expect, it, vi } from "vitest"
import {
  runStages,
  StageLate,
  type Candidate,
  type Stage,
  type StageEnvironment,
  type StageRun
} from "../src/pipeline/mod.ts"

const candidates = ["a", "b", "c"].map((id, rank): Candidate => ({
  id,
  rank,
  hit: { document: { id }, highlight: {} },
  value: () => undefined
}))
const reverse = (more: Partial<Stage> = {}): Stage => ({
  name: "reverse",
  budget_ms: 50,
  fallback: "keep_order",
  run: (given) => [...given].reverse(),
  ...more
})
const environment = (more: Partial<StageEnvironment> = {}): StageEnvironment => {
  let now = 0
  return { request: { q: "q", words: ["q"], firstPage: 10 }, now_us: () => (now += 10), explain: true, ...more }
}
const ids = (run: StageRun): string => run.candidates.map(({ id }) => id).join("")
const never = new Promise<ReadonlyArray<Candidate>>(() => {})

describe("runStages", () => {
  it("is synchronous for as long as its stages are", async () => {
    // The clock is fixed, because a thread delayed between two stages would yield.
    const clock = vi.spyOn(performance, "now").mockReturnValue(performance.now())
    const sync = runStages(candidates, [reverse(), reverse()], environment())
    clock.mockRestore()
    expect(sync).not.toBeInstanceOf(Promise)
    expect(ids(sync as StageRun)).toBe("abc")
    const later = runStages(
      candidates,
      [reverse(), reverse({ run: async (given) => [...given].reverse() }), reverse()],
      environment()
    )
    expect(later).toBeInstanceOf(Promise)
    expect(ids(await later)).toBe("cba")
  })
  it("records which hits moved, from where to where, and how long it took", async () => {
    const run = await runStages(
      candidates,
      [
        reverse({
          run: (given, context) => {
            context.moved?.("c", 2, 0, "because")
            return [given[2], given[0], given[1]]
          }
        }),
        reverse()
      ],
      environment()
    )
    expect(run.stages).toEqual([
      {
        name: "reverse",
        outcome: "applied",
        budget_ms: 50,
        us: 10,
        moved: [{ id: "c", from: 2, to: 0, why: "because" }]
      },
      {
        name: "reverse",
        outcome: "applied",
        budget_ms: 50,
        us: 10,
        moved: [
          { id: "b", from: 2, to: 0, why: "reverse" },
          { id: "c", from: 0, to: 2, why: "reverse" }
        ]
      }
    ])
    expect((await runStages(candidates, [reverse()], environment({ explain: false }))).stages[0].moved).toEqual([])
  })
  it("keeps the order when a stage throws, loses a candidate, duplicates one, or invents one", async () => {
    const faults: Array<Stage["run"]> = [
      () => {
        throw new Error("broken")
      },
      (given) => given.slice(1),
      (given) => [given[0], given[0], given[1]],
      (given) => [...given.slice(1), { ...given[0] }],
      async () => {
        throw new Error("broken")
      }
    ]
    for (const run of faults) {
      const result = await runStages(candidates, [reverse({ run }), reverse()], environment())
      expect(ids(result)).toBe("cba")
      expect(result.stages[0].outcome).toBe("failed")
    }
  })
  it("abandons a late stage, and aborts its signal", async () => {
    let aborted = false
    const result = await runStages(
      candidates,
      [
        reverse({
          budget_ms: 5,
          run: (_given, { signal }) => {
            signal.addEventListener("abort", () => {
              aborted = true
            })
            return never
          }
        })
      ],
      environment()
    )
    expect([ids(result), result.stages[0].outcome, aborted]).toEqual(["abc", "late", true])
  })
  it("fails the search if the stage's fallback says so", async () => {
    expect(
      (
        await runStages(
          candidates,
          [
            reverse({
              fallback: "error",
              run: () => {
                throw new StageLate("nothing done")
              }
            })
          ],
          environment()
        )
      ).failure
    ).toEqual({ kind: "Unavailable", message: "The stage `reverse` took too long." })
    expect(
      (
        await runStages(
          candidates,
          [
            reverse({
              fallback: "error",
              run: () => {
                throw new Error("no model")
              }
            })
          ],
          environment()
        )
      ).failure
    ).toEqual({ kind: "Unavailable", message: "The stage `reverse` failed: no model." })
  })
  it("stops when the request is cancelled: before a stage and within one", async () => {
    const gone = new AbortController()
    gone.abort()
    expect((await runStages(candidates, [reverse()], environment({ signal: gone.signal }))).failure?.kind).toBe(
      "TimedOut"
    )
    const going = new AbortController()
    const running = runStages(
      candidates,
      [reverse({ budget_ms: 10_000, run: () => never }), reverse()],
      environment({ signal: going.signal })
    )
    going.abort()
    expect((await running).failure?.kind).toBe("TimedOut")
  })
  it("passes a stage the rest of its budget", () => {
    let left = 0
    void runStages(
      candidates,
      [
        reverse({
          budget_ms: 1,
          run: (given, context) => {
            left = context.timeLeft_ms()
            return given
          }
        })
      ],
      environment()
    )
    expect(left).toBeCloseTo(0.99)
  })
})
