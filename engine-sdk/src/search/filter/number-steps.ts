/**
 * An index of a number column for ranges. Values that split the column evenly are its bounds: for each, the documents
 * below it are stored as a set, and a finer split stores the documents between two neighbouring values as lists. A
 * range is then the difference of two sets, a few documents more at each end, and a comparison of those in the
 * outermost buckets. It is built between searches, once a column is used often enough.
 */
import { bitsOf, countBits, hasBit, orInto, setBit, type Bits } from "../../index/bits.ts"
import type { NumberColumn } from "../../index/columns.ts"
import type { Segment } from "../../index/segment.ts"
import { nextTurn } from "../../turns.ts"
import { spendInFilter } from "../../budget/cutoff.ts"
import { firstNotBefore } from "../../sorted.ts"

interface Steps {
  /** Fine bounds, ascending. The values of the documents in bucket b are at least bound b-1 and below bound b. */
  readonly bounds: Float64Array
  /** One set for every `FINER`th bound: documents with a smaller value. */ readonly below: ReadonlyArray<Bits>
  readonly has: Bits
  readonly bucketOf: Uint8Array
  /** Where the documents of each bucket begin in `members`; each document of the column occurs once. */
  readonly starts: Uint32Array
  readonly members: Uint32Array
}
/** The sets of a column take 4 bytes a document; the buckets between them take 5 bytes a document in total. */
const STEPS = 32,
  FINER = 7
const STEPS_DOCS_MIN = 4_096
const STEPS_SAMPLE = 2_048
/** Number of range filters on a column after which building an index pays off. */
const STEPS_USES_MIN = 3
/** Documents per slice of the build, which takes less than a millisecond. */
const STEPS_SLICE_DOCS = 32_768
/**
 * Number of uses after which the index is built immediately, because in a program that searches without ever yielding
 * nothing runs between searches.
 */
const STEPS_WAITED_MAX = 24
interface StepsInMaking {
  uses: number
  readonly made: Steps
  /** Documents processed so far, counted over both passes. */ next: number
  readonly filled: Uint32Array
}
/**
 * Undefined until the index is built, which happens between searches: a million documents take tens of milliseconds.
 */
