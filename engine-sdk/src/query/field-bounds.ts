/**
 * `include_fields` and `exclude_fields` of a scoped key as bounds (`field-list.ts`): a field that they hide cannot be
 * named either, because otherwise filters, sorts and facets would reveal its values. Pure.
 *
 * Decision: an `include_fields` without `$collection(…)` shows nothing of other collections, so none can be joined;
 * excluded names are excluded in every collection. `*` alone, or an empty list, bounds nothing.
 */
import type { FieldBounds, FieldNames } from "./field-list.ts"
import { closingOf, nestedListOf } from "./text-scanner.ts"

/** Deeper joins are refused when the parameter is read. */
const JOIN_DEPTH_MAX = 8
/** Field names by collection; undefined = all of its fields. */
type Joined = Map<string, FieldNames | undefined>

const add = (joined: Joined, name: string, names: FieldNames | undefined): void => {
  const known = joined.get(name)
  joined.set(
    name,
    names === undefined || (joined.has(name) && known === undefined) ? undefined : [...(known ?? []), ...names]
  )
}
/**
 * The names of a list. The parts for joined collections are added to `joined`, under the written name and the
 * collection's own.
 */
const namesIn = (
  text: string,
  joined: Joined,
  realNameOf: (name: string) => string | undefined,
  depth = 0
): FieldNames => {
  if (depth > JOIN_DEPTH_MAX) return []
  const own: Array<string> = []
  for (const item of nestedListOf(text)) {
    if (!item.startsWith("$")) {
      // Options of a join (`strategy: nest`) do not name fields.
      if (item !== "*" && (depth === 0 || !item.includes(":"))) own.push(item)
      continue
    }
    const open = item.indexOf("(")
    const close = open < 0 ? -1 : closingOf(item, open)
    const name = (open < 0 ? item.slice(1) : item.slice(1, open)).trim()
    const inner = namesIn(close < 0 ? "" : item.slice(open + 1, close), joined, realNameOf, depth + 1)
    for (const each of new Set([name, realNameOf(name) ?? name]))
      add(joined, each, inner.length === 0 ? undefined : inner)
  }
  return own
}

/** Equal bounds have equal `text`. */
interface NamedBounds {
  readonly bounds: FieldBounds
  readonly text: string
}

/**
 * undefined if no list bounds anything. `within` applies as well; `realNameOf` resolves an alias to the collection's
 * own name.
 */
export const fieldBoundsOf = (
  includeFields: string,
  excludeFields: string,
  within: FieldNames | undefined,
  realNameOf: (name: string) => string | undefined
): NamedBounds | undefined => {
  const included: Joined = new Map(),
    excluded: Joined = new Map()
  const own = namesIn(includeFields, included, realNameOf)
  const isIncluding = own.length > 0 || included.size > 0
  // In `exclude_fields`, `*` means everything.
  const without = nestedListOf(excludeFields).includes("*") ? ["*"] : namesIn(excludeFields, excluded, realNameOf)
  if (!isIncluding && without.length === 0 && excluded.size === 0) return undefined
  const known = new Map<string, FieldBounds>()
  const joined = (collection: string): FieldBounds => {
    let bounds = known.get(collection)
    if (bounds === undefined)
      known.set(
        collection,
        (bounds = {
          include: !isIncluding ? undefined : included.has(collection) ? included.get(collection) : [],
          exclude: excluded.has(collection) ? [...without, ...(excluded.get(collection) ?? ["*"])] : without,
          within,
          joined
        })
      )
    return bounds
  }
  return {
    bounds: { include: own.length === 0 ? undefined : own, exclude: without, within, joined },
    text: JSON.stringify([
      own,
      without,
      within ?? null,
      ...[included, excluded].map((map) => [...map].map(([name, names]) => [name, names ?? null]))
    ])
  }
}

/** Whether these bounds show nothing at all. */
export const seesNothing = ({ exclude, include }: FieldBounds): boolean =>
  include?.length === 0 || exclude.includes("*")
