/**
 * Facet counts over everything that matched (engine-contract 9): ordinals are counted in bulk per segment and merged by
 * value. The order in which values are shown lives here; which of them are shown is decided in `facet-cut.ts`.
 */
import { analyzerOf, type TokenSpan } from "../../analysis/analyzer.ts"
import { ownValue } from "../../documents/own-value.ts"
import { andNotInto, bitsOf, countBits, fillBits, hasBit, type Bits } from "../../index/bits.ts"
import { compareUtf8, encodeUtf8 } from "../../index/bytes.ts"
import { floatText } from "../../index/builders.ts"
import type { ValueColumn } from "../../index/columns.ts"
import { ORDERED_DOCS_MIN } from "../../index/document-order.ts"
import type { Ordinals } from "../../index/sections.ts"
import { isOver, sortSpending, spend } from "../../budget/cutoff.ts"
import { listOf } from "../text/candidates.ts"
import type { FieldDictionary } from "../../index/field-dictionary.ts"
import type { CollectionReader, SegmentView } from "../../index/reader.ts"
import type { FacetCount, FacetQuery, FacetRequest, SearchPlan } from "../../plan.ts"
import type { CollectionSchema } from "../../schema.ts"
import { chooseByAge, chooseByHash, chooseByNumber, cutByCount, numberOfValue } from "../../compat/facet-cut.ts"
import { highlightTokens, type TokenMatcher } from "../highlight/highlight-text.ts"
import { damerauWithin } from "../../analysis/edit-distance.ts"
import { SpareNumbers } from "../../spare.ts"

/** What is counted: documents of one segment, or with groups the group number of each document. */
export interface FacetedSet {
  readonly view: SegmentView
  readonly bits: Bits
  readonly groupOf?: (doc: number) => number
  /** Every live document: counts of the whole segment are kept with it. */ readonly isAll?: boolean
  /** Bits that are set, where that is known. */ readonly count?: number
  /** The same documents as numbers, each once, where they are at hand. */ docs?: ReadonlyArray<Uint32Array>
}

interface Counted {
  count: number
  /** The value's number in the dictionary of the field, where it was counted by that. */ readonly value?: number
  /** One document that has it: where a parent object is read from. */ view: SegmentView
  doc: number
  /** Best sibling value, for `sort_by: field`. */ sibling?: number
}

/** One entry per request, in order; fields that the time was too short for have no values. */
export const countFacets = (
  reader: CollectionReader,
  plan: SearchPlan,
  sets: ReadonlyArray<FacetedSet>
): FacetCount[] => {
  listRoom = undefined
  return plan.facets
    .filter((request) => request.collection === undefined)
    .map((request) =>
      spend(FACET_STEPS)
        ? { field_name: request.field, sampled: false, counts: [], stats: { total_values: 0 } }
        : facetOf(reader, request, plan, sets)
    )
}

const LARGE_RESULT = 1_000
/** What a facet costs before anything is counted. */
const FACET_STEPS = 256
/** Shown values up to which the best are kept in order while all are looked at; more are sorted. */
const KEPT_IN_ORDER_MAX = 256
/** Values of a document up to which a repeated one is looked for among those before it. */
const REPEATS_LOOKED_FOR_MAX = 64
const FEW_VALUES = 250
/** `found`: what a facet query found in the value; marked only where it is shown. */
interface Row {
  readonly value: string
  readonly counted: Counted
  readonly found?: { readonly spans: ReadonlyArray<TokenSpan>; readonly matcher: TokenMatcher }
}
const countOfRow = (row: Row): number => row.counted.count
const textOfRow = (row: Row): string => row.value
const valueOfRow = (reader: CollectionReader, field: string): ((row: Row) => number) => {
  const numberOf = numberOfValue(reader, field)
  return (row) => row.counted.value ?? numberOf(row.value)
}

