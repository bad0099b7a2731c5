/**
 * Facet counts over everything that matched (engine-contract 9): ordinals are counted in bulk per segment and merged by
 * value. Tie order and picking live here once, for every caller.
 */
import { analyzerOf } from "../analysis/analyzer.ts"
import { hasBit, type Bits } from "../index/bits.ts"
import { compareUtf8, encodeUtf8 } from "../index/bytes.ts"
import { floatText } from "../index/builders.ts"
import type { ValueColumn } from "../index/columns.ts"
import type { CollectionReader, SegmentView } from "../index/reader.ts"
import type { FacetCount, FacetQuery, FacetRequest, SearchPlan } from "../plan.ts"
import type { CollectionSchema } from "../schema.ts"
import { highlightTokens, type TokenMatcher } from "./highlight-text.ts"
import { damerauWithin } from "./edit-distance.ts"

/** What is counted: documents of one segment, or with groups the group number of each document. */
export interface FacetedSet { readonly view: SegmentView; readonly bits: Bits; readonly groupOf?: ((doc: number) => number) }

interface Counted { count: number; /** One document that has it: where a parent object is read from. */ view: SegmentView; doc: number; /** Best sibling value, for `sort_by: field`. */ sibling?: number }

/** One entry per request, in order. `total` is how many documents the sets hold. */
export const countFacets = (reader: CollectionReader, plan: SearchPlan, sets: ReadonlyArray<FacetedSet>): FacetCount[] =>
  plan.facets.filter((request) => request.collection === undefined).map((request) => facetOf(reader, request, plan, sets))

const facetOf = (reader: CollectionReader, request: FacetRequest, plan: SearchPlan, sets: ReadonlyArray<FacetedSet>): FacetCount => {
  const field = reader.schema.fields.find(({ name }) => name === request.field)
  const isNumeric = field !== undefined && /^(int|float)/.test(field.type)
  const stats = isNumeric ? numericStats(request.field, sets) : undefined
  const facetQuery = plan.facetQuery?.field === request.field ? plan.facetQuery : undefined
  const counted = request.ranges.length > 0 ? countRanges(request, sets) : countValues(request, sets, request.order.kind === "field" ? request.order.field : undefined)
  const matcher = facetQuery === undefined || facetQuery.tokens.length === 0 ? undefined : facetMatcher(facetQuery)
  const rows: Array<{ value: string; counted: Counted; highlighted: string }> = []
  for (const [value, entry] of counted) {
    const highlighted = matcher === undefined ? value : matchValue(reader.schema, request.field, value, matcher, plan)
    if (highlighted !== undefined) rows.push({ value, counted: entry, highlighted })
  }
  rows.sort((a, b) => compareCounts(a.value, a.counted.count, b.value, b.counted.count))
  const total = rows.length
  const picked = rows.slice(0, plan.facetValuesMax)
  const { order } = request
  if (order.kind === "alpha") picked.sort((a, b) => order.order === "asc" ? compareUtf8(a.value, b.value) : compareUtf8(b.value, a.value))
  else if (order.kind === "field") {
    const sign = order.order === "asc" ? 1 : -1
    picked.sort((a, b) => sign * ((a.counted.sibling ?? 0) - (b.counted.sibling ?? 0)))
  }
  return {
    field_name: request.field,
    sampled: false,
    counts: picked.map(({ value, counted: entry, highlighted }) => ({
      value, highlighted, count: entry.count,
      ...(request.returnParent ? parentOf(reader, request.field, value, entry) : {}),
    })),
    stats: { ...stats, total_values: total },
  }
}

/** Count descending, then shorter value first, then alphabetically later first (9.2). */
export const compareCounts = (a: string, countA: number, b: string, countB: number): number => {
  if (countA !== countB) return countB - countA
  const lengthA = isAscii(a) ? a.length : encodeUtf8(a).length, lengthB = isAscii(b) ? b.length : encodeUtf8(b).length
  return lengthA !== lengthB ? lengthA - lengthB : compareUtf8(b, a)
}
const isAscii = (text: string): boolean => { for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) >= 0x80) return false; return true }

