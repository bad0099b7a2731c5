/** Limits what one organization may have in progress, so that nobody waits behind another organization. */
import { Semaphore } from "effect"

const ORGANIZATIONS_MAX = 10_000

export class OrganizationLines {
  readonly #atOnceMax: number
  readonly #lines = new Map<string, Semaphore.Semaphore>()
  constructor(atOnceMax: number) {
    this.#atOnceMax = atOnceMax
  }
  of(organizationId: string): Semaphore.Semaphore {
    const known = this.#lines.get(organizationId)
    if (known !== undefined) return known
    // If a semaphore is evicted while somebody waits for it, a few more than the limit may run at the same time.
    if (this.#lines.size >= ORGANIZATIONS_MAX) this.#lines.delete(this.#lines.keys().next().value!)
    const line = Semaphore.makeUnsafe(this.#atOnceMax)
    this.#lines.set(organizationId, line)
    return line
  }
}