const facetOf = (
  reader: CollectionReader,
  request: FacetRequest,
  plan: SearchPlan,
  sets: ReadonlyArray<FacetedSet>
): FacetCount => {
  const field = reader.schema.fields.find(({ name }) => name === request.field)
  const isNumeric = field !== undefined && /^(int|float)/.test(field.type)
  const isMatchAll = plan.text === undefined && plan.vector === undefined && plan.filter === undefined
  const byTopValues = usesTopValues(reader, request, plan, sets, isMatchAll)
  if (isPlain(request, plan, sets, field?.type ?? ""))
    return byTopValues && !isMatchAll
      ? topFacet(reader, request, plan, sets)
      : plainFacet(reader, request, plan, sets, byTopValues)
  let rows =
    request.ranges.length > 0 && !byTopValues
      ? rowsOf(countRanges(request, sets))
      : rowsOf(countValues(reader, request, sets, request.order.kind === "field" ? request.order.field : undefined))
  const { facetQuery } = plan
  if (facetQuery?.field === request.field && facetQuery.tokens.length > 0)
    rows = matchingRows(reader.schema, request.field, rows, facetQuery)
  let stats = isNumeric ? numericStats(request.field, sets) : undefined
  if (byTopValues) {
    rows = topValues(reader, request, rows, isMatchAll ? plan.facetValuesMax : plan.facetValuesMax * 2, isMatchAll)
    if (stats !== undefined) stats = { ...stats, ...sumOf(rows) }
    if (request.ranges.length > 0) rows = inRanges(request, rows)
  }
  const total_values = rows.length
  const picked =
    request.ranges.length > 0
      ? rows
      : cutByCount(
          rows,
          plan.facetValuesMax,
          countOfRow,
          byTopValues
            ? chooseByHash(textOfRow)
            : chooseByNumber(reader, request.field, textOfRow, valueOfRow(reader, request.field))
        )
  sortSpending(picked, (a, b) => compareCounts(a.value, a.counted.count, b.value, b.counted.count))
  picked.splice(plan.facetValuesMax)
  const { order } = request
  if (order.kind === "alpha")
    sortSpending(picked, (a, b) =>
      order.order === "asc" ? compareUtf8(a.value, b.value) : compareUtf8(b.value, a.value)
    )
  else if (order.kind === "field") {
    const sign = order.order === "asc" ? 1 : -1
    sortSpending(picked, (a, b) => sign * ((a.counted.sibling ?? 0) - (b.counted.sibling ?? 0)))
  }
  return {
    field_name: request.field,
    sampled: false,
    counts: picked.map(({ value, counted, found }) => {
      const highlighted =
        found === undefined
          ? value
          : highlightTokens(value, found.spans, found.matcher, {
              startTag: plan.highlight.startTag,
              endTag: plan.highlight.endTag,
              bytesMax: plan.highlight.bytes_max
            })
      plan.budget?.hold(value.length + highlighted.length, "facets")
      return {
        value,
        highlighted,
        count: counted.count,
        ...(request.returnParent ? parentOf(reader, plan, request.field, value, counted) : {})
      }
    }),
    stats: { ...stats, total_values }
  }
}
/** The common facet (by count over all values, no query, no groups, no numbers) needs no row per value. */
const isPlain = (request: FacetRequest, plan: SearchPlan, sets: ReadonlyArray<FacetedSet>, type: string): boolean =>
  request.ranges.length === 0 &&
  request.order.kind === "count" &&
  plan.facetQuery?.field !== request.field &&
  !/^(int|float)/.test(type) &&
  sets.every(({ groupOf }) => groupOf === undefined)
