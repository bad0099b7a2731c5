/**
 * Sort keys for the cluster, which only has to find the best hits: their final order is computed from the documents
 * (`window.ts`). A key that the cluster cannot sort by divides the matches into parts within which the key is constant;
 * the best of each part together contain the best overall. Pure.
 */
import type { Decay, SortKey } from "../plan.ts"
import type { Filter } from "../filter.ts"
import { compileFilter, type QueryScope } from "./compile-filter.ts"
import { storedId } from "./placement.ts"
import { slotsFor } from "./slots.ts"

/** Ties are broken by newest first. */
const NEWEST = { seq: "desc" }
/** Maximum parts of one search, each with its own query. */
const PARTS_MAX = 8

/** `isByNearness`: the score is that of a vector search, not of words. */
export const compileSort = (scope: QueryScope, sort: ReadonlyArray<SortKey>, isByNearness: boolean): object[] => [
  ...sort.flatMap((key) => compileKey(scope, key, isByNearness) ?? []),
  NEWEST
]
const compileKey = ({ slots }: QueryScope, key: SortKey, isByNearness: boolean): object | undefined => {
  const { order } = key
  switch (key.kind) {
    case "text_match":
      return isByNearness ? undefined : { _score: order }
    case "vector_query":
      return isByNearness ? { _score: order === "asc" ? "desc" : "asc" } : undefined
    case "seq":
      return { seq: order }
    case "random":
      return script(RANDOM, { seed: key.seed | 0 }, order)
    case "geo": {
      const slot = slotsFor(slots, key.field)?.point
      return slot === undefined
        ? undefined
        : { _geo_distance: { [slot]: { lat: key.lat, lon: key.lng }, order, unit: "m", mode: "min" } }
    }
    case "field": {
      const own = slotsFor(slots, key.field)
      const slot = key.type === "string" ? own?.sort : (own?.number ?? own?.boolean)
      if (slot === undefined) return undefined
      if (key.decay !== undefined && own?.number !== undefined) return decaying(slot, key.decay, key.missing, order)
      return { [slot]: { order, missing: missingOf(key), mode: "min" } }
    }
    default:
      return undefined
  }
}
/** Numbers without a value sort last; missing strings rank as highest (`docs/contract/sorting.md#missing-values`). */
const missingOf = ({ missing, order, type }: Extract<SortKey, { kind: "field" }>): string =>
  missing === "first" || (missing === "normal" && type === "string" && order === "desc") ? "_first" : "_last"
const script = (source: string, params: object, order: string): object => ({
  _script: { type: "number", order, script: { lang: "painless", source, params } }
})
/** Computes the same numbers as `randomOf` of the package's own ranking. */
const RANDOM =
  "int x = ((int)((doc['seq'].value + 2654435769L) * 2246822507L)) ^ (params.seed * (int)3266489909L); x = (x ^ (x >>> 15)) * 739982445; x = (x ^ (x >>> 12)) * 695872825; return (double)((x ^ (x >>> 15)) & 0xffffffffL);"
const DECAY =
  "if (doc[params.slot].size() == 0) return params.absent; double o = Math.abs(params.origin - doc[params.slot].value); if (params.func == 'diff') return o - params.offset; double d = Math.max(0.0, o - params.offset); if (params.func == 'gauss') return Math.exp(d * d * Math.log(params.decay) / (params.scale * params.scale)); if (params.func == 'exp') return Math.exp(d * Math.log(params.decay) / params.scale); double s = params.scale / (1 - params.decay); return Math.max(0.0, (s - d) / s);"
const decaying = (slot: string, decay: Decay, missing: string, order: string): object => {
  const isLow = (missing === "first") === (order === "asc")
  return script(DECAY, { slot, ...decay, absent: isLow ? -1e300 : 1e300 }, order)
}

/**
 * Additional queries for matches, one for each part; none if the cluster can sort by every key. With more than eight
 * parts the result is approximate: each case is then a part, no matter what else a document passes.
 */
export const partsOf = (scope: QueryScope, sort: ReadonlyArray<SortKey>): ReadonlyArray<object> => {
  let parts: object[] = []
  for (const key of sort) {
    const own =
      key.kind === "eval"
        ? firstOf(scope, key.cases)
        : key.kind === "boosts"
          ? eachOf(scope, key.cases)
          : key.kind === "listed"
            ? [{ ids: { values: key.ids.map((id) => storedId(scope.placement, id)) } }, { match_all: {} }]
            : []
    if (own.length === 0) continue
    parts =
      parts.length === 0
        ? own
        : parts.length * own.length <= PARTS_MAX
          ? parts.flatMap((one) => own.map((other) => ({ bool: { filter: [one, other] } })))
          : [...parts, ...own]
  }
  return parts
}
type Cases = ReadonlyArray<{ readonly filter: Filter }>
/** A document belongs to the first case that it passes. */
const firstOf = (scope: QueryScope, cases: Cases): object[] => {
  const filters = cases.map(({ filter }) => compileFilter(scope, filter))
  return [
    ...filters.map((filter, i) => ({ bool: { filter: [filter], must_not: filters.slice(0, i) } })),
    { bool: { must_not: filters } }
  ]
}
/** A document belongs to all cases that it passes. */
const eachOf = (scope: QueryScope, cases: Cases): object[] => {
  const filters = cases.map(({ filter }) => compileFilter(scope, filter))
  if (2 ** filters.length > PARTS_MAX) return [...filters, { match_all: {} }]
  return Array.from({ length: 2 ** filters.length }, (_part, bits) => ({
    bool: {
      filter: filters.filter((_filter, i) => (bits & (1 << i)) !== 0),
      must_not: filters.filter((_filter, i) => (bits & (1 << i)) === 0)
    }
  }))
}
