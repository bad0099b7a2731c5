/** Bounds how many requests run at the same time, in total and per tenant. The queue is bounded in length and time. */
import type { Namespace } from "../engine.ts"
import { type EngineError, fail, ok, type Result } from "../errors.ts"

const WAITING_MAX = 1_024
const WAIT_MS = 10_000
const refusal: EngineError = {
  kind: "Overloaded",
  message: "Too many requests to the search engine are under way; send the request again later.",
  retryAfterSeconds: 1
}
interface GateWaiter {
  readonly namespace: Namespace
  readonly enter: (isIn: boolean) => void
}

export class Gate {
  readonly #most: number
  readonly #mostOfOne: number
  readonly #inside = new Map<Namespace, number>()
  readonly #waiting = new Set<GateWaiter>()
  #count = 0
  constructor(most: number, mostOfOne: number) {
    this.#most = most
    this.#mostOfOne = mostOfOne
  }
  /** Overloaded if there was no free slot in time; `run` is then not called. */
  async through<A>(namespace: Namespace, wait_ms: number, run: () => Promise<Result<A>>): Promise<Result<A>> {
    const entered = await this.#enter(namespace, wait_ms)
    if (!entered.ok) return entered
    try {
      return await run()
    } finally {
      this.#leave(namespace)
    }
  }
  #hasRoom(namespace: Namespace): boolean {
    return this.#count < this.#most && (this.#inside.get(namespace) ?? 0) < this.#mostOfOne
  }
  #take(namespace: Namespace): void {
    this.#count++
    this.#inside.set(namespace, (this.#inside.get(namespace) ?? 0) + 1)
  }
  #enter(namespace: Namespace, wait_ms: number): Promise<Result<void>> | Result<void> {
    if (this.#hasRoom(namespace)) {
      this.#take(namespace)
      return ok(undefined)
    }
    if (this.#waiting.size >= WAITING_MAX) return fail(refusal)
    return new Promise((settle) => {
      const one: GateWaiter = {
        namespace,
        enter: (isIn) => {
          clearTimeout(timer)
          this.#waiting.delete(one)
          settle(isIn ? ok(undefined) : fail(refusal))
        }
      }
      const timer = setTimeout(() => one.enter(false), Math.min(wait_ms, WAIT_MS))
      this.#waiting.add(one)
    })
  }
  #leave(namespace: Namespace): void {
    this.#count--
    const left = (this.#inside.get(namespace) ?? 1) - 1
    if (left === 0) this.#inside.delete(namespace)
    else this.#inside.set(namespace, left)
    for (const one of this.#waiting) {
      if (this.#count >= this.#most) return
      if (!this.#hasRoom(one.namespace)) continue
      this.#take(one.namespace)
      one.enter(true)
    }
  }
}