/** `isMatchAll`: counted by lists, so no more values than are shown are looked at. */
const plainFacet = (
  reader: CollectionReader,
  request: FacetRequest,
  plan: SearchPlan,
  sets: ReadonlyArray<FacetedSet>,
  isMatchAll: boolean
): FacetCount => {
  const counted = countByDictionary(reader, request.field, sets, !request.returnParent)
  const { dictionary, counts } = counted
  const most = plan.facetValuesMax
  const best: number[] = []
  let total = 0,
    highestLeft = 0
  const keepsOrder = most <= KEPT_IN_ORDER_MAX
  for (let value = 0; value < counts.length; value++) {
    const count = counts[value]
    if (count === 0) continue
    if (spend(1)) break
    total++
    if (!keepsOrder) {
      best.push(value)
      continue
    }
    if (best.length === most) {
      if (most === 0) continue
      if (count <= counts[best[most - 1]]) {
        if (count > highestLeft) highestLeft = count
        continue
      }
      highestLeft = counts[best.pop()!]
    }
    let at = best.length
    while (at > 0 && count > counts[best[at - 1]]) at--
    best.splice(at, 0, value)
  }
  if (!keepsOrder) {
    sortSpending(best, (a, b) => counts[b] - counts[a])
    if (best.length > most) highestLeft = counts[best[most]]
    best.length = Math.min(best.length, most)
  }
  if (most > 0 && highestLeft > 0 && highestLeft === counts[best[most - 1]]) {
    const above = best.filter((value) => counts[value] > highestLeft)
    const tied: number[] = []
    spend(counts.length)
    for (let value = 0; value < counts.length; value++) if (counts[value] === highestLeft) tied.push(value)
    const choose = isMatchAll
      ? chooseByAge<number>(reader, request.field, identity, "changed")
      : chooseByNumber<number>(reader, request.field, (value) => dictionary.text(value), identity)
    best.splice(0, most, ...above, ...choose(tied, most - above.length))
  }
  return countOf(
    reader,
    plan,
    request,
    sets,
    counted,
    inOrder(counted, best),
    isMatchAll ? Math.min(total, most) : total
  )
}
const identity = (value: number): number => value
/** The common facet of a large result: of the values that are largest in the collection, those that were found. */
const topFacet = (
  reader: CollectionReader,
  request: FacetRequest,
  plan: SearchPlan,
  sets: ReadonlyArray<FacetedSet>
): FacetCount => {
  const counted = countByDictionary(reader, request.field, sets, !request.returnParent)
  const { dictionary, counts } = counted
  const { order, totals } = largestFirst(reader, request.field)
  const most = plan.facetValuesMax * 2
  const found: number[] = []
  for (let at = 0; at < order.length && found.length < most && !spend(2);) {
    const equals: number[] = [],
      total = totals[order[at]]
    for (; at < order.length && totals[order[at]] === total; at++) if (counts[order[at]] > 0) equals.push(order[at])
    const room = most - found.length
    for (const value of equals.length > room
      ? chooseByAge<number>(reader, request.field, identity, "changed")(equals, room)
      : equals)
      found.push(value)
  }
  const total = found.length
  const best = cutByCount(
    found,
    plan.facetValuesMax,
    (value) => counts[value],
    chooseByHash((value) => dictionary.text(value))
  )
  return countOf(reader, plan, request, sets, counted, inOrder(counted, best), total)
}
/** As they are shown; a text is read once. */
const inOrder = ({ counts, dictionary }: DictionaryCounts, values: ReadonlyArray<number>): number[] =>
  sortSpending(
    values.map((value) => {
      spend(16)
      return { value, text: dictionary.text(value) }
    }),
    (a, b) => compareCounts(a.text, counts[a.value], b.text, counts[b.value])
  ).map(({ value }) => value)
const countOf = (
  reader: CollectionReader,
  plan: SearchPlan,
  request: FacetRequest,
  sets: ReadonlyArray<FacetedSet>,
  { dictionary, counts, seen }: DictionaryCounts,
  values: ReadonlyArray<number>,
  total: number
): FacetCount => ({
  field_name: request.field,
  sampled: false,
  counts: values.map((value) => {
    spend(32)
    const text = dictionary.text(value)
    plan.budget?.hold(text.length * 2, "facets")
    return {
      value: text,
      highlighted: text,
      count: counts[value],
      ...(request.returnParent
        ? parentOf(reader, plan, request.field, text, {
            count: counts[value],
            view: sets[seen![value * 2]].view,
            doc: seen![value * 2 + 1]
          })
        : {})
    }
  }),
  stats: { total_values: total }
})
const rowsOf = (counted: ReadonlyMap<string, Counted>): Row[] =>
  [...counted].map(([value, entry]) => ({ value, counted: entry }))

/**
 * Decision: with `top_values`, and under `automatic` for large results, only the values that are largest in the whole
 * collection are looked at, and sums and ranges see just those. The recorded answers do so, and they win over 9.4.
 */
const usesTopValues = (
  reader: CollectionReader,
  request: FacetRequest,
  plan: SearchPlan,
  sets: ReadonlyArray<FacetedSet>,
  isMatchAll: boolean
): boolean => {
  if (plan.group !== undefined || request.order.kind === "field" || request.strategy === "exhaustive") return false
  if (request.strategy === "top_values" || isMatchAll || request.order.kind === "alpha") return true
  let found = 0,
    distinct = 0
  for (const { bits, view, count } of sets) {
    found += count ?? countBits(bits)
    distinct = Math.max(distinct, view.segment.values(request.field)?.table.size ?? 0)
  }
  return found > LARGE_RESULT && (distinct < FEW_VALUES || found * 2 > reader.documentCount)
}
/**
 * The first `most` of the rows in the order of their counts in the collection, or of the alphabet where that is asked.
 */
