/**
 * Sort keys as doubles per document, where higher is better (`docs/contract/sorting.md`). A string key is an ordinal
 * within its segment; ranks of different segments are compared by their texts.
 */
import type { Decay, SortKey } from "../../plan.ts"
import type { Filter } from "../../filter.ts"
import { hasBit, type Bits } from "../../index/bits.ts"
import type { CollectionReader, SegmentView } from "../../index/reader.ts"
import type { Segment } from "../../index/segment.ts"
import { pause } from "../../turns.ts"
import { blockMaxima, preparingMaxima } from "./block-maxima.ts"
import { boostSums } from "./boosts.ts"
import { spend, unlessGivenUp } from "../../budget/cutoff.ts"
import { FilterEvaluation } from "../filter/filters.ts"
import { distance_m } from "../filter/geo.ts"
import { allowedDocuments, isAllowed, joinedFilter } from "../filter/join-filter.ts"
import { relatedDocs, relationOf } from "../filter/relations.ts"
import type { SearchScope } from "../scope.ts"
import { noMatches, type SegmentMatches } from "../text/segment-matches.ts"
import { vectorDistances, type DistanceTable } from "../vector/vectors.ts"
import { firstNotBefore } from "../../sorted.ts"

/** Distance assigned to a document without a point. */
const NOWHERE_M = 2_147_483_647

/** Value of a text match without a vector distance; it ranks before every known distance, as recorded. */
const UNKNOWN_DISTANCE = -1

/** One key in one segment. `write` fills one double (two for text scores) at `at`. */
export interface KeyColumn {
  readonly width: 1 | 2
  /**
   * The common keys as arrays, so that ranking can compare documents without a call for each: `sign · first[doc]`, then
   * `sign · second[doc]`.
   */
  readonly arrays?: {
    readonly sign: number
    readonly first: ArrayLike<number>
    readonly second?: ArrayLike<number>
    readonly has?: Bits
    readonly absent: number
    /** A byte per document that grows with `sign · first`, if it has been computed. */ readonly classes?: Uint8Array
    /** The highest `sign · first` of every 32 documents, computed on the first call. */
    readonly maxima?: () => Float64Array
  }
  write(doc: number, into: Float64Array, at: number): void
  /** Text of a string key, for comparison across segments; undefined = missing. */ text?(
    doc: number
  ): string | undefined
}
interface SortInputs {
  readonly scope: SearchScope
  readonly reader: CollectionReader
  readonly distances: ReadonlyArray<DistanceTable> | undefined
  /** Scores that replace text scores in a hybrid search. */ readonly fused: ReadonlyArray<Float64Array> | undefined
  readonly groupSize: ((s: number, doc: number) => number) | undefined
  /** The condition on the documents of a joined collection. */ readonly filter?: Filter | undefined
}

/** A column per key and segment. Missing numbers are last in both directions unless the key says otherwise. */
export const keyColumns = (
  inputs: SortInputs,
  keys: ReadonlyArray<SortKey>,
  matches: ReadonlyArray<SegmentMatches>
): KeyColumn[][] => {
  const evaluation = new FilterEvaluation(inputs.scope, inputs.reader)
  return matches.map((match, s) => keys.map((key) => keyColumn(inputs, evaluation, key, match, s)))
}

