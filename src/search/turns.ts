/**
 * Turns on this thread for searches that block it. A search that finds the thread free runs immediately. Once searches
 * have used a slice of an event-loop turn, the next ones wait while everything else that has arrived gets its turn
 * (health, keys, bodies), then continue by `src/fair-queue.ts`. A search beyond its deadline, or whose caller is gone,
 * does not run.
 *
 * A search that need not wait costs two readings of the clock. A remote engine answers later and uses no slice.
 */
import type { Awaitable } from "@dowser/engine-sdk"
import { makeFairQueue } from "../fair-queue.ts"

/** Decision: the longest that another request waits for quick searches; slow ones are not divided. */
const SLICE_MS = 5
/** Maximum number of waiting searches; a further one is refused immediately. Each belongs to a request held anyway. */
const WAITING_MAX = 10_000

export interface Turn {
  readonly organizationId: string
  /** Deadline in the time of `performance.now()`; Infinity = none. */ readonly until: number
  /** Aborted if nobody waits for it. */ readonly signal: AbortSignal
}
interface TurnsOptions {
  readonly weightOf?: (organizationId: string) => number
  readonly slice_ms?: number
  readonly waitingMax?: number
  readonly now?: () => number
  /** Calls back in a later turn of the event loop, after what has arrived meanwhile. */ readonly soon?: (
    run: () => void
  ) => void
}
export type Refused = "late" | "full"
interface PendingTurn {
  readonly turn: Turn
  readonly run: () => void
  readonly refuse: (refused: Refused) => void
}

export const makeTurns = ({
  now = () => performance.now(),
  slice_ms = SLICE_MS,
  soon = (run) => {
    setImmediate(run)
  },
  waitingMax = WAITING_MAX,
  weightOf = () => 1
}: TurnsOptions = {}) => {
  const queue = makeFairQueue<PendingTurn>(weightOf)
  let used_ms = 0
  let isYielding = false
  const timed = <A>(organizationId: string, run: () => A): A => {
    const from = now()
    try {
      return run()
    } finally {
      const took_ms = now() - from
      used_ms += took_ms
      queue.worked(organizationId, took_ms)
      if (used_ms >= slice_ms && !isYielding) {
        isYielding = true
        soon(next)
      }
    }
  }
  const next = () => {
    used_ms = 0
    isYielding = false
    while (!isYielding) {
      const taken = queue.take()
      if (taken === undefined) return
      const { refuse, run, turn } = taken.entry
      if (turn.signal.aborted || now() >= turn.until) refuse("late")
      else timed(taken.organizationId, run)
    }
  }
  return {
    /**
     * Runs `run` immediately or in its turn; if it throws, this throws or rejects. `refused` provides the answer if it
     * does not run.
     */
    take: <A>(turn: Turn, run: () => Awaitable<A>, refused: (reason: Refused) => A): Awaitable<A> => {
      if (turn.signal.aborted || now() >= turn.until) return refused("late")
      if (!isYielding) return timed(turn.organizationId, run)
      if (queue.size() >= waitingMax) return refused("full")
      return new Promise<A>((resolve, reject) => {
        queue.put(turn.organizationId, {
          turn,
          run: () => {
            try {
              resolve(run())
            } catch (error) {
              reject(error as Error)
            }
          },
          refuse: (reason) => resolve(refused(reason))
        })
      })
    },
    waiting: () => queue.size(),
    weightOf
  }
}
export type Turns = ReturnType<typeof makeTurns>