const topValues = (
  reader: CollectionReader,
  request: FacetRequest,
  rows: Row[],
  most: number,
  isMatchAll: boolean
): Row[] => {
  if (rows.length <= most) return rows
  const { order } = request
  if (order.kind === "alpha")
    return sortSpending(rows, (a, b) =>
      order.order === "asc" ? compareUtf8(a.value, b.value) : compareUtf8(b.value, a.value)
    ).slice(0, most)
  const valueOf = valueOfRow(reader, request.field)
  const totals = isMatchAll ? undefined : largestFirst(reader, request.field).totals
  return cutByCount(
    rows,
    most,
    totals === undefined ? countOfRow : (row) => totals[valueOf(row)],
    chooseByAge(reader, request.field, valueOf, "changed")
  )
}
const liveSets = (reader: CollectionReader): FacetedSet[] =>
  reader.views.map((view) => {
    const bits = fillBits(bitsOf(view.segment.docs), view.segment.docs)
    return { view, bits: view.deleted === undefined ? bits : andNotInto(bits, view.deleted), isAll: true }
  })
interface Largest {
  readonly version: number
  /** Values by their counts; equals in no order. */ readonly order: Uint32Array
  /** Documents per value. */ readonly totals: Uint32Array
}
const orders = new WeakMap<FieldDictionary, Largest>()
/** The dictionary's values by their counts in the whole collection; kept until something is published. */
const largestFirst = (reader: CollectionReader, field: string): Largest => {
  const known = orders.get(reader.dictionary(field))
  if (known !== undefined && known.version === reader.version) return known
  // Kept, and asked for while the counts of a facet are in use.
  const { counts: totals } = countByDictionary(reader, field, liveSets(reader), true, (size) => new Uint32Array(size))
  const values: number[] = []
  for (let value = 0; value < totals.length; value++) if (totals[value] > 0) values.push(value)
  // Half an order is nobody's.
  if (isOver()) return { version: -1, order: Uint32Array.from(values), totals }
  const largest = {
    version: reader.version,
    order: Uint32Array.from(sortSpending(values, (a, b) => totals[b] - totals[a])),
    totals
  }
  orders.set(reader.dictionary(field), largest)
  return largest
}
const sumOf = (rows: ReadonlyArray<Row>): { sum: number; avg: number } => {
  let sum = 0,
    n = 0
  for (const { value, counted } of rows) {
    sum += (value.includes(".") ? Math.fround(Number(value)) : Number(value)) * counted.count
    n += counted.count
  }
  return { sum, avg: n === 0 ? 0 : sum / n }
}
const inRanges = (request: FacetRequest, rows: ReadonlyArray<Row>): Row[] => {
  const merged = new Map<string, Counted>()
  for (const { value, counted } of rows) {
    spend(8)
    const range = rangeAround(request.ranges, Number(value))
    if (range === undefined) continue
    const known = merged.get(range.label)
    if (known === undefined) merged.set(range.label, { ...counted })
    else known.count += counted.count
  }
  return rowsOf(merged)
}

/** Count descending, then shorter value first, then alphabetically later first (9.2). */
export const compareCounts = (a: string, countA: number, b: string, countB: number): number => {
  if (countA !== countB) return countB - countA
  const lengthA = isAscii(a) ? a.length : encodeUtf8(a).length,
    lengthB = isAscii(b) ? b.length : encodeUtf8(b).length
  return lengthA !== lengthB ? lengthA - lengthB : compareUtf8(b, a)
}
const isAscii = (text: string): boolean => {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) >= 0x80) return false
  return true
}

const countValues = (
  reader: CollectionReader,
  request: FacetRequest,
  sets: ReadonlyArray<FacetedSet>,
  sibling: string | undefined
): Map<string, Counted> => {
  const merged = new Map<string, Counted>()
  if (sets.some(({ groupOf }) => groupOf !== undefined)) {
    const groups = new Map<string, Set<number>>()
    for (const { view, bits, groupOf } of sets) {
      const column = view.segment.values(request.field)
      if (column !== undefined && groupOf !== undefined) countGroups(column, bits, groupOf, groups, merged, view)
    }
  } else {
    const { dictionary, counts, seen } = countByDictionary(reader, request.field, sets)
    for (let value = 0; value < counts.length; value++) {
      if (counts[value] === 0) continue
      if (spend(16)) break
      const from = sets[seen![value * 2]]
      merged.set(dictionary.text(value), { count: counts[value], value, view: from.view, doc: seen![value * 2 + 1] })
    }
  }
  if (sibling !== undefined) addSiblings(request.field, sibling, sets, merged)
  return merged
}
/**
 * Of one facet at a time; what a segment counts by its own numbers goes into the first before the next segment is
 * counted.
 */
const spareCounts = new SpareNumbers(),
  spareSeen = new SpareNumbers(),
  spareOwn = new SpareNumbers()
