/** Who asks a host next: one request at a time, organizations taking turns. Pure but for who it calls back. */
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
  /** Of the throttle. */ throttle_ms = DELAY_START_MS
  /** When its last answer ended, by the program's clock; undefined before the first. */ ended_at: number | undefined
  /** It asked to be left alone until then. */ notBefore = 0

  get isIdle(): boolean {
    return !this.#isBusy && this.#waiting === 0
  }
  /** Calls back when it is the caller's turn; answers how to give up before. */
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
  /** The turn is over; the next one begins. */
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
