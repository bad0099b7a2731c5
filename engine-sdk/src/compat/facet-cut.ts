/**
 * Which values `max_facet_values` keeps if the cut falls among equally frequent ones. The reference engine counts in
 * two ways, and each breaks ties by the data it uses:
 *
 * - Counting documents (`exhaustive`, groups, small results): every value has a number, and the larger number is
 *   kept. Texts and int64 are numbered in order of arrival, so the latest value is kept. For int32, float and bool the
 *   number is the value's bits, read as unsigned: the larger is kept, so negative ones before positive ones.
 * - Counting by lists (`top_values`, match-all, `_alpha`, large results): values are visited by their counts in the
 *   entire collection, ties in the order in which their counts last changed, until the wanted number is found (twice
 *   that unless everything matches). If more than wanted are found, the hash of the text decides: the larger (signed)
 *   is kept.
 *
 * The values are then shown in a different order (`compareCounts`).
 */
import { passingUtf8 } from "../index/bytes.ts"
import type { CollectionReader } from "../index/reader.ts"
import { wyhash } from "./wyhash.ts"
import { sortSpending, spend } from "../budget/cutoff.ts"
import { pickByAge, type Age } from "./value-age.ts"

/** Bytes of a value that the reference engine keeps. */
const VALUE_BYTES = 100

/** Picks `wanted` of items that are equally frequent. */
type Choose<A> = (tied: ReadonlyArray<A>, wanted: number) => ReadonlyArray<A>

/** A cut through items, some of which are equally frequent. */
interface Cut<A> {
  readonly above: ReadonlyArray<A>
  /** `wanted` of these are kept; empty if the cut falls between different counts. */ readonly tied: ReadonlyArray<A>
  readonly wanted: number
}
/** The `most` items with the highest counts, highest first. Sorts `items`. O(n log n). */
export const cutThrough = <A>(items: A[], most: number, countOf: (item: A) => number): Cut<A> => {
  if (items.length <= most || most === 0) return { above: items.slice(0, most), tied: [], wanted: 0 }
  sortSpending(items, (a, b) => countOf(b) - countOf(a))
  const edge = countOf(items[most - 1])
  if (countOf(items[most]) !== edge) return { above: items.slice(0, most), tied: [], wanted: 0 }
  let from = most - 1,
    end = most + 1
  while (from > 0 && countOf(items[from - 1]) === edge) from--
  while (end < items.length && countOf(items[end]) === edge) end++
  return { above: items.slice(0, from), tied: items.slice(from, end), wanted: most - from }
}
/** The same; `choose` is called only if the cut falls among ties. */
export const cutByCount = <A>(items: A[], most: number, countOf: (item: A) => number, choose: Choose<A>): A[] => {
  const { above, tied, wanted } = cutThrough(items, most, countOf)
  return tied.length === 0 ? [...above] : [...above, ...choose(tied, wanted)]
}

/** Number of a value in the collection's dictionary of the field; nothing is read before the first call. */
export const numberOfValue = (reader: CollectionReader, field: string): ((text: string) => number) => {
  const dictionary = reader.dictionary(field)
  let isRead = false
  return (text) => {
    if (!isRead) for (const { segment } of reader.views) dictionary.ordinalsOf(segment)
    isRead = true
    const known = dictionary.idOf(text)
    if (known === undefined) throw new Error(`\`${text}\` is no value of \`${field}\``)
    return known
  }
}

const startOf = (bytes: Uint8Array): Uint8Array =>
  bytes.length <= VALUE_BYTES ? bytes : bytes.subarray(0, VALUE_BYTES)
/** Chooses by the hash of texts, as after counting by lists. About a microsecond per item. */
export const chooseByHash =
  <A>(textOf: (item: A) => string): Choose<A> =>
  (tied, wanted) =>
    largest(tied, wanted, (item) => BigInt.asIntN(64, wyhash(startOf(passingUtf8(textOf(item))))))

/**
 * Chooses by the reference engine's number of a value, as after counting documents; `valueOf` is the value's number in
 * the dictionary of the field.
 */
export const chooseByNumber = <A>(
  reader: CollectionReader,
  field: string,
  textOf: (item: A) => string,
  valueOf: (item: A) => number
): Choose<A> => {
  const type = (reader.schema.fields.find(({ name }) => name === field)?.type ?? "").replace("[]", "")
  return goesByAge(type) ? chooseByAge(reader, field, valueOf, "born") : chooseByBits(type, textOf)
}
/** Whether values of the type are numbered in order of arrival. */
export const goesByAge = (type: string): boolean => type === "string" || type === "int64"
export const chooseByBits =
  <A>(type: string, textOf: (item: A) => string): Choose<A> =>
  (tied, wanted) =>
    largest(tied, wanted, (item) => bitsOfValue(type, textOf(item)))

/** Chooses by the time at which the values first appeared or last changed. */
export const chooseByAge =
  <A>(reader: CollectionReader, field: string, valueOf: (item: A) => number, age: Age): Choose<A> =>
  (tied, wanted) => {
    // Uses no array of pairs and no map, because there may be as many values as documents.
    const values = new Uint32Array(tied.length)
    for (let i = 0; i < values.length; i++) values[i] = valueOf(tied[i])
    return pickByAge(reader, field, values, wanted, age).map((i) => tied[i])
  }

const largest = <A, K extends number | bigint>(items: ReadonlyArray<A>, wanted: number, keyOf: (item: A) => K): A[] =>
  sortSpending(
    items.map((item) => {
      spend(32)
      return { item, key: keyOf(item) }
    }),
    (a, b) => (a.key < b.key ? 1 : a.key > b.key ? -1 : 0)
  )
    .slice(0, wanted)
    .map(({ item }) => item)

const cell = new DataView(new ArrayBuffer(4))
/** The 32 bits of a number or a boolean as an unsigned number. */
export const bitsOfValue = (type: string, text: string): number => {
  if (type === "bool") return text === "true" ? 1 : 0
  if (type === "float") cell.setFloat32(0, Number(text))
  else cell.setInt32(0, Number(text))
  return cell.getUint32(0)
}
