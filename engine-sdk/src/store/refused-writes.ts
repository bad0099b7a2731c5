/** Collections whose last commit failed on the disk. Writes to them are refused until the disk accepts writes again. */
interface Refused {
  /** When the disk was last probed. */ asked_ms: number
  asking: Promise<boolean> | undefined
}
/** Minimum time between two probes of a disk that refused a write. */
const PROBE_EVERY_MS = 100

export class RefusedWrites {
  readonly #probe: () => Promise<void>
  readonly #refused = new Map<number, Refused>()
  /** `probe` rejects as long as the disk accepts no writes. */
  constructor(probe: () => Promise<void>) {
    this.#probe = probe
  }
  note(key: number): void {
    this.#refused.set(key, { asked_ms: -Infinity, asking: undefined })
  }
  has(key: number): boolean {
    return this.#refused.has(key)
  }
  /** Probes the disk at limited intervals; concurrent callers share one probe. */
  areTaken(key: number): Promise<boolean> {
    const known = this.#refused.get(key)
    if (known === undefined) return Promise.resolve(true)
    if (known.asking !== undefined) return known.asking
    if (performance.now() - known.asked_ms < PROBE_EVERY_MS) return Promise.resolve(false)
    known.asked_ms = performance.now()
    return (known.asking = this.#probe()
      .then(
        () => {
          this.#refused.delete(key)
          return true
        },
        () => false
      )
      .finally(() => {
        known.asking = undefined
      }))
  }
}