const spareZeros = (size: number): Uint32Array => spareCounts.zeros(size)
/** Matches as numbers, of all sets of one search one after the other: its facets share them. */
const spareDocs = new SpareNumbers()
let listRoom: Uint32Array | undefined
const listed = (sets: ReadonlyArray<FacetedSet>, bits: Bits): Uint32Array => {
  listRoom ??= spareDocs.take(
    sets.reduce((sum, { bits, count, docs }) => (docs === undefined ? sum + (count ?? countBits(bits)) : sum), 0)
  )
  const docs = listOf(bits, listRoom.length, 0, bits.length, listRoom)
  listRoom = listRoom.subarray(docs.length)
  return docs
}
interface DictionaryCounts {
  readonly dictionary: FieldDictionary
  readonly counts: Uint32Array
  /** Set and document where a value was met first. */ readonly seen: Uint32Array | undefined
}
/**
 * Documents per value over all segments, in numbers: each segment's ordinals map into one growing dictionary of the
 * reader, so nothing is decoded or hashed per search. Ordinals are counted in one tight loop per segment and mapped
 * once; with `numbersOnly` nobody asks where a value was met.
 */
const countByDictionary = (
  reader: CollectionReader,
  field: string,
  sets: ReadonlyArray<FacetedSet>,
  numbersOnly = false,
  zeros = spareZeros
): DictionaryCounts => {
  const dictionary = reader.dictionary(field)
  const maps = sets.map(({ view }) => dictionary.ordinalsOf(view.segment))
  // What was seen is read of counted values alone.
  const counts = zeros(dictionary.size),
    seen = numbersOnly ? undefined : spareSeen.take(dictionary.size * 2)
  for (let s = 0; s < sets.length; s++) {
    const map = maps[s]
    const column = sets[s].view.segment.values(field)
    if (map === undefined || column === undefined) continue
    const { bits, isAll, view } = sets[s]
    if (numbersOnly && isAll === true) {
      const totals = segmentTotals(view, field, column)
      spend(totals.length)
      for (let ordinal = 0; ordinal < totals.length; ordinal++) counts[map[ordinal]] += totals[ordinal]
    } else if (seen !== undefined) countSeen(column, bits, view.segment.seqs, map, counts, seen, s)
    else {
      // Cell 0 takes the documents without a value.
      const own = spareOwn.zeros(column.table.size + 1)
      for (const docs of (sets[s].docs ??= [listed(sets, bits)])) {
        if (spend(docs.length)) break
        if (column.single !== undefined) countSingles(column.single, docs, own)
        else countLists(column, docs, own)
      }
      for (let ordinal = 0; ordinal < map.length; ordinal++) counts[map[ordinal]] += own[ordinal + 1]
    }
  }
  return { dictionary, counts, seen }
}
/** A loop for each kind of array: one that reads all kinds asks for the kind at every document. */
const countSingles = (single: Ordinals, docs: Uint32Array, into: Uint32Array): void => {
  if (single instanceof Uint8Array) countBytes(single, docs, into)
  else if (single instanceof Uint16Array) countShorts(single, docs, into)
  else countLongs(single, docs, into)
}
const countBytes = (single: Uint8Array, docs: Uint32Array, into: Uint32Array): void => {
  for (let i = 0; i < docs.length; i++) into[single[docs[i]]]++
}
const countShorts = (single: Uint16Array, docs: Uint32Array, into: Uint32Array): void => {
  for (let i = 0; i < docs.length; i++) into[single[docs[i]]]++
}
const countLongs = (single: Uint32Array, docs: Uint32Array, into: Uint32Array): void => {
  for (let i = 0; i < docs.length; i++) into[single[docs[i]]]++
}
const countLists = (column: ValueColumn, docs: Uint32Array, into: Uint32Array): void => {
  const starts = column.starts!,
    ordinals = column.ordinals!,
    { hasRepeats } = column
  for (let d = 0; d < docs.length; d++) {
    const start = starts[docs[d]],
      count = starts[docs[d] + 1] - start
    if (spend(count)) return
    if (hasRepeats && count > REPEATS_LOOKED_FOR_MAX) {
      for (const ordinal of new Set(ordinals.subarray(start, start + count))) into[ordinal + 1]++
      continue
    }
    for (let i = start, end = starts[docs[d] + 1]; i < end; i++) {
      // A value repeated within a document counts once.
      let isRepeated = false
      if (hasRepeats) for (let j = start; j < i && !isRepeated; j++) isRepeated = ordinals[j] === ordinals[i]
      if (!isRepeated) into[ordinals[i] + 1]++
    }
  }
}
/** Where a value was met: of several documents the one that was inserted first, wherever it lies. */
const countSeen = (
  column: ValueColumn,
  bits: Bits,
  seqs: Uint32Array,
  map: Uint32Array,
  counts: Uint32Array,
  seen: Uint32Array,
  s: number
): void => {
  const { single, starts, ordinals, hasRepeats } = column
  const meet = (value: number, doc: number): void => {
    if (counts[value]++ > 0 && (seen[value * 2] !== s || seqs[seen[value * 2 + 1]] < seqs[doc])) return
    seen[value * 2] = s
    seen[value * 2 + 1] = doc
  }
  for (let w = 0; w < bits.length; w++) {
    let word = bits[w]
    while (word !== 0) {
      const low = word & -word
      word ^= low
      const doc = (w << 5) + 31 - Math.clz32(low)
      if (spend(4)) return
      if (single !== undefined) {
        const ordinal = single[doc]
        if (ordinal !== 0) meet(map[ordinal - 1], doc)
        continue
      }
      const start = starts![doc],
        count = starts![doc + 1] - start
      spend(count)
      if (hasRepeats && count > REPEATS_LOOKED_FOR_MAX) {
        for (const ordinal of new Set(ordinals!.subarray(start, start + count))) meet(map[ordinal], doc)
        continue
      }
      for (let i = start, end = starts![doc + 1]; i < end; i++) {
        const ordinal = ordinals![i]
        let isRepeated = false
        if (hasRepeats) for (let j = start; j < i && !isRepeated; j++) isRepeated = ordinals![j] === ordinal
        if (!isRepeated) meet(map[ordinal], doc)
      }
    }
  }
}
/** Documents between two chances to give way. */
const TOTALS_STEP_DOCS = 8_192
/** Live documents per ordinal of a segment, and which deletions it knows of. */
interface Totals {
  readonly live: Uint32Array
  gone: Bits | undefined
  goneCount: number
}
const totalsName = (field: string): string => `totals:${field}`
/**
 * Counted once, then only new deletions are taken off. Cost then: a look at the words of the deleted set. Not to be
 * written.
 */
