/**
 * Filters as bit sets, one per segment (engine-contract 7). Leaves are computed from columns and remembered per
 * segment, since segments never change; negation complements within the segment, so documents without the field are
 * included.
 */
import { analyzerOf } from "../../analysis/analyzer.ts"
import type { Filter, NumberFilter, StringFilter } from "../../plan.ts"
import type { CollectionSchema } from "../../schema.ts"
import {
  andInto,
  andNotInto,
  bitsOf,
  clearBit,
  countBits,
  eachBit,
  fillBits,
  hasBit,
  notInto,
  orInto,
  setBit,
  type Bits,
  type ReadonlyBits
} from "../../index/bits.ts"
import { compareBytes, encodeUtf8 } from "../../index/bytes.ts"
import type { NumberColumn, TextColumn } from "../../index/columns.ts"
import { expandTerm } from "../../index/expand.ts"
import type { CollectionReader, SegmentView } from "../../index/reader.ts"
import { BoundedMap } from "../../bounded-map.ts"
import type { Segment } from "../../index/segment.ts"
import { nextTurn } from "../../turns.ts"
import { spendInFilter, unlessGivenUp } from "../../budget/cutoff.ts"
import type { SearchScope } from "../scope.ts"
import { distance_m, SphericalPolygon } from "./geo.ts"
import { joinBits } from "./joins.ts"
import { hasPlace, intersectTerms, isPhraseAt } from "../../index/places.ts"
import { WALKED, walkOrder } from "../../compat/walk-order.ts"

/** Sets of a segment: some hundred and sixty of them, and their texts. */
const SETS_bytes_A_DOCUMENT = 20,
  SETS_bytes_MIN = 200_000
/** Steps of what costs more than a comparison: an angle, looking an id up, and a character of a text that is parsed. */
const ANGLE_STEPS = 8,
  ID_STEPS = 16,
  CHARACTERS_PER_STEP = 4
/** Documents of a column that are compared between two accounts of it. */
const BLOCK_DOCS = 8_192
/** Values of one comparison whose set may be remembered. */
const KEPT_VALUES_MAX = 64
/** Keys of sets that were asked for once, and how long one may be; in practice a tenth of the bound. */
const ASKED_bytes_MAX = 500_000,
  ASKED_LENGTH_MAX = 1_024

/**
 * Live documents of each view that pass, to be read only; undefined = every live document and nothing is deleted. None
 * of a view for which the time was too short.
 */
export const allowedBits = (
  scope: SearchScope,
  reader: CollectionReader,
  filter: Filter | undefined
): Array<ReadonlyBits | undefined> => {
  const evaluation = new FilterEvaluation(scope, reader)
  const passing = (view: SegmentView): ReadonlyBits | undefined => {
    if (filter === undefined && view.deleted === undefined) return undefined
    if (view.deleted === undefined) return evaluation.shared(filter!, view)
    return andNotInto(
      filter === undefined ? fillBits(bitsOf(view.segment.docs), view.segment.docs) : evaluation.bits(filter, view),
      view.deleted
    )
  }
  return reader.views.map(
    (view) =>
      unlessGivenUp(() => passing(view), undefined) ??
      (filter === undefined && view.deleted === undefined ? undefined : bitsOf(view.segment.docs))
  )
}

export class FilterEvaluation {
  private readonly scope: SearchScope
  private readonly reader: CollectionReader
  /** Completions of a prefix value are chosen over all segments, once. */
  private readonly completions = new Map<string, ReadonlyArray<Uint8Array>>()
  /** Values of the other collection that a join lets through: the same for every segment of this one. */
  private readonly joined = new Map<Filter, ReadonlySet<string>>()
  constructor(scope: SearchScope, reader: CollectionReader) {
    this.scope = scope
    this.reader = reader
  }
  /** The bits of a filter; none where the time was too short for it. */
  complete(filter: Filter, view: SegmentView): Bits {
    return unlessGivenUp(() => this.bits(filter, view), undefined) ?? bitsOf(view.segment.docs)
  }

