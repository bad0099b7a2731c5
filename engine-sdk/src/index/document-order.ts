/**
 * The order of documents within a large segment: those with the same values of a few facet fields (such as category and
 * brand) are stored together, because they match together. A search then reads neighbouring entries of every list and
 * column instead of the entire segment. The order only affects speed: ties are broken by insertion numbers.
 */
import type { CollectionSchema } from "../schema.ts"
import type { ValueColumn } from "./columns.ts"
import { radixOrder } from "./radix-order.ts"
import type { Segment } from "./segment.ts"
import { mergeTables, StringTable } from "./string-table.ts"

/** Smaller segments gain too little. */
export const ORDERED_DOCS_MIN = 32_768
/** A field with more values identifies single product models; a run of this many documents is long enough. */
const VALUES_MAX = 4_096,
  RUN_DOCS = 256
/** Numbers of fields considered, fields used, and documents sampled to choose them. */
const FIELDS_LOOKED = 12,
  FIELDS_TAKEN = 3,
  SAMPLE_DOCS = 4_096
/** Minimum gain of a further field, in bits per document over all fields. */
const GAIN_MIN = 0.1
const STEP_MASK = 16_383
const GONE = 0xffffffff
const NO_TABLE = new StringTable(new Uint8Array(0), new Uint32Array(1))

/** A field's values as numbers over all sources; 0 = none. */
interface Values {
  readonly size: number
  readonly columns: ReadonlyArray<ValueColumn | undefined>
  readonly numbers: ReadonlyArray<Uint32Array>
  readonly sample: Uint32Array
}
const valueAt = ({ columns, numbers }: Values, s: number, doc: number): number => {
  const ordinal = columns[s]?.single?.[doc] ?? 0
  return ordinal === 0 ? 0 : numbers[s][ordinal - 1] + 1
}

/**
 * Indexes of the documents in their new order; undefined if the order may stay. `placed` gives each document's index in
 * the order of the sources (`GONE`: none). Cost: O(documents) per field used, plus a sample of a few thousand
 * documents.
 */
export function* documentOrder(
  schema: CollectionSchema,
  sources: ReadonlyArray<Segment>,
  placed: ReadonlyArray<Uint32Array>,
  docs: number
): Generator<void, Uint32Array | undefined> {
  if (docs < ORDERED_DOCS_MIN) return undefined
  const fields = yield* valuesOf(schema, sources, docs)
  const taken = yield* choose(fields, docs)
  if (taken.length === 0) return undefined
  const keys = new Uint32Array(docs)
  for (const field of taken)
    for (let s = 0; s < sources.length; s++) {
      const places = placed[s]
      for (let doc = 0; doc < places.length; doc++) {
        const place = places[doc]
        if (place !== GONE) keys[place] = keys[place] * (field.size + 1) + valueAt(field, s, doc)
        if ((doc & STEP_MASK) === STEP_MASK) yield
      }
    }
  return yield* radixOrder(keys)
}

function* valuesOf(schema: CollectionSchema, sources: ReadonlyArray<Segment>, docs: number): Generator<void, Values[]> {
  const fields: Values[] = []
  const stride = Math.max(1, Math.floor(docs / SAMPLE_DOCS))
  for (const { facet, name } of schema.fields) {
    if (!facet || fields.length === FIELDS_LOOKED) continue
    const columns = sources.map((segment) => segment.values(name))
    if (
      columns.some((column) => column !== undefined && (column.single === undefined || column.table.size > VALUES_MAX))
    )
      continue
    const { moved, offsets } = yield* mergeTables(
      columns.map((column) => column?.table ?? NO_TABLE),
      columns.map(() => undefined)
    )
    const size = offsets.length - 1
    if (size < 2 || size > VALUES_MAX) continue
    const field: Values = { size, columns, numbers: moved, sample: new Uint32Array(0) }
    const sample: number[] = []
    for (let s = 0; s < sources.length; s++)
      for (let doc = 0; doc < sources[s].docs; doc += stride) sample.push(valueAt(field, s, doc))
    fields.push({ ...field, sample: Uint32Array.from(sample) })
    yield
  }
  return fields
}
/** Repeatedly chooses the field that, together with those chosen before, gives most information about all fields. */
function* choose(fields: ReadonlyArray<Values>, docs: number): Generator<void, Values[]> {
  const taken: Values[] = []
  let joint: Numbered = { of: new Uint32Array(fields[0]?.sample.length ?? 0), size: 1 },
    information = 0,
    keys = 1
  while (taken.length < FIELDS_TAKEN) {
    let best: Values | undefined,
      bestJoint = joint,
      bestInformation = information + GAIN_MIN
    for (const field of fields) {
      if (taken.includes(field) || keys * (field.size + 1) > GONE) continue
      const together = numbered(joint.of, field.sample)
      yield
      if (together.size * RUN_DOCS > docs) continue
      let sum = 0
      for (const other of fields) {
        sum += shared(together, other.sample)
        yield
      }
      if (sum > bestInformation) {
        best = field
        bestJoint = together
        bestInformation = sum
      }
    }
    if (best === undefined) break
    taken.push(best)
    joint = bestJoint
    information = bestInformation
    keys *= best.size + 1
  }
  return taken
}

interface Numbered {
  readonly of: Uint32Array
  readonly size: number
}
/** Assigns a number to each pair that occurs. */
const numbered = (a: Uint32Array, b: Uint32Array): Numbered => {
  const known = new Map<number, number>(),
    of = new Uint32Array(a.length)
  for (let i = 0; i < a.length; i++) {
    const pair = a[i] * (VALUES_MAX + 1) + b[i]
    let number = known.get(pair)
    if (number === undefined) known.set(pair, (number = known.size))
    of[i] = number
  }
  return { of, size: known.size }
}
/**
 * Bits that `a` gives about `b`. Rare pairs appear to give more than they do; this is subtracted (Miller and Madow).
 */
const shared = (a: Numbered, b: Uint32Array): number => {
  const own = numbered(b, new Uint32Array(b.length)),
    both = numbered(a.of, b)
  return Math.max(
    0,
    entropy(a) +
      entropy(own) -
      entropy(both) -
      (both.size - a.size - own.size + 1) / (2 * Math.LN2 * Math.max(1, b.length))
  )
}
const entropy = ({ of, size }: Numbered): number => {
  const counts = new Uint32Array(size)
  for (let i = 0; i < of.length; i++) counts[of[i]]++
  let bits = 0
  for (const count of counts) bits -= (count / of.length) * Math.log2(count / of.length)
  return bits
}