const segmentTotals = (view: SegmentView, field: string, column: ValueColumn): Uint32Array => {
  const work = totalling(view, field, column)
  let step = work.next()
  while (step.done !== true) {
    spend(TOTALS_STEP_DOCS)
    step = work.next()
  }
  const totals = step.value
  if (view.deleted !== undefined && totals.goneCount !== view.deletedCount) {
    const gone = (totals.gone ??= bitsOf(view.segment.docs))
    for (let w = 0; w < gone.length; w++) {
      for (let word = view.deleted[w] & ~gone[w]; word !== 0; word &= word - 1)
        addDocument(column, (w << 5) + 31 - Math.clz32(word & -word), totals.live, -1)
      gone[w] = view.deleted[w]
    }
    totals.goneCount = view.deletedCount
  }
  return totals.live
}
function* totalling({ segment }: SegmentView, field: string, column: ValueColumn): Generator<void, Totals> {
  const known = segment.derived.get(totalsName(field)) as Totals | undefined
  if (known !== undefined) return known
  const live = new Uint32Array(column.table.size)
  for (let doc = 0; doc < segment.docs; doc++) {
    addDocument(column, doc, live, 1)
    if ((doc & (TOTALS_STEP_DOCS - 1)) === TOTALS_STEP_DOCS - 1) yield
  }
  const totals: Totals = { live, gone: undefined, goneCount: 0 }
  segment.derived.set(totalsName(field), totals)
  return totals
}
/** What counting a field asks of a segment, in steps: where it comes instead of others, as far as those were asked. */
export function* preparingCounts(
  view: SegmentView,
  field: string,
  replaced?: ReadonlyArray<SegmentView>
): Generator<void, void> {
  const column = view.segment.values(field)
  if (column === undefined) return
  yield* column.lookingForRepeats()
  if (replaced === undefined || replaced.some(({ segment }) => segment.derived.has(totalsName(field))))
    yield* totalling(view, field, column)
}
const addDocument = (column: ValueColumn, doc: number, counts: Uint32Array, step: number): void => {
  if (column.single !== undefined) {
    if (column.single[doc] !== 0) counts[column.single[doc] - 1] += step
    return
  }
  const { starts, ordinals } = column
  if (starts![doc + 1] - starts![doc] > REPEATS_LOOKED_FOR_MAX) {
    for (const ordinal of new Set(ordinals!.subarray(starts![doc], starts![doc + 1]))) counts[ordinal] += step
    return
  }
  for (let i = starts![doc]; i < starts![doc + 1]; i++) {
    let isRepeated = false
    for (let j = starts![doc]; j < i && !isRepeated; j++) isRepeated = ordinals![j] === ordinals![i]
    if (!isRepeated) counts[ordinals![i]] += step
  }
}
const countGroups = (
  column: ValueColumn,
  bits: Bits,
  groupOf: (doc: number) => number,
  groups: Map<string, Set<number>>,
  merged: Map<string, Counted>,
  view: SegmentView
): void => {
  for (let doc = 0; doc < view.segment.docs; doc++) {
    if (!hasBit(bits, doc)) continue
    if (spend(16)) return
    const group = groupOf(doc)
    eachOrdinal(column, doc, (ordinal) => {
      spend(16)
      const value = column.table.text(ordinal)
      let seen = groups.get(value)
      if (seen === undefined) {
        groups.set(value, (seen = new Set()))
        merged.set(value, { count: 0, view, doc })
      }
      seen.add(group)
      merged.get(value)!.count = seen.size
    })
  }
}
export const eachOrdinal = (column: ValueColumn, doc: number, visit: (ordinal: number) => void): void => {
  if (column.single !== undefined) {
    if (column.single[doc] !== 0) visit(column.single[doc] - 1)
  } else for (let i = column.starts![doc]; i < column.starts![doc + 1]; i++) visit(column.ordinals![i])
}
const addSiblings = (
  field: string,
  sibling: string,
  sets: ReadonlyArray<FacetedSet>,
  merged: Map<string, Counted>
): void => {
  for (const { view, bits } of sets) {
    const column = view.segment.values(field),
      numbers = view.segment.numbers(sibling)
    if (column === undefined || numbers === undefined) continue
    for (let doc = 0; doc < view.segment.docs; doc++) {
      if (!hasBit(bits, doc)) continue
      if (spend(16)) return
      const value = numbers.first(doc)
      if (value !== undefined)
        eachOrdinal(column, doc, (ordinal) => {
          spend(16)
          const entry = merged.get(column.table.text(ordinal))
          if (entry !== undefined) entry.sibling = value
        })
    }
  }
}