  /** A set that may be remembered and is only to be read. Deleted documents may be in it. */
  shared(filter: Filter, view: SegmentView): ReadonlyBits {
    const { segment } = view
    switch (filter.kind) {
      case "string":
        return filter.values.some((value) => value.prefix)
          ? this.stringBits(filter, segment)
          : cachedLeaf(segment, filter, () => this.stringBits(filter, segment))
      case "number": {
        const compute = (): Bits => numberBits(filter, segment)
        // A key says of an end only that it is infinite.
        return filter.ranges.some(({ max, min }) => min === Infinity || max === -Infinity)
          ? compute()
          : cachedLeaf(segment, filter, compute)
      }
      case "bool":
        return cachedLeaf(segment, filter, () => boolBits(filter.field, filter.values, segment))
      case "geo":
        return cachedLeaf(segment, filter, () => geoBits(filter, segment))
      default:
        return this.bits(filter, view)
    }
  }
  /** A fresh set the caller may change. Deleted documents may be in it. */
  bits(filter: Filter, view: SegmentView): Bits {
    const { segment } = view
    spendInFilter(segment.docs >>> 5)
    switch (filter.kind) {
      case "and":
        return andInto(this.bits(filter.left, view), this.shared(filter.right, view))
      case "or":
        return orInto(this.bits(filter.left, view), this.shared(filter.right, view))
      case "not":
        return notInto(this.bits(filter.filter, view), segment.docs)
      case "all":
        return fillBits(bitsOf(segment.docs), segment.docs)
      case "none":
        return bitsOf(segment.docs)
      case "ids": {
        const bits = bitsOf(segment.docs)
        for (const id of filter.ids) {
          spendInFilter(ID_STEPS)
          for (const doc of segment.docsOfId(id)) setBit(bits, doc)
        }
        return bits
      }
      case "string":
      case "number":
      case "bool":
      case "geo":
        return this.shared(filter, view).slice()
      case "geo_contains": {
        const bits = bitsOf(segment.docs),
          column = segment.geo(filter.field)
        if (column === undefined) return bits
        for (let doc = 0; doc < segment.docs; doc++) {
          spendInFilter(ANGLE_STEPS + (column.starts[doc + 1] - column.starts[doc]) * ANGLE_STEPS)
          const points: Array<[number, number]> = []
          for (let p = column.starts[doc]; p < column.starts[doc + 1]; p++)
            points.push([column.coordinates[p * 2], column.coordinates[p * 2 + 1]])
          if (points.length > 2 && new SphericalPolygon(points).contains(filter.lat, filter.lng)) setBit(bits, doc)
        }
        return bits
      }
      case "element":
        return this.elementBits(filter.path, filter.filter, view)
      case "join":
        return joinBits(this.scope, this.reader, filter, view, this.joined)
    }
  }

  private stringBits(filter: StringFilter, segment: Segment): Bits {
    const bits = bitsOf(segment.docs)
    const column = segment.text(filter.field)
    if (column === undefined) return bits
    for (const value of filter.values) {
      spendInFilter(ID_STEPS + value.tokens.length)
      if (value.tokens.length === 0) continue
      const tokens = value.tokens.map(encodeUtf8)
      if (!value.prefix) {
        matchTokens(column, tokens, value.match, bits)
        continue
      }
      const last = tokens[tokens.length - 1]
      for (const word of this.completionsOf(
        filter.field,
        value.tokens[tokens.length - 1],
        last,
        filter.prefixCandidates
      )) {
        matchTokens(column, [...tokens.slice(0, -1), word], value.match === "equals" ? "starts" : value.match, bits)
      }
    }
    return bits
  }

