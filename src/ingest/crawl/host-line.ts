/** Queue for a host: one request at a time, with organizations taking turns. Pure except for its callbacks. */
import { makeFairQueue } from "../../fair-queue.ts"
import { DELAY_START_MS } from "./politeness.ts"

interface HostWaiter {
  readonly resume: () => void
  isGivenUp: boolean
}

export class HostLine {
  readonly #queue = makeFairQueue<HostWaiter>(() => 1)
  #isBusy = false
  #waiting = 0
  /** The current delay of the throttle. */ throttle_ms = DELAY_START_MS
  /** When its last response ended, by the program's clock; undefined before the first. */ ended_at: number | undefined
  /** The host asked for no requests before then. */ notBefore = 0

  get isIdle(): boolean {
    return !this.#isBusy && this.#waiting === 0
  }
  /** Calls `resume` when it is the caller's turn. Returns a function that gives up waiting. */
  enter(organizationId: string, resume: () => void): () => void {
    const waiting: HostWaiter = { resume, isGivenUp: false }
    if (!this.#isBusy) {
      this.#isBusy = true
      resume()
      return () => {}
    }
    this.#queue.put(organizationId, waiting)
    this.#waiting++
    return () => {
      if (waiting.isGivenUp) return
      waiting.isGivenUp = true
      this.#waiting--
    }
  }
  /** Ends the turn and starts the next one. */
  leave(organizationId: string, took_ms: number): void {
    this.#queue.worked(organizationId, Math.max(1, took_ms))
    for (let next = this.#queue.take(); next !== undefined; next = this.#queue.take()) {
      if (next.entry.isGivenUp) continue
      next.entry.isGivenUp = true
      this.#waiting--
      return next.entry.resume()
    }
    this.#isBusy = false
  }
}
