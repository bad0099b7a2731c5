/**
 * Filter sets that a segment caches: a filter that is used again and again, such as a category or a brand, is computed
 * once, because segments never change.
 */
import type { Filter } from "../../filter.ts"
import type { Bits, ReadonlyBits } from "../../index/bits.ts"
import { BoundedMap } from "../../bounded-map.ts"
import type { Segment } from "../../index/segment.ts"

/** Bound of a segment's cache: about a hundred and sixty sets with their keys. */
const SETS_BYTES_A_DOCUMENT = 20,
  SETS_BYTES_MIN = 200_000
/** Number of values of one comparison whose set may be cached. */
const KEPT_VALUES_MAX = 64
/** Bound on the keys of sets that were used once (about a tenth of the cache), and maximum length of one key. */
const ASKED_BYTES_MAX = 500_000,
  ASKED_LENGTH_MAX = 1_024
/**
 * Sets of a segment, least recently used first, and the keys of sets that were used once. A set is cached only on its
 * second use, so that a range that never recurs does not evict a category.
 */
interface LeafCache {
  readonly sets: BoundedMap<string, Bits>
  readonly asked: BoundedMap<string, true>
}
/** The set of a filter on one field, computed by `compute`. Small segments cache nothing. */
export const cachedLeaf = (segment: Segment, filter: Filter, compute: () => Bits): ReadonlyBits => {
  if (segment.docs < 256 || isLong(filter)) return compute()
  let cache = segment.derived.get("filters") as LeafCache | undefined
  if (cache === undefined)
    segment.derived.set(
      "filters",
      (cache = {
        sets: new BoundedMap({
          bytes_max: Math.max(SETS_BYTES_MIN, segment.docs * SETS_BYTES_A_DOCUMENT),
          bytesOf: (key, bits) => key.length * 2 + bits.byteLength
        }),
        asked: new BoundedMap({ bytes_max: ASKED_BYTES_MAX, bytesOf: (key) => key.length * 2 })
      })
    )
  const { asked, sets } = cache
  const key = keyOf(filter)
  const known = sets.get(key)
  if (known !== undefined) {
    sets.renew(key)
    return known
  }
  const bits = compute()
  if (asked.has(key)) {
    asked.delete(key)
    sets.set(key, bits)
  } else if (key.length <= ASKED_LENGTH_MAX) asked.set(key, true)
  return bits
}
/** Whether a list of values is unlikely to recur and has a key that would cost more than the cache saves. */
const isLong = (filter: Filter): boolean =>
  (filter.kind === "string" && filter.values.length > KEPT_VALUES_MAX) ||
  (filter.kind === "number" && filter.ranges.length > KEPT_VALUES_MAX) ||
  (filter.kind === "geo" && filter.areas.length > KEPT_VALUES_MAX)
/** The plain writer is several times faster. It fails only on 64-bit integers, which are rare. */
const keyOf = (filter: Filter): string => {
  try {
    return JSON.stringify(filter)
  } catch {
    return JSON.stringify(filter, (_name, value) => (typeof value === "bigint" ? `${value}n` : value))
  }
}