/**
 * They follow each other without a gap, so the last one that begins in time is the only one that can hold the value.
 */
const rangeAround = (ranges: FacetRequest["ranges"], value: number): FacetRequest["ranges"][number] | undefined => {
  let low = 0,
    high = ranges.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ranges[middle].from <= value) low = middle + 1
    else high = middle
  }
  const range = ranges[low - 1]
  return range !== undefined && value >= range.from && value < range.to
    ? range
    : ranges.find(({ from, to }) => value >= from && value < to)
}
const countRanges = (request: FacetRequest, sets: ReadonlyArray<FacetedSet>): Map<string, Counted> => {
  const merged = new Map<string, Counted>()
  const groups = new Map<string, Set<number>>()
  for (const { view, bits, groupOf } of sets) {
    const column = view.segment.numbers(request.field)
    if (column === undefined) continue
    for (let doc = 0; doc < view.segment.docs; doc++) {
      if (!hasBit(bits, doc)) continue
      if (spend(8)) return merged
      const from = column.starts === undefined ? doc : column.starts[doc]
      const end = column.starts === undefined ? (hasBit(column.has!, doc) ? doc + 1 : doc) : column.starts[doc + 1]
      const seen = new Set<string>()
      for (let i = from; i < end; i++) {
        spend(8)
        const range = rangeAround(request.ranges, column.values[i])
        if (range === undefined || seen.has(range.label)) continue
        seen.add(range.label)
        const known = merged.get(range.label)
        if (groupOf !== undefined) {
          let members = groups.get(range.label)
          if (members === undefined) groups.set(range.label, (members = new Set()))
          members.add(groupOf(doc))
          if (known === undefined) merged.set(range.label, { count: 1, view, doc })
          else known.count = members.size
        } else if (known === undefined) merged.set(range.label, { count: 1, view, doc })
        else known.count++
      }
    }
  }
  return merged
}

