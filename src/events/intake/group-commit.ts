/**
 * Group commit: requests that wait during a commit are stored together in the next one. The caller provides `commit`,
 * which answers every request of a group, whatever happens. Limited in requests and in their sizes.
 */
import { Clock, Deferred, Effect, Latch } from "effect"
import { Linger, LINGER_MS } from "./linger.ts"

/** A waiting request; implementations add its payload. */
export interface PendingRequest<A, E> {
  /** Its size, which counts towards the limits. */ readonly size: number
  /** Unix milliseconds. */ readonly cameAt: number
  readonly done: Deferred.Deferred<A, E>
}
interface GroupBounds {
  readonly requestsMax: number
  /** For all waiting requests; a single one may be larger. */ readonly sizeMax: number
  /** Approximate size of one group. */ readonly groupSizeMax: number
}

/** How many requests, starting with `from`, add up to about `sizeMax`; at least one if there is one. */
export const requestsWithin = (
  requests: ReadonlyArray<{ readonly size: number }>,
  from: number,
  sizeMax: number
): number => {
  let count = 0
  for (let size = 0; from + count < requests.length && size < sizeMax; count++) size += requests[from + count]!.size
  return count
}

export class GroupCommit<A, E, W extends PendingRequest<A, E>> {
  readonly #bounds: GroupBounds
  readonly #clock: Clock.Clock
  readonly #filled: Latch.Latch
  readonly #commit: (group: ReadonlyArray<W>) => Effect.Effect<void>
  readonly #linger = new Linger()
  readonly #waiting: Array<W> = []
  #size = 0

  constructor(
    bounds: GroupBounds,
    clock: Clock.Clock,
    filled: Latch.Latch,
    commit: (group: ReadonlyArray<W>) => Effect.Effect<void>
  ) {
    this.#bounds = bounds
    this.#clock = clock
    this.#filled = filled
    this.#commit = commit
  }

  /** Whether a request of this size may wait. */
  hasRoom(size: number): boolean {
    return (
      this.#waiting.length < this.#bounds.requestsMax && (this.#size === 0 || this.#size + size <= this.#bounds.sizeMax)
    )
  }

  /** Adds a request to the next group, and settles with its result. Check `hasRoom` first. */
  add(request: W): Effect.Effect<A, E> {
    this.#waiting.push(request)
    this.#size += request.size
    this.#filled.openUnsafe()
    return Deferred.await(request.done)
  }

  /** Commits everything that is waiting. */
  readonly drain: Effect.Effect<void> = Effect.whileLoop({
    while: () => this.#waiting.length > 0,
    body: () => this.#commitNext(),
    step: () => {}
  })

  /** Commits one group after the other. A group that was taken is finished even if this is interrupted. */
  readonly loop: Effect.Effect<never> = Effect.forever(
    Effect.gen({ self: this }, function* () {
      if (this.#waiting.length === 0) {
        yield* this.#filled.close
        if (this.#waiting.length === 0) yield* this.#filled.await
      }
      const waited_ms = this.#clock.currentTimeMillisUnsafe() - (this.#waiting[0]?.cameAt ?? 0)
      if (this.#size < this.#bounds.groupSizeMax && this.#linger.isDue(waited_ms)) {
        const before = this.#waiting.length
        yield* Effect.sleep(LINGER_MS)
        this.#linger.brought(this.#waiting.length - before)
      }
      yield* Effect.uninterruptible(Effect.suspend(() => this.#commitNext()))
    })
  )

  #commitNext(): Effect.Effect<void> {
    const group = this.#waiting.splice(0, requestsWithin(this.#waiting, 0, this.#bounds.groupSizeMax))
    for (const { size } of group) this.#size -= size
    return this.#commit(group)
  }
}