const countValues = (request: FacetRequest, sets: ReadonlyArray<FacetedSet>, sibling: string | undefined): Map<string, Counted> => {
  const merged = new Map<string, Counted>()
  const groups = new Map<string, Set<number>>()
  for (const set of sets) {
    const column = set.view.segment.values(request.field)
    if (column === undefined) continue
    const { counts, firsts } = set.groupOf === undefined ? ordinalCounts(column, set.bits) : { counts: new Uint32Array(0), firsts: new Uint32Array(0) }
    if (set.groupOf !== undefined) countGroups(column, set.bits, set.groupOf, groups, merged, set.view)
    for (let ordinal = 0; ordinal < counts.length; ordinal++) {
      if (counts[ordinal] === 0) continue
      const value = column.table.text(ordinal)
      const known = merged.get(value)
      if (known === undefined) merged.set(value, { count: counts[ordinal], view: set.view, doc: firsts[ordinal] })
      else known.count += counts[ordinal]
    }
  }
  if (sibling !== undefined) addSiblings(request.field, sibling, sets, merged)
  return merged
}
/** Documents per ordinal; a value repeated within a document counts once. */
const ordinalCounts = (column: ValueColumn, bits: Bits): { counts: Uint32Array; firsts: Uint32Array } => {
  const counts = new Uint32Array(column.table.size), firsts = new Uint32Array(column.table.size)
  const { single, starts, ordinals } = column
  for (let w = 0; w < bits.length; w++) {
    let word = bits[w]
    while (word !== 0) {
      const low = word & -word
      word ^= low
      const doc = (w << 5) + 31 - Math.clz32(low)
      if (single !== undefined) { const o = single[doc]; if (o !== 0 && counts[o - 1]++ === 0) firsts[o - 1] = doc }
      else for (let i = starts![doc], end = starts![doc + 1]; i < end; i++) {
        const o = ordinals![i]
        let isRepeated = false
        for (let j = starts![doc]; j < i && !isRepeated; j++) isRepeated = ordinals![j] === o
        if (!isRepeated && counts[o]++ === 0) firsts[o] = doc
      }
    }
  }
  return { counts, firsts }
}
const countGroups = (column: ValueColumn, bits: Bits, groupOf: (doc: number) => number, groups: Map<string, Set<number>>, merged: Map<string, Counted>, view: SegmentView): void => {
  for (let doc = 0; doc < view.segment.docs; doc++) {
    if (!hasBit(bits, doc)) continue
    eachOrdinal(column, doc, (ordinal) => {
      const value = column.table.text(ordinal)
      let seen = groups.get(value)
      if (seen === undefined) { groups.set(value, seen = new Set()); merged.set(value, { count: 0, view, doc }) }
      seen.add(groupOf(doc))
      merged.get(value)!.count = seen.size
    })
  }
}
export const eachOrdinal = (column: ValueColumn, doc: number, visit: (ordinal: number) => void): void => {
  if (column.single !== undefined) { if (column.single[doc] !== 0) visit(column.single[doc] - 1) }
  else for (let i = column.starts![doc]; i < column.starts![doc + 1]; i++) visit(column.ordinals![i])
}
const addSiblings = (field: string, sibling: string, sets: ReadonlyArray<FacetedSet>, merged: Map<string, Counted>): void => {
  for (const { view, bits } of sets) {
    const column = view.segment.values(field), numbers = view.segment.numbers(sibling)
    if (column === undefined || numbers === undefined) continue
    for (let doc = 0; doc < view.segment.docs; doc++) {
      if (!hasBit(bits, doc)) continue
      const value = numbers.first(doc)
      if (value !== undefined) eachOrdinal(column, doc, (ordinal) => { const entry = merged.get(column.table.text(ordinal)); if (entry !== undefined) entry.sibling = value })
    }
  }
}