  private completionsOf(field: string, text: string, token: Uint8Array, most: number): ReadonlyArray<Uint8Array> {
    const key = `${field}\n${text}`
    const known = this.completions.get(key)
    if (known !== undefined) return known
    const words = new Map<string, number>()
    for (const { segment } of this.reader.views) {
      const column = segment.text(field)
      if (column !== undefined)
        expandTerm(column, token, 0, true, (term) => {
          spendInFilter(ID_STEPS)
          const word = column.terms.text(term)
          words.set(word, (words.get(word) ?? 0) + column.frequency(term))
        })
    }
    const ordered = [...words]
      .map(([word, worth]) => ({ bytes: encodeUtf8(word), worth }))
      .sort((a, b) => compareBytes(a.bytes, 0, a.bytes.length, b.bytes, 0, b.bytes.length))
    // Of equals those that the reference meets first, where it meets them all; else those first in the alphabet.
    const order =
      ordered.length > most && ordered.length <= most * WALKED
        ? walkOrder(
            ordered.map(({ bytes }) => bytes),
            ordered.map(({ worth }) => worth),
            "best",
            () => true
          ).map((i) => ordered[i])
        : ordered.sort((a, b) => b.worth - a.worth)
    const best = order.slice(0, most).map(({ bytes }) => bytes)
    this.completions.set(key, best)
    return best
  }

  /**
   * Columns narrow the documents down; the stored document decides, because only it knows which values share an
   * element.
   */
  private elementBits(path: string, inner: Filter, view: SegmentView): Bits {
    const possible = this.bits(withoutNegations(inner), view)
    if (view.deleted !== undefined) andNotInto(possible, view.deleted)
    const { segment } = view
    const checks = checksOf(inner)
    eachBit(possible.slice(), (doc) => {
      const text = this.reader.documents.text(segment.seqs[doc])
      spendInFilter(ID_STEPS + (((text?.length ?? 0) / CHARACTERS_PER_STEP) | 0) * checks)
      const isMatch =
        text !== undefined &&
        elementsAt(JSON.parse(text), path.split(".")).some((element) =>
          matchesElement(this.reader.schema, inner, element, path)
        )
      if (!isMatch) clearBit(possible, doc)
    })
    return possible
  }
}

/**
 * Sets of a segment, least recently used first, and what was asked once: a range that never comes again must not push
 * out a category.
 */
