/** How fast the partitions of the streams are read: entries per second, from two readings of their counters. */
import type { Progress } from "@dowser/streams/runner/runner"

export class EntryRates {
  #before = new Map<string, number>()
  #countedAt: number

  /** `now` is in Unix milliseconds. */
  constructor(now: number) {
    this.#countedAt = now
  }

  /** Entries per second by `group/partition` since the last call. A restarted runner counts from zero. */
  since(partitions: ReadonlyArray<Progress>, now: number): ReadonlyMap<string, number> {
    const elapsed_s = Math.max(0.001, (now - this.#countedAt) / 1_000)
    const rates = new Map<string, number>()
    const counts = new Map<string, number>()
    for (const { entries, group, partition } of partitions) {
      const name = `${group}/${partition}`
      rates.set(name, Math.max(0, entries - (this.#before.get(name) ?? entries)) / elapsed_s)
      counts.set(name, entries)
    }
    this.#before = counts
    this.#countedAt = now
    return rates
  }
}
