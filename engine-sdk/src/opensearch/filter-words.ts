/**
 * Filter values that end in a star. If the words of the field are cached (`vocabulary.ts`), such a value stands for the
 * field's best words, as in every engine. The words are put into the plan, so that the cluster, the scoring here, and a
 * scan all use the same. Without a vocabulary the value stands for every word that starts with it.
 */
import { ok, type Result } from "../errors.ts"
import { encodeUtf8 } from "../index/bytes.ts"
import { expandTerm } from "../index/expand.ts"
import type { SearchPlan } from "../plan.ts"
import type { Filter, StringFilter } from "../filter.ts"
import { bestCompletions } from "../search/text/completions.ts"
import type { Entry } from "./directory.ts"
import type { ClusterClient } from "./client.ts"
import { slotsFor } from "./slots.ts"
import { askAll } from "./trips.ts"
import type { Vocabularies, WordPlace } from "./vocabulary.ts"
import type { WordTable } from "./word-table.ts"

export interface WordParts {
  readonly client: ClusterClient
  readonly vocabularies: Vocabularies
}
type Tables = ReadonlyMap<string, WordTable>

export const planWithFilterWords = async (
  parts: WordParts,
  entry: Entry,
  plan: SearchPlan,
  left_ms: number
): Promise<Result<SearchPlan>> => {
  const fields = new Set<string>()
  mapFilters(plan, (filter) => {
    for (const name of begunFields(filter)) fields.add(name)
    return filter
  })
  if (fields.size === 0) return ok(plan)
  const tables = await tablesOf(parts, entry, fields, left_ms)
  return tables.ok ? ok(mapFilters(plan, (filter) => withWords(filter, tables.value))) : tables
}
export const filterWithWords = async (
  parts: WordParts,
  entry: Entry,
  filter: Filter,
  left_ms: number
): Promise<Result<Filter>> => {
  const fields = new Set(begunFields(filter))
  if (fields.size === 0) return ok(filter)
  const tables = await tablesOf(parts, entry, fields, left_ms)
  return tables.ok ? ok(withWords(filter, tables.value)) : tables
}

/** The word tables of those fields that have one, updated with what was written since. */
const tablesOf = async (
  { client, vocabularies }: WordParts,
  { documents, record }: Entry,
  fields: ReadonlySet<string>,
  left_ms: number
): Promise<Result<Tables>> => {
  const { placement, schema, slots } = record
  const tables = new Map<string, WordTable>()
  if (!vocabularies.isFor(documents)) return ok(tables)
  // The same table also serves words of queries.
  const bestBy = slotsFor(slots, schema.default_sorting_field)?.number
  const places = new Map<string, WordPlace>()
  for (const name of fields) {
    const slot = slotsFor(slots, name)?.words
    if (slot !== undefined) places.set(name, { slot, bestBy })
  }
  const all = [...places.values()]
  if (all.length === 0) return ok(tables)
  const until = performance.now() + left_ms
  let isCurrent = vocabularies.hasAll(placement, all, documents)
  if (isCurrent) {
    const checked = await askAll(client, placement, vocabularies.checks(placement, all), left_ms)
    if (!checked.ok) return checked
    isCurrent = vocabularies.isCurrent(placement, all, checked.value)
  }
  if (!isCurrent) {
    const read = await vocabularies.refresh(placement, all, until - performance.now())
    if (!read.ok) return read
  }
  for (const [name, place] of places) {
    const known = vocabularies.tables(placement, [place])
    if (known !== undefined) tables.set(name, known[0])
  }
  return ok(tables)
}
const withWords = (filter: Filter, tables: Tables): Filter => {
  switch (filter.kind) {
    case "and":
    case "or":
      return { ...filter, left: withWords(filter.left, tables), right: withWords(filter.right, tables) }
    case "not":
      return { ...filter, filter: withWords(filter.filter, tables) }
    case "string": {
      const table = tables.get(filter.field)
      return table === undefined ? filter : { ...filter, values: filter.values.map(chosenIn(filter, table)) }
    }
    default:
      return filter
  }
}
type Value = StringFilter["values"][number]
const chosenIn =
  ({ prefixCandidates }: StringFilter, table: WordTable) =>
  (value: Value): Value => {
    const last = value.tokens.at(-1)
    if (!value.prefix || last === undefined) return value
    const found = new Map<string, number>()
    expandTerm(table, encodeUtf8(last), 0, true, (term) => {
      found.set(table.terms.text(term), table.frequency(term))
    })
    return { ...value, words: bestCompletions(found, prefixCandidates) }
  }

/** Fields with a value that ends in a star. */
const begunFields = (filter: Filter): string[] => {
  switch (filter.kind) {
    case "and":
    case "or":
      return [...begunFields(filter.left), ...begunFields(filter.right)]
    case "not":
      return begunFields(filter.filter)
    case "string":
      return filter.values.some(({ prefix }) => prefix) ? [filter.field] : []
    default:
      return []
  }
}
/** Maps every filter of a plan; a plan without filters stays unchanged. */
const mapFilters = (plan: SearchPlan, map: (filter: Filter) => Filter): SearchPlan => {
  const { filter, injected, injectedFilter, pinnedFilter, sort } = plan
  return {
    ...plan,
    filter: filter === undefined ? undefined : map(filter),
    ...(pinnedFilter === undefined ? {} : { pinnedFilter: map(pinnedFilter) }),
    ...(injectedFilter === undefined ? {} : { injectedFilter: map(injectedFilter) }),
    ...(injected === undefined
      ? {}
      : {
          injected: injected.map((one) =>
            "filter" in one.target ? { ...one, target: { ...one.target, filter: map(one.target.filter) } } : one
          )
        }),
    sort: sort.map((key) =>
      key.kind === "eval" || key.kind === "boosts"
        ? { ...key, cases: key.cases.map((one) => ({ ...one, filter: map(one.filter) })) }
        : key
    )
  }
}