interface LeafCache {
  readonly sets: BoundedMap<string, Bits>
  readonly asked: BoundedMap<string, true>
}
const cachedLeaf = (segment: Segment, filter: Filter, compute: () => Bits): ReadonlyBits => {
  if (segment.docs < 256 || isLong(filter)) return compute()
  let cache = segment.derived.get("filters") as LeafCache | undefined
  if (cache === undefined)
    segment.derived.set(
      "filters",
      (cache = {
        sets: new BoundedMap({
          bytes_max: Math.max(SETS_bytes_MIN, segment.docs * SETS_bytes_A_DOCUMENT),
          bytesOf: (key, bits) => key.length * 2 + bits.byteLength
        }),
        asked: new BoundedMap({ bytes_max: ASKED_bytes_MAX, bytesOf: (key) => key.length * 2 })
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

const matchTokens = (
  column: TextColumn,
  tokens: ReadonlyArray<Uint8Array>,
  match: "contains" | "equals" | "phrase" | "starts",
  into: Bits
): void => {
  const terms = tokens.map((token) => column.terms.find(token))
  if (terms.includes(-1)) return
  const all = (test: Parameters<typeof intersectTerms>[2]): void => {
    intersectTerms(column, terms, test, into)
    spendInFilter(0)
  }
  if (match === "contains") return all(undefined)
  if (match === "phrase") return all((_doc, postings) => isPhraseAt(column, postings))
  const isStart = match === "starts"
  all((doc, postings) => {
    const elements = column.elementStarts === undefined ? 1 : column.elementStarts[doc + 1] - column.elementStarts[doc]
    for (let element = 0; element < elements; element++) {
      if (!isStart && column.lengthOf(doc, element) !== terms.length) continue
      let all = true
      for (let i = 0; i < terms.length && all; i++) all = hasPlace(column, postings[i], element * 0x10000 + i)
      if (all) return true
    }
    return false
  })
}

const numberBits = (filter: NumberFilter, segment: Segment): Bits => {
  const bits = bitsOf(segment.docs)
  const column = segment.numbers(filter.field)
  if (column === undefined) return bits
  for (const range of filter.ranges) {
    spendInFilter(ID_STEPS)
    if (column.big !== undefined || typeof range.min === "bigint" || typeof range.max === "bigint")
      bigRange(column, range, segment.docs, bits)
    else {
      const isFloat = filter.type === "float"
      const min = isFloat ? Math.fround(range.min) : range.min,
        max = isFloat ? Math.fround(range.max) : range.max
      const steps = stepsOf(segment, filter.field, column)
      if (steps === undefined)
        plainRange(column, min, max, range.minOpen === true, range.maxOpen === true, segment.docs, bits)
      else steppedRange(steps, column.values, min, max, range.minOpen === true, range.maxOpen === true, bits)
    }
  }
  return bits
}
const plainRange = (
  column: NumberColumn,
  min: number,
  max: number,
  minOpen: boolean,
  maxOpen: boolean,
  docs: number,
  into: Bits
): void => {
  const { values, has, starts } = column
  if (starts === undefined) {
    // A word of 32 documents at a time; what has no value is masked afterwards.
    for (let w = 0, doc = 0; w < into.length; w++) {
      if ((doc & (BLOCK_DOCS - 1)) === 0) spendInFilter(BLOCK_DOCS)
      let word = 0
      for (let bit = 0, end = Math.min(32, docs - (w << 5)); bit < end; bit++, doc++) {
        const v = values[doc]
        if (v >= min && v <= max) word |= 1 << bit
      }
      if (word === 0) continue
      word &= has![w]
      if (minOpen || maxOpen)
        for (let bit = 0; bit < 32; bit++) {
          const v = values[(w << 5) + bit]
          if ((minOpen && v === min) || (maxOpen && v === max)) word &= ~(1 << bit)
        }
      into[w] |= word
    }
    return
  }
  for (let doc = 0; doc < docs; doc++)
    for (let i = starts[doc]; i < starts[doc + 1]; i++) {
      spendInFilter(1)
      const v = values[i]
      if (v >= min && v <= max && !(minOpen && v === min) && !(maxOpen && v === max)) {
        setBit(into, doc)
        break
      }
    }
}
/**
 * Documents below each of some values that split the column evenly, and the documents between any two values of a finer
 * split. A range is then the difference of two sets, a few documents more at each end, and a look at those next to the
 * ends.
 */
interface Steps {
  /** Fine bounds, ascending; the documents of bucket b have values from bound b-1 up to below bound b. */
  readonly bounds: Float64Array
  /** One set for every `FINER`th bound: documents with a smaller value. */ readonly below: ReadonlyArray<Bits>
  readonly has: Bits
  readonly bucketOf: Uint8Array
  /** Where the documents of each bucket begin in `members`; a column's documents are there once. */
  readonly starts: Uint32Array
  readonly members: Uint32Array
}
/** Sets of a column, 4 bytes a document; and buckets between two of them, 5 bytes a document together. */
const STEPS = 32,
  FINER = 7
const STEPS_DOCS_MIN = 4_096
const STEPS_SAMPLE = 2_048
/** Ranges over one column before it is worth the pass over it. */
const STEPS_USES_MIN = 3
/** Documents of one slice of making them: under a millisecond. */
const STEPS_SLICE_DOCS = 32_768
/** Uses after which they are made at once: a program that searches without ever giving way lets nothing run between. */
const STEPS_WAITED_MAX = 24
interface StepsInMaking {
  uses: number
  readonly made: Steps
  /** Documents up to here are in: of both passes. */ next: number
  readonly filled: Uint32Array
}
/** Undefined until they are made, which happens between searches: a million documents take tens of milliseconds. */
const stepsOf = (segment: Segment, field: string, column: NumberColumn): Steps | undefined => {
  if (segment.docs < STEPS_DOCS_MIN || column.starts !== undefined || column.has === undefined) return undefined
  const name = `steps:${field}`
  const known = segment.derived.get(name) as Steps | StepsInMaking | number | undefined
  if (typeof known === "object" && "bounds" in known) return known
  if (typeof known === "object") {
    if (++known.uses < STEPS_WAITED_MAX) return undefined
    while (!makeSlice(segment, name, column, known)) {
      /* All of it. */
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
      /* Both passes. */
    }
    return making.made
  }
  void (async () => {
    do await nextTurn()
    while (!makeSlice(segment, name, column, making))
  })()
  return undefined
}
/** True when they are made. */
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
/** Bounds from a sample, and empty sets. */
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
/** Cost: log(bounds) comparisons a document. */
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
/** First bound above `value`; bounds.length when there is none. NaN is above all. */
const upperBound = (bounds: Float64Array, value: number): number => {
  let low = 0,
    high = bounds.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (bounds[middle] > value) high = middle
    else low = middle + 1
  }
  return low
}
const steppedRange = (
  { below, bounds, members, starts }: Steps,
  values: ArrayLike<number>,
  min: number,
  max: number,
  minOpen: boolean,
  maxOpen: boolean,
  into: Bits
): void => {
  if (!(min <= max)) return
  // Buckets of the two ends; all between them are inside, and so are the ones from the first set behind the lower end
  // to the last set before the upper.
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
  // A set is below bound `at · FINER`: buckets up to that number.
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
const bigRange = (column: NumberColumn, range: NumberFilter["ranges"][number], docs: number, into: Bits): void => {
  // bigint and number compare exactly with each other, and infinities stay infinite.
  const inside = (v: bigint | number): boolean =>
    (range.minOpen === true ? v > range.min : v >= range.min) &&
    (range.maxOpen === true ? v < range.max : v <= range.max)
  const valueAt = (i: number): bigint | number => (column.big === undefined ? column.values[i] : column.big[i])
  for (let doc = 0; doc < docs; doc++) {
    spendInFilter(column.starts === undefined ? 4 : 4 + (column.starts[doc + 1] - column.starts[doc]) * 4)
    if (column.starts === undefined) {
      if (hasBit(column.has!, doc) && inside(valueAt(doc))) setBit(into, doc)
    } else
      for (let i = column.starts[doc]; i < column.starts[doc + 1]; i++)
        if (inside(valueAt(i))) {
          setBit(into, doc)
          break
        }
  }
}
const boolBits = (field: string, wanted: ReadonlyArray<boolean>, segment: Segment): Bits => {
  const bits = bitsOf(segment.docs),
    column = segment.numbers(field)
  if (column !== undefined)
    for (const value of wanted) plainRange(column, Number(value), Number(value), false, false, segment.docs, bits)
  return bits
}
const geoBits = (filter: Extract<Filter, { kind: "geo" }>, segment: Segment): Bits => {
  const bits = bitsOf(segment.docs),
    column = segment.geo(filter.field)
  if (column === undefined) return bits
  const tests = filter.areas.map((area) => {
    if (area.kind === "radius")
      return (lat: number, lng: number): boolean => distance_m(area.lat, area.lng, lat, lng) <= area.radius_m
    const polygon = new SphericalPolygon(area.points)
    return (lat: number, lng: number): boolean => polygon.contains(lat, lng)
  })
  // A polygon costs an angle for each of its corners.
  const corners = filter.areas.reduce((sum, area) => sum + (area.kind === "radius" ? 1 : area.points.length), 0)
  for (let doc = 0; doc < segment.docs; doc++) {
    spendInFilter(1 + (column.starts[doc + 1] - column.starts[doc]) * corners * ANGLE_STEPS)
    for (let p = column.starts[doc]; p < column.starts[doc + 1]; p++) {
      const lat = column.coordinates[p * 2],
        lng = column.coordinates[p * 2 + 1]
      if (tests.some((test) => test(lat, lng))) {
        setBit(bits, doc)
        break
      }
    }
  }
  return bits
}

// ---- conditions on one element -------------------------------------------------------------------------------------

/** Comparisons of one element. */
const checksOf = (filter: Filter): number => {
  switch (filter.kind) {
    case "and":
    case "or":
      return checksOf(filter.left) + checksOf(filter.right)
    case "not":
      return checksOf(filter.filter)
    case "string":
      return filter.values.length
    case "number":
      return filter.ranges.length
    default:
      return 1
  }
}
/** A necessary condition that columns can answer: negated parts say nothing about other elements. */
const withoutNegations = (filter: Filter): Filter => {
  switch (filter.kind) {
    case "and":
    case "or":
      return { kind: filter.kind, left: withoutNegations(filter.left), right: withoutNegations(filter.right) }
    case "not":
      return { kind: "all" }
    default:
      return filter
  }
}
const elementsAt = (value: unknown, path: ReadonlyArray<string>): unknown[] => {
  if (Array.isArray(value)) return value.flatMap((element) => elementsAt(element, path))
  if (path.length === 0) return [value]
  if (typeof value !== "object" || value === null) return []
  const record = value as Record<string, unknown>
  const joined = path.join(".")
  if (path.length > 1 && Object.hasOwn(record, joined)) return elementsAt(record[joined], [])
  return Object.hasOwn(record, path[0]) ? elementsAt(record[path[0]], path.slice(1)) : []
}
const matchesElement = (schema: CollectionSchema, filter: Filter, element: unknown, path: string): boolean => {
  switch (filter.kind) {
    case "and":
      return matchesElement(schema, filter.left, element, path) && matchesElement(schema, filter.right, element, path)
    case "or":
      return matchesElement(schema, filter.left, element, path) || matchesElement(schema, filter.right, element, path)
    case "not":
      return !matchesElement(schema, filter.filter, element, path)
    case "all":
      return true
    case "string":
    case "number":
    case "bool": {
      const values = elementsAt(element, filter.field.slice(path.length + 1).split("."))
      if (filter.kind === "bool")
        return values.some((value) => typeof value === "boolean" && filter.values.includes(value))
      if (filter.kind === "number")
        return values.some(
          (value) =>
            typeof value === "number" &&
            filter.ranges.some((range) => {
              const v = filter.type === "float" ? Math.fround(value) : value
              const min = filter.type === "float" ? Math.fround(Number(range.min)) : range.min,
                max = filter.type === "float" ? Math.fround(Number(range.max)) : range.max
              return (range.minOpen === true ? v > min : v >= min) && (range.maxOpen === true ? v < max : v <= max)
            })
        )
      const field = schema.fields.find((candidate) => candidate.name === filter.field)
      if (field === undefined) return false
      const analyzer = analyzerOf(schema, field)
      return values.some(
        (value) =>
          typeof value === "string" && filter.values.some((wanted) => matchesText(analyzer.tokenize(value), wanted))
      )
    }
    // The compiler lets no other kind into braces.
    default:
      return false
  }
}
const matchesText = (tokens: ReadonlyArray<string>, wanted: StringFilter["values"][number]): boolean => {
  const n = wanted.tokens.length
  if (n === 0) return false
  const fits = (token: string, i: number): boolean =>
    wanted.prefix && i === n - 1 ? token.startsWith(wanted.tokens[i]) : token === wanted.tokens[i]
  const runAt = (from: number): boolean =>
    wanted.tokens.every((_token, i) => from + i < tokens.length && fits(tokens[from + i], i))
  if (wanted.match === "equals") return runAt(0) && (wanted.prefix || tokens.length === n)
  if (wanted.match === "phrase") return tokens.some((_token, from) => runAt(from))
  return wanted.tokens.every((_token, i) => tokens.some((token) => fits(token, i)))
}