/** Over every element of every matching document. */
const numericStats = (
  field: string,
  sets: ReadonlyArray<FacetedSet>
): { min: number; max: number; sum: number; avg: number } | undefined => {
  let min = Infinity,
    max = -Infinity,
    sum = 0,
    n = 0
  // What adding lost: the sum must not depend on how the documents of a large segment lie (`index/document-order.ts`).
  let rest = 0
  for (const { view, bits } of sets) {
    const isOrdered = view.segment.docs >= ORDERED_DOCS_MIN
    const column = view.segment.numbers(field)
    if (column === undefined) continue
    const { values, starts, has } = column
    for (let w = 0; w < bits.length; w++) {
      let word = bits[w]
      if (word !== 0 && spend(32)) break
      while (word !== 0) {
        const low = word & -word
        word ^= low
        const doc = (w << 5) + 31 - Math.clz32(low)
        if (starts === undefined && !hasBit(has!, doc)) continue
        if (starts !== undefined) spend(starts[doc + 1] - starts[doc])
        for (
          let i = starts === undefined ? doc : starts[doc], end = starts === undefined ? doc + 1 : starts[doc + 1];
          i < end;
          i++
        ) {
          const value = values[i]
          if (value < min) min = value
          if (value > max) max = value
          const before = sum
          sum += value
          if (isOrdered) {
            const taken = sum - before
            rest += before - (sum - taken) + (value - taken)
          }
          n++
        }
      }
    }
  }
  return n === 0 ? undefined : { min, max, sum: sum + rest, avg: (sum + rest) / n }
}

/** A text that is tokenized, beside its characters; and comparing two words by their edits. */
const TOKENIZING_STEPS = 64,
  EDITS_STEPS = 32
// ---- facet query and parents ---------------------------------------------------------------------------------------

/**
 * Rows whose value holds every word of the query: without typos if there are any, else with the fewest that find some.
 */
const matchingRows = (schema: CollectionSchema, name: string, rows: ReadonlyArray<Row>, query: FacetQuery): Row[] => {
  const field = schema.fields.find((candidate) => candidate.name === name)
  if (field === undefined) return []
  const analyzer = analyzerOf(schema, field)
  // Values that the time was too short for match nothing.
  const spans = rows.map(({ value }) =>
    spend(TOKENIZING_STEPS + value.length) ? [] : analyzer.tokenizeWithOffsets(value)
  )
  for (let typos = 0; typos <= query.numTypos; typos++) {
    const matcher = facetMatcher(query, typos)
    const found = rows.flatMap((row, i): Row[] => {
      const words = new Set<number>()
      if (spend(4 + spans[i].length * query.tokens.length * (typos === 0 ? 1 : EDITS_STEPS))) return []
      for (const { token } of spans[i]) {
        const match = matcher(token)
        if (match !== undefined) words.add(match.wanted)
      }
      return words.size < query.tokens.length ? [] : [{ ...row, found: { spans: spans[i], matcher } }]
    })
    if (found.length > 0) return found
  }
  return []
}
const facetMatcher =
  (query: FacetQuery, typos: number): TokenMatcher =>
  (token) => {
    for (let i = 0; i < query.tokens.length; i++) {
      const wanted = query.tokens[i]
      const isLast = i === query.tokens.length - 1
      if (token === wanted) return { wanted: i, length: token.length }
      if (isLast && token.startsWith(wanted)) return { wanted: i, length: wanted.length }
      const most = Math.min(typos, wanted.length < 3 ? 0 : wanted.length < 7 ? 1 : 2)
      if (
        most > 0 &&
        (damerauWithin(wanted, token, most) ||
          (isLast && token.length > wanted.length && damerauWithin(wanted, token.slice(0, wanted.length), most)))
      )
        return { wanted: i, length: Math.min(wanted.length, token.length) }
    }
    return undefined
  }

const parentOf = (
  reader: CollectionReader,
  plan: SearchPlan,
  field: string,
  value: string,
  entry: Counted
): { parent?: unknown } => {
  const text = reader.documents.text(entry.view.segment.seqs[entry.doc])
  if (text === undefined || spend(text.length)) return {}
  plan.budget?.hold(text.length, "facets")
  const path = field.split(".")
  const parents: unknown[] = []
  const walk = (at: unknown, depth: number): void => {
    if (Array.isArray(at)) {
      for (const element of at) walk(element, depth)
      return
    }
    if (typeof at !== "object" || at === null) return
    const record = at as Record<string, unknown>
    if (depth === path.length - 1) {
      const own = ownValue(record, path[depth])
      const values = Array.isArray(own) ? own : [own]
      if (
        values.some((one) => (typeof one === "number" ? [String(one), floatText(one)] : [String(one)]).includes(value))
      )
        parents.push(at)
      return
    }
    walk(ownValue(record, path[depth]), depth + 1)
  }
  walk(JSON.parse(text), 0)
  return parents.length > 0 ? { parent: parents[0] } : {}
}