const keyColumn = (
  inputs: SortInputs,
  evaluation: FilterEvaluation,
  key: SortKey,
  match: SegmentMatches,
  s: number
): KeyColumn => {
  const sign = key.order === "desc" ? 1 : -1
  const { segment } = match.view
  switch (key.kind) {
    case "text_match": {
      const fused = inputs.fused?.[s]
      if (fused !== undefined)
        return {
          width: 2,
          write: (doc, into, at) => {
            into[at] = sign * fused[doc]
            into[at + 1] = 0
          }
        }
      const { high, low } = match
      return {
        width: 2,
        arrays: { sign, first: high, second: low, absent: 0 },
        write: (doc, into, at) => {
          into[at] = sign * high[doc]
          into[at + 1] = sign * low[doc]
        }
      }
    }
    case "seq":
      return single((doc) => sign * segment.seqs[doc])
    case "random":
      return single((doc) => sign * randomOf(key.seed, segment.seqs[doc]))
    case "group_found":
      return single((doc) => sign * (inputs.groupSize?.(s, doc) ?? 0))
    case "vector_distance": {
      const table = inputs.distances?.[s]
      return single((doc) => {
        const distance = table?.[doc]
        return sign * (distance === undefined || Number.isNaN(distance) ? UNKNOWN_DISTANCE : distance)
      })
    }
    case "vector_query": {
      const table = vectorDistances(segment, key.query, inputs.reader)
      return single((doc) => sign * (Number.isNaN(table[doc]) ? 2 : table[doc]))
    }
    case "geo":
      return single((doc) => sign * geoKey(segment, key, doc))
    case "eval": {
      const cases: Array<{ bits: Bits; score: number }> = key.cases.map(({ filter, score }) => ({
        bits: evaluation.complete(filter, match.view),
        score
      }))
      return single((doc) => {
        spend(cases.length)
        for (const { bits, score } of cases) if (hasBit(bits, doc)) return sign * score
        return 0
      })
    }
    case "boosts": {
      const sums =
        unlessGivenUp(() => boostSums(key.cases, evaluation, match.view), undefined) ?? new Float64Array(segment.docs)
      return {
        width: 1,
        arrays: { sign, first: sums, absent: 0 },
        write: (doc, into, at) => {
          into[at] = sign * sums[doc]
        }
      }
    }
    case "listed":
      return listedKey(segment, key.ids, sign)
    case "field":
      return fieldKey(segment, key, sign)
    case "join":
      return joinKey(inputs, key, match.view)
  }
}
const single = (value: (doc: number) => number): KeyColumn => ({
  width: 1,
  write: (doc, into, at) => {
    into[at] = value(doc)
  }
})

/** Documents earlier in the list rank higher; 0 = not in the list. */
const listedKey = (segment: Segment, ids: ReadonlyArray<string>, sign: number): KeyColumn => {
  const places = new Map<number, number>()
  ids.forEach((id, i) => {
    spend(16)
    for (const doc of segment.docsOfId(id)) places.set(doc, ids.length - i)
  })
  return single((doc) => sign * (places.get(doc) ?? 0))
}

const fieldKey = (segment: Segment, key: Extract<SortKey, { kind: "field" }>, sign: number): KeyColumn => {
  const first = key.missing === "first"
  if (key.type === "string") {
    const column = segment.sortKeys(key.field)
    // Missing strings rank as the highest value: first when descending, last when ascending.
    const absent = key.missing === "first" ? Infinity : key.missing === "last" ? -Infinity : sign * Infinity
    return {
      width: 1,
      write: (doc, into, at) => {
        const ordinal = column === undefined ? 0 : column.ordinals[doc]
        into[at] = ordinal === 0 ? absent : sign * ordinal
      },
      text: (doc) => {
        const ordinal = column === undefined ? 0 : column.ordinals[doc]
        return ordinal === 0 ? undefined : column!.table.text(ordinal - 1)
      }
    }
  }
  const column = segment.numbers(key.field)
  const absent = first ? Infinity : -Infinity
  if (column === undefined) return single(() => absent)
  if (key.decay !== undefined) {
    const { decay } = key
    return single((doc) => {
      const value = column.first(doc)
      return value === undefined ? absent : sign * decayed(decay, value)
    })
  }
  if (column.big !== undefined) {
    // Two doubles keep 64 bits exact.
    const { big } = column
    return {
      width: 2,
      write: (doc, into, at) => {
        const at0 =
          column.starts === undefined
            ? hasBit(column.has!, doc)
              ? doc
              : -1
            : column.starts[doc] < column.starts[doc + 1]
              ? column.starts[doc]
              : -1
        into[at] = at0 < 0 ? absent : sign * Number(big[at0] >> 32n)
        into[at + 1] = at0 < 0 ? 0 : sign * Number(big[at0] & 0xffffffffn)
      }
    }
  }
  if (column.has !== undefined) {
    const { values, has } = column
    const classes = absent === -Infinity ? classesOf(segment, key.field, sign, values, has) : undefined
    const ordered = { sign, first: values, has, absent }
    const maxima = () => blockMaxima(segment, key.field, ordered)
    return {
      width: 1,
      arrays: { ...ordered, maxima, ...(classes === undefined ? {} : { classes }) },
      write: (doc, into, at) => {
        into[at] = (has[doc >>> 5] & (1 << (doc & 31))) === 0 ? absent : sign * values[doc]
      }
    }
  }
  return single((doc) => {
    const value = column.first(doc)
    return value === undefined ? absent : sign * value
  })
}

