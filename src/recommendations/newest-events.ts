/**
 * The newest of more events than there is room for, in whatever order partitions bring them. They are kept by hour, so
 * that neither dropping the oldest nor sorting them blocks the thread.
 */
import { givingWay } from "@dowser/engine-sdk/host"
import type { ModelEvent } from "@dowser/engine-sdk/recommend"

const HOUR_MS = 3_600_000

export class NewestEvents {
  readonly #max: number
  readonly #hours = new Map<number, Array<ModelEvent>>()
  #length = 0
  constructor(max: number) {
    this.#max = max
  }
  /** O(1); O(hours) if an hour must be dropped. */
  add(event: ModelEvent): void {
    const hour = Math.floor(event.at / HOUR_MS)
    let own = this.#hours.get(hour)
    if (own === undefined) this.#hours.set(hour, (own = []))
    own.push(event)
    this.#length++
    if (this.#length > this.#max) this.#dropOldest()
  }
  /** Drops an entire hour if the rest is still enough, or part of an hour that exceeds the entire room. */
  #dropOldest(): void {
    let oldest = Infinity
    for (const hour of this.#hours.keys()) oldest = Math.min(oldest, hour)
    const own = this.#hours.get(oldest) ?? []
    const spare = this.#length - this.#max
    if (own.length <= spare) {
      this.#hours.delete(oldest)
      this.#length -= own.length
    } else if (spare >= this.#max) {
      own.sort((a, b) => a.at - b.at).splice(0, spare)
      this.#length -= spare
    }
  }
  /** The newest `max`, oldest first. */
  async inOrder(): Promise<ReadonlyArray<ModelEvent>> {
    const give = givingWay()
    const all: Array<ModelEvent> = []
    for (const hour of [...this.#hours.keys()].sort((a, b) => a - b)) {
      for (const event of this.#hours.get(hour)!.sort((a, b) => a.at - b.at)) all.push(event)
      const way = give()
      if (way !== undefined) await way
    }
    return all.slice(-this.#max)
  }
}
