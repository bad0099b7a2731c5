/**
 * Chooses which search runs next when a few workers serve all namespaces: start-time fair queueing by the time that
 * each namespace's searches took, divided by its weight. The namespace that has used least since others began to wait
 * is next: a tenant with one search overtakes a tenant with two thousand, and a tenant with cheap searches does not
 * wait until one with expensive searches has run as many. A search is charged its expected time when it starts, and the
 * difference when it ends. Pure.
 *
 * Memory is bounded by the waiting searches, plus an entry for each namespace that waits or has used more than the
 * others since something last waited.
 */
import type { Namespace } from "../engine.ts"

interface Line<A> {
  readonly waiting: A[]
  /** Time used so far, in virtual milliseconds. */ used: number
}
interface Charged {
  readonly namespace: Namespace
  readonly expected_ms: number
  readonly weight: number
}

export class FairLines<A extends Charged> {
  private readonly lines = new Map<Namespace, Line<A>>()
  private virtual = 0
  private size_ = 0

  get size(): number {
    return this.size_
  }
  sizeOf(namespace: Namespace): number {
    return this.lines.get(namespace)?.waiting.length ?? 0
  }
  put(one: A): void {
    let line = this.lines.get(one.namespace)
    if (line === undefined) this.lines.set(one.namespace, (line = { waiting: [], used: this.virtual }))
    // A namespace does not accumulate credit while it is idle.
    if (line.waiting.length === 0) line.used = Math.max(line.used, this.virtual)
    line.waiting.push(one)
    this.size_++
  }
  /** Takes the next search. O(namespaces that wait or have used more than others). */
  take(): A | undefined {
    let next: Line<A> | undefined
    for (const line of this.lines.values())
      if (line.waiting.length > 0 && (next === undefined || line.used < next.used)) next = line
    if (next === undefined) return undefined
    this.virtual = next.used
    this.size_--
    const one = next.waiting.shift()!
    next.used += one.expected_ms / one.weight
    return one
  }
  /** Corrects the charge to the time that the search actually took. */
  took({ expected_ms, namespace, weight }: Charged, took_ms: number): void {
    // If nothing waits, no namespace is ahead.
    if (this.size_ === 0) {
      this.lines.clear()
      return
    }
    const line = this.lines.get(namespace)
    if (line !== undefined) line.used += (took_ms - expected_ms) / weight
    for (const [name, { used, waiting }] of this.lines)
      if (waiting.length === 0 && used <= this.virtual) this.lines.delete(name)
  }
  /** Removes and returns all waiting searches. */
  clear(): A[] {
    const all = [...this.lines.values()].flatMap(({ waiting }) => waiting)
    this.lines.clear()
    this.size_ = 0
    return all
  }
}