const CLASSES_DOCS_MIN = 4_096
const CLASSES_SAMPLE = 4_096
/** Number of searches that sort by a column before computing classes pays off. */
const CLASSES_USES_MIN = 3
/**
 * Number of uses after which each search does a step itself, because in a program that searches without ever yielding
 * nothing runs between searches.
 */
const CLASSES_WAITED_MAX = 24
/** Documents between two chances to yield, less one: two milliseconds of code that is not optimized yet. */
const CLASSES_STEP_MASK = 2_047
/** Up to this many documents take less time than a turn of the event loop, so they are processed immediately. */
const CLASSES_AT_ONCE_DOCS = 8_192
const classesName = (sign: number, field: string): string => `classes:${sign}:${field}`
/** Number of uses so far, and the work once it has begun. */
interface ClassesInMaking {
  uses: number
  readonly work: Generator<void, Uint8Array> | undefined
}
/**
 * Values split evenly into 255 classes, 0 = absent; undefined until they are computed, which happens between searches.
 */
const classesOf = (
  segment: Segment,
  field: string,
  sign: number,
  values: ArrayLike<number>,
  has: Bits
): Uint8Array | undefined => {
  if (segment.docs < CLASSES_DOCS_MIN) return undefined
  const name = classesName(sign, field)
  const known = segment.derived.get(name) as Uint8Array | ClassesInMaking | undefined
  if (known instanceof Uint8Array) return known
  const uses = (known?.uses ?? 0) + 1
  const work = known?.work ?? (uses < CLASSES_USES_MIN ? undefined : makingClasses(segment, name, sign, values, has))
  segment.derived.set(name, { uses, work })
  if (work === undefined) return undefined
  if (segment.docs <= CLASSES_AT_ONCE_DOCS) while (work.next().done !== true);
  else if (uses >= CLASSES_WAITED_MAX) work.next()
  const made = segment.derived.get(name)
  if (made instanceof Uint8Array) return made
  if (known?.work === undefined)
    void (async () => {
      do await pause()
      while (work.next().done !== true)
    })()
  return undefined
}
/** Cost: eight comparisons per document. */
function* makingClasses(
  segment: Segment,
  name: string,
  sign: number,
  values: ArrayLike<number>,
  has: Bits
): Generator<void, Uint8Array> {
  const sample: number[] = []
  for (let doc = 0, step = Math.max(1, Math.floor(segment.docs / CLASSES_SAMPLE)); doc < segment.docs; doc += step)
    if (hasBit(has, doc)) sample.push(sign * values[doc])
  sample.sort((a, b) => a - b)
  // There are 254 bounds; the class is the number of bounds that are not above the value, plus one.
  const bounds = Float64Array.from(
    { length: sample.length === 0 ? 0 : 254 },
    (_bound, i) => sample[Math.floor(((i + 1) * sample.length) / 255)]
  )
  const classes = new Uint8Array(segment.docs)
  for (let doc = 0; doc < classes.length; doc++) {
    if ((doc & CLASSES_STEP_MASK) === CLASSES_STEP_MASK) yield
    if (!hasBit(has, doc)) continue
    const value = sign * values[doc]
    classes[doc] = firstNotBefore(0, bounds.length, (at) => bounds[at] <= value) + 1
  }
  segment.derived.set(name, classes)
  return classes
}
/** Computes, in steps, the classes that searches used of the replaced segments, for the segment that replaces them. */
export function* preparingClasses(
  { segment }: SegmentView,
  field: string,
  replaced: ReadonlyArray<SegmentView>
): Generator<void, void> {
  const column = segment.docs < CLASSES_DOCS_MIN ? undefined : segment.numbers(field)
  if (column?.has === undefined || column.big !== undefined) return
  for (const sign of [1, -1]) {
    const name = classesName(sign, field)
    if (replaced.some((view) => view.segment.derived.get(name) instanceof Uint8Array))
      yield* makingClasses(segment, name, sign, column.values, column.has)
    for (const absent of [-Infinity, Infinity])
      yield* preparingMaxima(
        segment,
        field,
        { sign, first: column.values, has: column.has, absent },
        replaced.map((view) => view.segment)
      )
  }
}

/**
 * Decay functions (`docs/contract/sorting.md#decay`), in single precision so that scores equal the reference engine's.
 */
