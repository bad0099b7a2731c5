/**
 * Rows of configuration that could not be loaded. Each affects only its organization, whose requests are refused with
 * the reason. A row is checked again whenever it is read.
 */
import type { ConfigurationKind, Subject } from "./change.ts"

interface Damage {
  readonly organizationId: string
  /** One sentence. */ readonly reason: string
}

export class Damages {
  /** By organization, then by row. Empty in a healthy installation, where a check costs a look-up in an empty map. */
  readonly #found = new Map<string, Map<string, string>>()

  /** Call before the rows of `subjects` are read (again). */
  forget(kind: ConfigurationKind, subjects: ReadonlyArray<Subject> | "all"): void {
    if (this.#found.size === 0) return
    if (subjects !== "all")
      return subjects.forEach(({ id, organizationId }) => this.#remove(organizationId, `${kind}/${id}`))
    for (const [organizationId, places] of this.#found)
      for (const place of places.keys()) if (place.startsWith(`${kind}/`)) this.#remove(organizationId, place)
  }
  note(kind: ConfigurationKind, { id, organizationId }: Subject, reason: string): void {
    let places = this.#found.get(organizationId)
    if (places === undefined) this.#found.set(organizationId, (places = new Map()))
    places.set(`${kind}/${id}`, reason)
  }
  /** Why the organization is refused; undefined if it is not. O(1). */
  of(organizationId: string): string | undefined {
    for (const reason of this.#found.get(organizationId)?.values() ?? []) return reason
    return undefined
  }
  list(): ReadonlyArray<Damage> {
    return [...this.#found].flatMap(([organizationId, places]) =>
      [...places.values()].map((reason) => ({ organizationId, reason }))
    )
  }
  #remove(organizationId: string, place: string): void {
    const places = this.#found.get(organizationId)
    if (places?.delete(place) === true && places.size === 0) this.#found.delete(organizationId)
  }
}