const countRanges = (request: FacetRequest, sets: ReadonlyArray<FacetedSet>): Map<string, Counted> => {
  const merged = new Map<string, Counted>()
  const groups = new Map<string, Set<number>>()
  for (const { view, bits, groupOf } of sets) {
    const column = view.segment.numbers(request.field)
    if (column === undefined) continue
    for (let doc = 0; doc < view.segment.docs; doc++) {
      if (!hasBit(bits, doc)) continue
      const from = column.starts === undefined ? doc : column.starts[doc]
      const end = column.starts === undefined ? (hasBit(column.has!, doc) ? doc + 1 : doc) : column.starts[doc + 1]
      const seen = new Set<string>()
      for (let i = from; i < end; i++) {
        const value = column.values[i]
        const range = request.ranges.find((candidate) => value >= candidate.from && value < candidate.to)
        if (range === undefined || seen.has(range.label)) continue
        seen.add(range.label)
        const known = merged.get(range.label)
        if (groupOf !== undefined) {
          let members = groups.get(range.label)
          if (members === undefined) groups.set(range.label, members = new Set())
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
const numericStats = (field: string, sets: ReadonlyArray<FacetedSet>): { min: number; max: number; sum: number; avg: number } | undefined => {
  let min = Infinity, max = -Infinity, sum = 0, n = 0
  for (const { view, bits } of sets) {
    const column = view.segment.numbers(field)
    if (column === undefined) continue
    const { values, starts, has } = column
    for (let w = 0; w < bits.length; w++) {
      let word = bits[w]
      while (word !== 0) {
        const low = word & -word
        word ^= low
        const doc = (w << 5) + 31 - Math.clz32(low)
        if (starts === undefined && !hasBit(has!, doc)) continue
        for (let i = starts === undefined ? doc : starts[doc], end = starts === undefined ? doc + 1 : starts[doc + 1]; i < end; i++) {
          const value = values[i]
          if (value < min) min = value
          if (value > max) max = value
          sum += value
          n++
        }
      }
    }
  }
  return n === 0 ? undefined : { min, max, sum, avg: sum / n }
}

// ---- facet query and parents ---------------------------------------------------------------------------------------

const facetMatcher = (query: FacetQuery): TokenMatcher => (token) => {
  const length = encodeUtf8(token).length
  for (let i = 0; i < query.tokens.length; i++) {
    const wanted = query.tokens[i]
    const isLast = i === query.tokens.length - 1
    if (token === wanted) return { wanted: i, length: token.length }
    if (isLast && token.startsWith(wanted)) return { wanted: i, length: wanted.length }
    const most = Math.min(query.numTypos, wanted.length < 3 ? 0 : wanted.length < 7 ? 1 : 2)
    if (most > 0 && (damerauWithin(wanted, token, most) || (isLast && length > wanted.length && damerauWithin(wanted, token.slice(0, wanted.length), most)))) return { wanted: i, length: Math.min(wanted.length, token.length) }
  }
  return undefined
}
/** The marked value when every word of the facet query is in it. */
const matchValue = (schema: CollectionSchema, name: string, value: string, matcher: TokenMatcher, plan: SearchPlan): string | undefined => {
  const field = schema.fields.find((candidate) => candidate.name === name)
  if (field === undefined) return undefined
  const spans = analyzerOf(schema, field).tokenizeWithOffsets(value)
  const found = new Set<number>()
  for (const { token } of spans) { const match = matcher(token); if (match !== undefined) found.add(match.wanted) }
  if (found.size < (plan.facetQuery?.tokens.length ?? 0)) return undefined
  return highlightTokens(value, spans, matcher, plan.highlight.startTag, plan.highlight.endTag)
}

const parentOf = (reader: CollectionReader, field: string, value: string, entry: Counted): { parent?: unknown } => {
  const text = reader.documents.text(entry.view.segment.seqs[entry.doc])
  if (text === undefined) return {}
  const path = field.split(".")
  const parents: unknown[] = []
  const walk = (at: unknown, depth: number): void => {
    if (Array.isArray(at)) { for (const element of at) walk(element, depth); return }
    if (typeof at !== "object" || at === null) return
    const record = at as Record<string, unknown>
    if (depth === path.length - 1) {
      const own = record[path[depth]]
      const values = Array.isArray(own) ? own : [own]
      if (values.some((one) => (typeof one === "number" ? [String(one), floatText(one)] : [String(one)]).includes(value))) parents.push(at)
      return
    }
    walk(record[path[depth]], depth + 1)
  }
  walk(JSON.parse(text), 0)
  return parents.length > 0 ? { parent: parents[0] } : {}
}