const decayed = ({ func, origin, scale, offset, decay }: Decay, value: number): number => {
  if (func === "diff") return Math.abs(origin - value) - offset
  const d = Math.max(0, Math.abs(origin - value) - offset)
  if (func === "gauss") return Math.fround(Math.exp((d * d * Math.log(decay)) / (scale * scale)))
  if (func === "exp") return Math.fround(Math.exp((d * Math.log(decay)) / scale))
  const s = scale / (1 - decay)
  return Math.fround(Math.max(0, (s - d) / s))
}

/** Metres from the nearest point of a document. */
const pointDistance_m = (segment: Segment, field: string, lat: number, lng: number, doc: number): number => {
  const column = segment.geo(field)
  let nearest = NOWHERE_M
  if (column !== undefined) spend((column.starts[doc + 1] - column.starts[doc]) * 8)
  if (column !== undefined)
    for (let p = column.starts[doc]; p < column.starts[doc + 1]; p++)
      nearest = Math.min(nearest, distance_m(lat, lng, column.coordinates[p * 2], column.coordinates[p * 2 + 1]))
  return nearest
}
/** Whole metres, rounded down; 0 within the excluded radius, as in the reference engine's recorded answers. */
export const shownDistance_m = (
  segment: Segment,
  key: { readonly field: string; readonly lat: number; readonly lng: number; readonly excludeRadius_m: number },
  doc: number
): number => {
  const distance = Math.floor(pointDistance_m(segment, key.field, key.lat, key.lng, doc))
  return key.excludeRadius_m > 0 && distance <= key.excludeRadius_m ? 0 : distance
}
const geoKey = (segment: Segment, key: Extract<SortKey, { kind: "geo" }>, doc: number): number => {
  const distance = shownDistance_m(segment, key, doc)
  return key.precision_m > 0 && distance < NOWHERE_M
    ? Math.floor((distance + key.precision_m - 1) / key.precision_m) * key.precision_m
    : distance
}

/**
 * A one-to-many reference takes the best value, for the direction, of those related documents that pass the filter's
 * join; documents without one are last.
 */
const joinKey = (inputs: SortInputs, key: Extract<SortKey, { kind: "join" }>, view: SegmentView): KeyColumn => {
  const other = inputs.scope.collection(key.collection)
  const relation = other === undefined ? undefined : relationOf(inputs.reader.schema, other.schema)
  if (other === undefined || relation === undefined) return single(() => -Infinity)
  const inner = { ...key.key, order: key.order } as SortKey
  const condition = joinedFilter(inputs.filter, relation, key.collection)
  const allowed = condition === undefined ? undefined : allowedDocuments(inputs.scope, other, condition)
  const evaluation = new FilterEvaluation(inputs.scope, other)
  const columns = new Map<SegmentView, KeyColumn>()
  const cells = new Float64Array(2)
  const best = (doc: number): { value: number; text: string | undefined } => {
    let value = -Infinity,
      text: string | undefined
    for (const { view: there, doc: target } of relatedDocs(inputs.reader, view, doc, other, relation)) {
      if (allowed !== undefined && !isAllowed(allowed, there, target)) continue
      let column = columns.get(there)
      if (column === undefined) {
        columns.set(
          there,
          (column = keyColumn(
            {
              ...inputs,
              reader: other,
              distances: undefined,
              fused: undefined,
              groupSize: undefined,
              filter: condition
            },
            evaluation,
            inner,
            noMatches(there),
            0
          ))
        )
      }
      column.write(target, cells, 0)
      if (cells[0] > value || (text === undefined && value === -Infinity)) {
        value = cells[0]
        text = column.text?.(target)
      }
    }
    return { value, text }
  }
  const isText = inner.kind === "field" && inner.type === "string"
  return {
    width: 1,
    write: (doc, into, at) => {
      into[at] = best(doc).value
    },
    ...(isText ? { text: (doc: number) => best(doc).text } : {})
  }
}

/** A repeatable random order derived from a seed (splitmix-style mixing of seed and insertion number). */
const randomOf = (seed: number, seq: number): number => {
  let x = Math.imul(seq + 0x9e3779b9, 0x85ebca6b) ^ Math.imul(seed | 0, 0xc2b2ae35)
  x = Math.imul(x ^ (x >>> 15), 0x2c1b3c6d)
  x = Math.imul(x ^ (x >>> 12), 0x297a2d39)
  return (x ^ (x >>> 15)) >>> 0
}
