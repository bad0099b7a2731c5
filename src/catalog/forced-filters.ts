/**
 * The filters that a key forces on collections, and which collections it reaches by them: a key that lists collections
 * in `filter_by` reaches those and no others, so that nothing is open because nobody thought of it. `*` says the rest.
 *
 * An entry names a collection, an alias of it as it leads now, or a pattern of either. What fits a collection by any of
 * its names holds, all of it together: the key's owner may have meant each of them.
 */
import { type OperationContext, resolveCollection } from "../../engine-sdk/src/operations/mod.ts"
import type { KeyRecord } from "../identity/key-record.ts"
import { collectionMatches } from "../access/check/decision.ts"

type Filters = KeyRecord["filter_by"]
type Names = Pick<OperationContext, "engine" | "namespace" | "resources">

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
 * Of a collection by its own name, as the key's owner wrote them; `*` holds where no other entry does. O(entries), with
 * patterns O(entries × aliases).
 */
export const forcedTextsOf = (names: Names, filters: Filters, name: string): ReadonlyArray<string> => {
  const fitting = Object.entries(filters)
    .filter(([entry]) => fits(names, entry, name))
    .map(([, text]) => text)
  return fitting.length > 0 || !Object.hasOwn(filters, "*") ? fitting : [filters["*"]!]
}

/** Whether the filters reach a collection by this name, be it there or not. */
export const filtersReach = (names: Names, filters: Filters, name: string): boolean => {
  const entries = Object.keys(filters)
  if (entries.length === 0 || Object.hasOwn(filters, "*")) return true
  const own = resolveCollection(names, name)?.schema.name
  return entries.some((entry) => (own === undefined ? collectionMatches(name, [entry]) : fits(names, entry, own)))
}
