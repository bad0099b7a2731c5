/**
 * Sets of filters that a segment remembers: what is asked again and again, a category or a brand, is computed once, as
 * segments never change.
 */
import type { Filter } from "../../filter.ts"
import type { Bits, ReadonlyBits } from "../../index/bits.ts"
import { BoundedMap } from "../../bounded-map.ts"
import type { Segment } from "../../index/segment.ts"

/** Sets of a segment: some hundred and sixty of them, and their texts. */
const SETS_BYTES_A_DOCUMENT = 20,
  SETS_BYTES_MIN = 200_000
/** Values of one comparison whose set may be remembered. */
const KEPT_VALUES_MAX = 64
/** Keys of sets that were asked for once, and how long one may be; in practice a tenth of the bound. */
const ASKED_BYTES_MAX = 500_000,
  ASKED_LENGTH_MAX = 1_024
/**
 * Sets of a segment, least recently used first, and what was asked once: a range that never comes again must not push
 * out a category.
 */
interface LeafCache {
  readonly sets: BoundedMap<string, Bits>
  readonly asked: BoundedMap<string, true>
}
/** The set of a filter on one field; `compute` makes it. Of small segments nothing is kept. */
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
/** A list that nobody sends twice, and whose key would cost more than it saves. */
const isLong = (filter: Filter): boolean =>
  (filter.kind === "string" && filter.values.length > KEPT_VALUES_MAX) ||
  (filter.kind === "number" && filter.ranges.length > KEPT_VALUES_MAX) ||
  (filter.kind === "geo" && filter.areas.length > KEPT_VALUES_MAX)
/** The plain writer is several times faster; it only refuses 64-bit integers, which are rare. */
const keyOf = (filter: Filter): string => {
  try {
    return JSON.stringify(filter)
  } catch {
    return JSON.stringify(filter, (_name, value) => (typeof value === "bigint" ? `${value}n` : value))
  }
}