export const stepsOf = (segment: Segment, field: string, column: NumberColumn): Steps | undefined => {
  if (segment.docs < STEPS_DOCS_MIN || column.starts !== undefined || column.has === undefined) return undefined
  const name = `steps:${field}`
  const known = segment.derived.get(name) as Steps | StepsInMaking | number | undefined
  if (typeof known === "object" && "bounds" in known) return known
  if (typeof known === "object") {
    if (++known.uses < STEPS_WAITED_MAX) return undefined
    while (!makeSlice(segment, name, column, known)) {
      /* Finish the build now. */
    }
    return known.made
  }
  const uses = (known ?? 0) + 1
  segment.derived.set(name, uses)
  if (uses < STEPS_USES_MIN) return undefined
  const made = stepsAround(column, column.has, segment.docs)
  const making: StepsInMaking = { uses, made, next: 0, filled: new Uint32Array(made.starts.length) }
  segment.derived.set(name, making)
  if (segment.docs <= STEPS_SLICE_DOCS) {
    while (!makeSlice(segment, name, column, making)) {
      /* Run both passes. */
    }
    return making.made
  }
  void (async () => {
    do await nextTurn()
    while (!makeSlice(segment, name, column, making))
  })()
  return undefined
}
/** Processes one slice; returns true when the index is complete. */
const makeSlice = (segment: Segment, name: string, column: NumberColumn, making: StepsInMaking): boolean => {
  const { docs } = segment,
    { made, next } = making
  if (next >= docs * 2) return true
  // The first pass finds the buckets and counts them, the second lists their documents.
  const isFirst = next < docs,
    from = isFirst ? next : next - docs,
    to = Math.min(docs, from + STEPS_SLICE_DOCS)
  if (isFirst) fillSteps(made, column, from, to)
  else fillMembers(made, making.filled, from, to)
  making.next += to - from
  if (making.next === docs) {
    for (let i = 1; i < made.below.length; i++) orInto(made.below[i], made.below[i - 1])
    for (let bucket = 1; bucket < made.starts.length; bucket++) made.starts[bucket] += made.starts[bucket - 1]
    making.filled.set(made.starts)
  }
  if (making.next < docs * 2) return false
  segment.derived.set(name, made)
  return true
}
/** Creates an index with bounds from a sample, and empty sets. */
const stepsAround = ({ values }: NumberColumn, has: Bits, docs: number): Steps => {
  const sample: number[] = []
  for (let doc = 0, step = Math.max(1, Math.floor(docs / STEPS_SAMPLE)); doc < docs; doc += step)
    if (hasBit(has, doc) && !Number.isNaN(values[doc])) sample.push(values[doc])
  sample.sort((a, b) => a - b)
  const count = Math.min(STEPS * FINER, sample.length)
  const bounds = Float64Array.from(
    new Set(Array.from({ length: count }, (_step, i) => sample[Math.floor((i * sample.length) / count)]))
  )
  return {
    bounds,
    below: Array.from({ length: Math.ceil(bounds.length / FINER) }, () => bitsOf(docs)),
    has,
    bucketOf: new Uint8Array(docs),
    starts: new Uint32Array(bounds.length + 2),
    members: new Uint32Array(countBits(has))
  }
}
/** Assigns documents to buckets and sets. Cost: log(bounds) comparisons a document. */
const fillSteps = (
  { below, bounds, bucketOf, has, starts }: Steps,
  { values }: NumberColumn,
  from: number,
  to: number
): void => {
  for (let doc = from; doc < to; doc++) {
    if (!hasBit(has, doc)) continue
    const bucket = (bucketOf[doc] = upperBound(bounds, values[doc]))
    starts[bucket + 1]++
    const at = Math.ceil(bucket / FINER)
    if (at < below.length) setBit(below[at], doc)
  }
}
const fillMembers = ({ bucketOf, has, members }: Steps, filled: Uint32Array, from: number, to: number): void => {
  for (let doc = from; doc < to; doc++) if (hasBit(has, doc)) members[filled[bucketOf[doc]]++] = doc
}
/** Adds the documents whose values lie between `min` and `max`. `minOpen` and `maxOpen` exclude the end itself. */
export const steppedRange = (
  { below, bounds, members, starts }: Steps,
  values: ArrayLike<number>,
  min: number,
  max: number,
  minOpen: boolean,
  maxOpen: boolean,
  into: Bits
): void => {
  if (!(min <= max)) return
  // The buckets that contain the two ends. All buckets between them lie inside the range, and so do the sets from the
  // first one after the lower end to the last one before the upper end.
  const first = upperBound(bounds, min),
    last = upperBound(bounds, max)
  const isInside = (value: number): boolean =>
    value >= min && value <= max && !(minOpen && value === min) && !(maxOpen && value === max)
  const add = (bucket: number): void => {
    const end = starts[bucket + 1]
    spendInFilter(end - starts[bucket])
    if (bucket === first || bucket === last) {
      for (let i = starts[bucket]; i < end; i++) if (isInside(values[members[i]])) setBit(into, members[i])
    } else
      for (let i = starts[bucket]; i < end; i++) {
        const doc = members[i]
        into[doc >>> 5] |= 1 << (doc & 31)
      }
  }
  // A set contains the documents below bound `at · FINER`, that is, the buckets up to that number.
  const from = Math.floor(first / FINER) + 1,
    to = Math.min(below.length - 1, Math.floor((last - 1) / FINER))
  if (from >= to) {
    for (let bucket = first; bucket <= last; bucket++) add(bucket)
    return
  }
  const over = below[from],
    under = below[to]
  spendInFilter(into.length)
  for (let w = 0; w < into.length; w++) into[w] |= under[w] & ~over[w]
  for (let bucket = first; bucket <= from * FINER; bucket++) add(bucket)
  for (let bucket = to * FINER + 1; bucket <= last; bucket++) add(bucket)
}
/** Index of the first bound above `value`; bounds.length if there is none. NaN is above all. */
const upperBound = (bounds: Float64Array, value: number): number =>
  firstNotBefore(0, bounds.length, (at) => !(bounds[at] > value))
