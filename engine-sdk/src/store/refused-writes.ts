/** Collections whose last commit the disk refused: writes to them are declined until it takes some again. */
interface Refused {
  /** When the disk was last asked. */ asked_ms: number
  asking: Promise<boolean> | undefined
}
/** Between two questions to a disk that refused a write. */
const PROBE_EVERY_MS = 100

export class RefusedWrites {
  readonly #probe: () => Promise<void>
  readonly #refused = new Map<number, Refused>()
  /** `probe` rejects while the disk takes nothing. */
  constructor(probe: () => Promise<void>) {
    this.#probe = probe
  }
  note(key: number): void {
    this.#refused.set(key, { asked_ms: -Infinity, asking: undefined })
  }
  has(key: number): boolean {
    return this.#refused.has(key)
  }
  /** Asks the disk, at most every so often; callers that come together share one question. */
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
