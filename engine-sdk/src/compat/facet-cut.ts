/**
 * Which values `max_facet_values` leaves, where the cut goes through equally frequent ones. The reference engine counts
 * in two ways, and each breaks ties by what it has at hand:
 *
 * - Counting documents (`exhaustive`, groups, small results): every value has a number and the larger number stays.
 *   Texts and int64 are numbered as they come, so the value born last stays. Of int32, float and bool the bits of the
 *   value are the number, read without sign: the larger stays, and negative ones before positive ones.
 * - Counting by lists (`top_values`, match-all, `_alpha`, large results): the values are walked by their counts in the
 * whole collection, equals in the order in which their counts last changed, until the wanted number is found (twice
 *   that unless everything matches). What is more than wanted goes by the hash of the text, the larger (with sign)
 *   stays.
 *
 * The order in which values are then shown is another one (`compareCounts`).
 */
import { encodeUtf8 } from "../index/bytes.ts"
import type { CollectionReader } from "../index/reader.ts"
import { wyhash } from "./wyhash.ts"
import { sortSpending, spend } from "../budget/cutoff.ts"
import { pickByAge, type Age } from "./value-age.ts"

/** Bytes of a value that the reference keeps. */
const VALUE_BYTES = 100

/** `wanted` of items that are equally frequent. */
type Choose<A> = (tied: ReadonlyArray<A>, wanted: number) => ReadonlyArray<A>

/** A cut through items of which some are equally frequent. */
interface Cut<A> {
  readonly above: ReadonlyArray<A>
  /** `wanted` of these stay; empty where the cut falls between different counts. */ readonly tied: ReadonlyArray<A>
  readonly wanted: number
}
/** The `most` items with the highest counts, those with the higher ones first. Sorts `items`. O(n log n). */
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
/** The same; `choose` is asked only where the cut goes through equals. */
export const cutByCount = <A>(items: A[], most: number, countOf: (item: A) => number, choose: Choose<A>): A[] => {
  const { above, tied, wanted } = cutThrough(items, most, countOf)
  return tied.length === 0 ? [...above] : [...above, ...choose(tied, wanted)]
}

/** Number of a value of the collection in the field's dictionary; nothing is read before it is first asked. */
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

/** By the hash of their texts, as after counting by lists. About a microsecond an item. */
export const chooseByHash =
  <A>(textOf: (item: A) => string): Choose<A> =>
  (tied, wanted) =>
    largest(tied, wanted, (item) => BigInt.asIntN(64, wyhash(encodeUtf8(textOf(item)).subarray(0, VALUE_BYTES))))

/**
 * By the reference's number of a value, as after counting documents; `valueOf` is the value's number in the dictionary
 * of the field.
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
/** Whether values of the type are numbered as they come. */
export const goesByAge = (type: string): boolean => type === "string" || type === "int64"
export const chooseByBits =
  <A>(type: string, textOf: (item: A) => string): Choose<A> =>
  (tied, wanted) =>
    largest(tied, wanted, (item) => bitsOfValue(type, textOf(item)))

/** By the time at which the values came or last changed. */
export const chooseByAge =
  <A>(reader: CollectionReader, field: string, valueOf: (item: A) => number, age: Age): Choose<A> =>
  (tied, wanted) => {
    // No array of pairs, no map: there may be as many as documents.
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
/** The 32 bits of a number or a boolean, as a number without sign. */
export const bitsOfValue = (type: string, text: string): number => {
  if (type === "bool") return text === "true" ? 1 : 0
  if (type === "float") cell.setFloat32(0, Number(text))
  else cell.setInt32(0, Number(text))
  return cell.getUint32(0)
}
