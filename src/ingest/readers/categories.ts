/** The categories of a YML feed as a tree, with the path to each, in whatever order parents are written. */
const CATEGORIES_MAX = 200_000
const NAME_CHARACTERS_MAX = 250
const DEPTH_MAX = 16

export class Categories {
  readonly #byId = new Map<string, { readonly name: string; readonly parent: string | undefined }>()
  readonly #paths = new Map<string, ReadonlyArray<string>>()
  /** Returns false if there are too many. */
  put(id: string, name: string, parent: string | undefined): boolean {
    if (this.#byId.size >= CATEGORIES_MAX) return false
    this.#byId.set(id, { name: name.slice(0, NAME_CHARACTERS_MAX), parent })
    return true
  }
  /** The path from the root, or from where the ancestors form a cycle or are unknown. Undefined: unknown category. */
  pathOf(id: string): ReadonlyArray<string> | undefined {
    const known = this.#paths.get(id)
    if (known !== undefined) return known
    const names: Array<string> = [],
      seen = new Set<string>()
    for (let at: string | undefined = id; at !== undefined && !seen.has(at) && names.length < DEPTH_MAX;) {
      const category = this.#byId.get(at)
      if (category === undefined) break
      seen.add(at)
      if (category.name !== "") names.unshift(category.name)
      at = category.parent
    }
    if (names.length === 0) return undefined
    this.#paths.set(id, names)
    return names
  }
}
