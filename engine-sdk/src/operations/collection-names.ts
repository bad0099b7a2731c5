/**
 * Which collections a list of names and patterns selects, and which filters a table of them enforces. A table that
 * lists collections gives access to those and no others, so that nothing is open by oversight; `*` covers the rest.
 *
 * An entry names a collection, an alias (meaning its current target), or a pattern of either. All entries that match a
 * collection by any of its names apply together, because the table's author may have meant each of them.
 */
import { resolveCollection, type OperationContext } from "./operation.ts"

/** Filter texts by name or pattern. */
export type ForcedFilters = Readonly<Record<string, string>>
type Names = Pick<OperationContext, "engine" | "namespace" | "resources">

/** Matches a name against names, `*` and patterns with `.*`; linear in the name, so no pattern can be slow. */
export const collectionMatches = (name: string, patterns: ReadonlyArray<string>): boolean =>
  patterns.some((pattern) => {
    if (pattern === "*" || pattern === ".*" || pattern === name) return true
    const parts = pattern.split(".*")
    if (parts.length === 1) return false
    if (!name.startsWith(parts[0])) return false
    let at = parts[0].length
    for (const part of parts.slice(1, -1)) {
      const found = name.indexOf(part, at)
      if (found < 0) return false
      at = found + part.length
    }
    const last = parts[parts.length - 1]
    return name.length - at >= last.length && name.endsWith(last)
  })

const isPattern = (entry: string): boolean => entry.includes(".*")
const fits = (names: Names, entry: string, name: string): boolean => {
  if (entry === "*") return false
  if (collectionMatches(name, [entry])) return true
  if (!isPattern(entry)) return resolveCollection(names, entry)?.schema.name === name
  return names.resources
    .list(names.namespace, "alias")
    .some((alias) => alias.collection_name === name && collectionMatches(alias.name, [entry]))
}

/**
 * The filter texts forced on a collection, given by its own name, as they were written; `*` applies if no other entry
 * does. O(entries), with patterns O(entries × aliases).
 */
export const forcedTextsOf = (names: Names, filters: ForcedFilters, name: string): ReadonlyArray<string> => {
  const fitting = Object.entries(filters)
    .filter(([entry]) => fits(names, entry, name))
    .map(([, text]) => text)
  return fitting.length > 0 || !Object.hasOwn(filters, "*") ? fitting : [filters["*"]!]
}

/**
 * Whether the table gives access to a collection by this name, whether or not the collection exists; an empty table
 * gives access to everything.
 */
export const filtersReach = (names: Names, filters: ForcedFilters, name: string): boolean => {
  const entries = Object.keys(filters)
  if (entries.length === 0 || Object.hasOwn(filters, "*")) return true
  const own = resolveCollection(names, name)?.schema.name
  return entries.some((entry) => (own === undefined ? collectionMatches(name, [entry]) : fits(names, entry, own)))
}
