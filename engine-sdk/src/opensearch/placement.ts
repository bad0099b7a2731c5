/**
 * Where a collection is stored: the one module that knows index names, routing, and the prefixes of ids and words.
 * Small collections share pools; one that has more fields than a pool has slots, or that was promoted, has an index of
 * its own. Every id and word starts with the collection's key, and every query filters on it, so that a query never
 * sees documents of another collection.
 */
import { POOL_SLOTS, fitsPool, type SlotKind, type SlotTable } from "./slots.ts"

/** Length of the prefix of every id and word in characters: enough for two thousand million collections. */
export const KEY_LENGTH = 6
/** The cluster accepts ids of up to 512 bytes. */
export const ID_BYTES_MAX = 480

export interface Placement {
  readonly kind: "pool" | "own"
  /** Name of the index. */ readonly index: string
  /** The collection's key, unique in the cluster. */ readonly key: string
}
export interface ClusterNames {
  readonly collections: string
  readonly counters: string
  readonly pool: string
  own(key: string): string
  /** Pattern of all indices with documents. */ readonly documents: string
}

export const namesOf = (prefix: string): ClusterNames => ({
  collections: `${prefix}-collections`,
  counters: `${prefix}-counters`,
  pool: `${prefix}-documents-pool`,
  own: (key) => `${prefix}-documents-${key}`,
  documents: `${prefix}-documents-*`
})
/** The key of the collection that owns an index. */
export const keyInIndex = (names: ClusterNames, index: string): string | undefined => {
  const own = names.own("")
  return index !== names.pool && index.startsWith(own) ? index.slice(own.length) : undefined
}
export const keyOf = (number: number): string => number.toString(36).padStart(KEY_LENGTH, "0")

export const placementOf = (names: ClusterNames, key: string, slots: SlotTable): Placement =>
  fitsPool(slots) ? { kind: "pool", index: names.pool, key } : { kind: "own", index: names.own(key), key }
/** Slots of the index that stores a collection; a dedicated index has room for fields that may be added. */
export const placesOf = (kind: Placement["kind"], { used }: SlotTable): Readonly<Record<SlotKind, number>> =>
  kind === "pool"
    ? POOL_SLOTS
    : {
        t: 2 * used.t + 8,
        k: 2 * used.k + 16,
        n: 2 * used.n + 8,
        l: 2 * used.l + 4,
        b: 2 * used.b + 4,
        g: used.g + 2,
        v: used.v ?? 0
      }

export const storedId = ({ key }: Placement, id: string): string => key + id
export const storedWord = ({ key }: Placement, word: string): string => key + word
export const storedWords = ({ key }: Placement, words: ReadonlyArray<string>): string =>
  words.map((word) => key + word).join(" ")
/** The filter that every query of the collection includes. */
export const ownFilter = ({ key }: Placement): object => ({ term: { c: key } })
