/** The leases of the other processes, as last read and notified: a write has to wait for these processes. */
import { Deferred, Effect } from "effect"
import { ended, type LeaseRow, type Observed, observe, unconfirmed } from "../leases.ts"
import type { makeLeasesRepository } from "../leases-repository.ts"
import type { OwnStatements } from "./own-statements.ts"

/** How often rows are read again while waiting for confirmations, in case notifications were lost with a connection. */
const LOOK_AGAIN_MS = 100

interface OthersParts {
  readonly repository: ReturnType<typeof makeLeasesRepository>
  readonly statements: OwnStatements
  readonly lease_ms: number
  /** Milliseconds of the monotonic clock. */ readonly now: () => number
  /** Whether a lease is this process's own. */ readonly isOwn: (process: string) => boolean
}

export class OtherLeases {
  readonly #parts: OthersParts
  #observed: ReadonlyMap<string, Observed> = new Map()
  /** Newest versions announced by other processes, at most one per lease. */
  readonly #heard = new Map<string, number>()
  /** Completed when a process announces something. */
  #announced = Deferred.makeUnsafe<void>()

  constructor(parts: OthersParts) {
    this.#parts = parts
  }

  /** Takes all leases, which a renewal returns. */
  see(leases: ReadonlyArray<LeaseRow>): void {
    this.#observed = observe(this.#observed, leases, this.#parts.now())
    for (const process of this.#heard.keys()) if (!this.#observed.has(process)) this.#heard.delete(process)
  }

  /** Records that a process has every change up to a version; Infinity for one that left. */
  hear(process: string, version: number): void {
    if (this.#parts.isOwn(process)) return
    this.#heard.set(process, Math.max(this.#heard.get(process) ?? 0, version))
    const before = this.#announced
    this.#announced = Deferred.makeUnsafe()
    Deferred.doneUnsafe(before, Effect.void)
  }

  /** Ends the leases of processes that stopped renewing. */
  readonly endSilent = Effect.suspend(() => {
    const { isOwn, lease_ms, now, repository, statements } = this.#parts
    return Effect.forEach(
      ended(this.#observed, now(), lease_ms).filter(({ process }) => !isOwn(process)),
      (lease) => statements.run(repository.end(lease)),
      { discard: true }
    )
  })

  /** Resolves when every lease has the version or has ended. */
  readonly confirmed = Effect.fnUntraced({ self: this }, function* (version: number) {
    const { isOwn, lease_ms, now } = this.#parts
    // Kept in a local variable: an earlier renewal may return later, with leases from before the commit.
    let after = yield* this.#look()
    for (;;) {
      // Taken before checking, so that announcements in the meantime are not missed.
      const next = this.#announced
      const missing = unconfirmed(after, this.#heard, version).filter(({ process }) => !isOwn(process))
      if (missing.length === 0) return
      const over_ms = Math.min(...missing.map(({ seenAt }) => seenAt + lease_ms - now()))
      const isAnnounced =
        over_ms > 0 &&
        (yield* Effect.timeoutOption(Deferred.await(next), Math.min(over_ms, LOOK_AGAIN_MS)))._tag === "Some"
      if (isAnnounced) continue
      yield* this.endSilent
      after = yield* this.#look()
    }
  })

  #look() {
    const { now, repository, statements } = this.#parts
    return Effect.map(
      statements.run(repository.leases),
      (leases) => (this.#observed = observe(this.#observed, leases, now()))
    )
  }
}
