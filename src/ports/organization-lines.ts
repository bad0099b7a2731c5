/** How much one organization may have in progress: a line each, so that nobody waits behind another organization. */
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
    // A line that is forgotten while somebody waits in it lets a few more in at once.
    if (this.#lines.size >= ORGANIZATIONS_MAX) this.#lines.delete(this.#lines.keys().next().value!)
    const line = Semaphore.makeUnsafe(this.#atOnceMax)
    this.#lines.set(organizationId, line)
    return line
  }
}
