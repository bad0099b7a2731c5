/**
 * Merges several segments into one, column by column and without reading a document's text again. It is a generator:
 * its driver decides how long a slice runs, so a merge never blocks a write or a search.
 */
import type { CollectionSchema } from "../schema.ts"
import { bitsOf, hasBit, setBit, type Bits } from "./bits.ts"
import { ByteLog, WordLog } from "./bytes.ts"
import {
  SPILLED,
  type GeoColumn,
  type NumberColumn,
  type SortColumn,
  type TextColumn,
  type ValueColumn,
  type VectorColumn
} from "./columns.ts"
import { documentOrder } from "./document-order.ts"
import { indexedFields, isArrayField, numberArray } from "./builders.ts"
import { putPostings } from "./text-builder.ts"
import { sortPairs } from "./radix-order.ts"
import { ordinalArray, SectionWriter, type Allocate, type Outside, type Region, type SegmentMeta } from "./sections.ts"
import { idSlotsOf, type Segment } from "./segment.ts"
import { mergeTables } from "./string-table.ts"

export const GONE = 0xffffffff
interface MergeSource {
  readonly segment: Segment
  readonly deleted: Bits | undefined
}
export interface Merged {
  readonly meta: SegmentMeta
  readonly region: Region
  /** Per source: the new number of each document, or GONE. */ readonly moved: ReadonlyArray<Uint32Array>
}

/** Postings between two chances to yield; a single common word has as many postings as there are documents. */
const POSTINGS_STEP = 4_096
/** Documents between two chances to yield, less one. */
const STEP_MASK = 16_383

interface Plan {
  readonly sources: ReadonlyArray<MergeSource>
  readonly moved: ReadonlyArray<Uint32Array>
  readonly docs: number
  /** By new number: the document's source, and its number there. */ readonly fromSource: Uint16Array
  readonly fromDoc: Uint32Array
  /** Whether documents of one source may be in a different order than in the source. */ readonly isReordered: boolean
}

/**
 * Cost: O(postings + values of the sources), plus sorting the postings if documents are reordered; yields every few
 * thousand steps. Documents keep the order of the sources in small segments (`document-order.ts`) and in one that is
 * soon merged again (`isPassing`).
 */
export function* mergeSegments(
  schema: CollectionSchema,
  sources: ReadonlyArray<MergeSource>,
  allocate: Allocate,
  isPassing = false,
  outside?: Outside
): Generator<void, Merged> {
  let docs = 0
  const moved: Uint32Array[] = []
  for (const { segment, deleted } of sources) {
    const map = new Uint32Array(segment.docs)
    for (let doc = 0; doc < segment.docs; doc++) {
      map[doc] = deleted !== undefined && hasBit(deleted, doc) ? GONE : docs++
      if ((doc & STEP_MASK) === STEP_MASK) yield
    }
    moved.push(map)
  }
  const segments = sources.map(({ segment }) => segment)
  const order = isPassing ? undefined : yield* documentOrder(schema, segments, moved, docs)
  if (order !== undefined) {
    const places = new Uint32Array(docs)
    for (let to = 0; to < docs; to++) {
      places[order[to]] = to
      if ((to & STEP_MASK) === STEP_MASK) yield
    }
    for (const map of moved)
      for (let doc = 0; doc < map.length; doc++) {
        if (map[doc] !== GONE) map[doc] = places[map[doc]]
        if ((doc & STEP_MASK) === STEP_MASK) yield
      }
  }
  const fromSource = new Uint16Array(docs),
    fromDoc = new Uint32Array(docs)
  for (let s = 0; s < moved.length; s++)
    for (let doc = 0; doc < moved[s].length; doc++) {
      const to = moved[s][doc]
      if (to !== GONE) {
        fromSource[to] = s
        fromDoc[to] = doc
      }
      if ((doc & STEP_MASK) === STEP_MASK) yield
    }
  const plan: Plan = { sources, moved, docs, fromSource, fromDoc, isReordered: order !== undefined }
  const out = new SectionWriter()
  yield* mergeIds(plan, out)
  const fields = indexedFields(schema)
  for (let at = 0; at < fields.length; at++) {
    const field = fields[at],
      isArray = isArrayField(field)
    const text = sources.map(({ segment }) => segment.text(field.name))
    if (text.some((column) => column !== undefined)) yield* mergeText(plan, out, `t${at}.`, text, isArray)
    const numbers = sources.map(({ segment }) => segment.numbers(field.name))
    if (numbers.some((column) => column !== undefined))
      yield* mergeNumbers(plan, out, `n${at}.`, numbers, isArray, (size) => numberArray(field, size))
    const values = sources.map(({ segment }) => segment.values(field.name))
    if (values.some((column) => column !== undefined)) yield* mergeValues(plan, out, `v${at}.`, values, isArray)
    const keys = sources.map(({ segment }) => segment.sortKeys(field.name))
    if (keys.some((column) => column !== undefined)) yield* mergeSortKeys(plan, out, `s${at}.`, keys)
    const geo = sources.map(({ segment }) => segment.geo(field.name))
    if (geo.some((column) => column !== undefined)) yield* mergeGeo(plan, out, `g${at}.`, geo)
    const vectors = sources.map(({ segment }) => segment.vectors(field.name))
    if (vectors.some((column) => column !== undefined))
      yield* mergeVectors(plan, out, `e${at}.`, vectors, field.num_dim)
    yield
  }
  return {
    ...(yield* out.finishing(
      docs,
      fields.map((field) => field.name),
      allocate,
      outside
    )),
    moved
  }
}

function* mergeIds(plan: Plan, out: SectionWriter): Generator<void, void> {
  const ids = new ByteLog(),
    offsets = new Uint32Array(plan.docs + 1),
    seqs = new Uint32Array(plan.docs)
  const idsOf = plan.sources.map(({ segment }) => ({
    bytes: segment.sections.u8("ids.bytes"),
    from: segment.sections.u32("ids.offsets"),
    seqs: segment.seqs
  }))
  for (let to = 0; to < plan.docs; to++) {
    if ((to & 8_191) === 8_191) yield
    const doc = plan.fromDoc[to],
      own = idsOf[plan.fromSource[to]]
    seqs[to] = own.seqs[doc]
    offsets[to + 1] = ids.copy(own.bytes, own.from[doc], own.from[doc + 1])
  }
  const bytes = ids.done()
  out.put("seqs", seqs)
  out.put("ids.bytes", bytes)
  out.put("ids.offsets", offsets)
  out.put("ids.slots", yield* idSlotsOf(bytes, offsets))
  yield
}

function* mergeText(
  plan: Plan,
  out: SectionWriter,
  prefix: string,
  columns: ReadonlyArray<TextColumn | undefined>,
  isArray: boolean
): Generator<void, void> {
  const present = columns.flatMap((column, s) => (column === undefined ? [] : [{ column, map: plan.moved[s], s }]))
  const keep: Array<Uint8Array | undefined> = []
  for (const source of present)
    keep.push(plan.sources[source.s].deleted === undefined ? undefined : yield* usedTerms(source))
  const table = yield* mergeTables(
    present.map(({ column }) => column.terms),
    keep
  )
  const postings = yield* mergePostings(plan, present, table)
  out.put(prefix + "terms.bytes", table.bytes)
  out.put(prefix + "terms.offsets", table.offsets)
  yield* putPostings(out, prefix, { table, ...postings })
  if (isArray) yield* mergeElements(plan, out, prefix, columns)
  else yield* mergeLengths(plan, out, prefix, present)
}
/** A column, and the new numbers of its documents. */
interface TextSource {
  readonly column: TextColumn
  readonly map: Plan["moved"][number]
  readonly s: number
}
/** Marks with 1 the terms of documents that are kept. */
function* usedTerms({ column, map }: TextSource): Generator<void, Uint8Array> {
  const used = new Uint8Array(column.terms.size)
  for (let term = 0; term < used.length; term++) {
    for (let p = column.starts[term]; p < column.starts[term + 1]; p++)
      if (map[column.docs[p]] !== GONE) {
        used[term] = 1
        break
      }
    if ((term & 4_095) === 4_095) yield
  }
  return used
}
function* mergePostings(
  plan: Plan,
  present: ReadonlyArray<TextSource>,
  table: { readonly offsets: Uint32Array; readonly moved: ReadonlyArray<Uint32Array> }
): Generator<void, Omit<Parameters<typeof putPostings>[2], "table">> {
  const terms = table.offsets.length - 1
  const inverse = present.map(({ column }, i) => {
    const back = new Uint32Array(terms).fill(GONE)
    for (let term = 0; term < column.terms.size; term++)
      if (table.moved[i][term] !== GONE) back[table.moved[i][term]] = term
    return back
  })
  const withBest = present.some(({ column }) => column.best !== undefined)
  const best = withBest ? new Float64Array(terms).fill(-Infinity) : undefined
  const most = present.reduce((total, { column }) => total + column.docs.length, 0)
  const starts = new Uint32Array(terms + 1),
    docs = new Uint32Array(most),
    locs = new Uint32Array(most)
  const spill = new Uint32Array(present.reduce((total, { column }) => total + column.spill.length, 0))
  let to = 0,
    spilled = 0,
    steps = POSTINGS_STEP
  for (let term = 0; term < terms; term++) {
    const begin = to
    for (let i = 0; i < present.length; i++) {
      const old = inverse[i][term]
      if (old === GONE) continue
      const { column, map } = present[i]
      if (best !== undefined && column.best !== undefined && column.best[old] > best[term])
        best[term] = column.best[old]
      const from = column.docs,
        places = column.locs
      for (let p = column.starts[old], end = column.starts[old + 1]; p < end; p++) {
        if (--steps === 0) {
          steps = POSTINGS_STEP
          yield
        }
        const doc = map[from[p]]
        if (doc === GONE) continue
        const loc = places[p]
        docs[to] = doc
        if (loc < SPILLED) locs[to++] = loc
        else {
          const at = loc - SPILLED
          locs[to++] = SPILLED | spilled
          for (let k = 0; k <= column.spill[at]; k++) spill[spilled++] = column.spill[at + k]
        }
      }
    }
    if (plan.isReordered && to - begin > 1) yield* sortPairs(docs, locs, begin, to)
    starts[term + 1] = to
    if ((term & 255) === 255) yield
  }
  return { best, starts, docs: docs.subarray(0, to), locs: locs.subarray(0, to), spill: spill.subarray(0, spilled) }
}
/** Merges the lengths of list elements. */
function* mergeElements(
  plan: Plan,
  out: SectionWriter,
  prefix: string,
  columns: ReadonlyArray<TextColumn | undefined>
): Generator<void, void> {
  const lengths = new WordLog(plan.docs + 1),
    elementStarts = new Uint32Array(plan.docs + 1)
  for (let to = 0; to < plan.docs; to++) {
    if ((to & STEP_MASK) === STEP_MASK) yield
    const doc = plan.fromDoc[to],
      column = columns[plan.fromSource[to]]
    if (column?.elementStarts !== undefined)
      for (let e = column.elementStarts[doc]; e < column.elementStarts[doc + 1]; e++)
        lengths.push(column.elementLengths![e])
    elementStarts[to + 1] = lengths.length
  }
  out.put(prefix + "elementStarts", elementStarts)
  out.put(prefix + "elementLengths", Uint16Array.from(lengths.done()))
}
/** Merges the lengths of single texts. */
function* mergeLengths(
  plan: Plan,
  out: SectionWriter,
  prefix: string,
  present: ReadonlyArray<TextSource>
): Generator<void, void> {
  const lengths = new Uint16Array(plan.docs)
  for (const { column, map } of present)
    for (let doc = 0; doc < map.length; doc++) {
      if (map[doc] !== GONE) lengths[map[doc]] = column.lengths![doc]
      if ((doc & STEP_MASK) === STEP_MASK) yield
    }
  out.put(prefix + "lengths", lengths)
}

function* mergeNumbers(
  plan: Plan,
  out: SectionWriter,
  prefix: string,
  columns: ReadonlyArray<NumberColumn | undefined>,
  isArray: boolean,
  make: (size: number) => Int32Array | Float32Array | Float64Array | Uint8Array
): Generator<void, void> {
  const isBig = columns.some((column) => column?.big !== undefined)
  let size = plan.docs
  if (isArray) {
    size = 0
    columns.forEach((column, s) => {
      if (column !== undefined)
        for (let doc = 0; doc < plan.moved[s].length; doc++)
          if (plan.moved[s][doc] !== GONE) size += column.starts![doc + 1] - column.starts![doc]
    })
  }
  const values = make(size),
    big = isBig ? new BigInt64Array(size) : undefined
  const has = isArray ? undefined : bitsOf(plan.docs),
    starts = isArray ? new Uint32Array(plan.docs + 1) : undefined
  let at = 0
  for (let to = 0; to < plan.docs; to++) {
    if ((to & STEP_MASK) === STEP_MASK) yield
    const doc = plan.fromDoc[to],
      column = columns[plan.fromSource[to]]
    if (starts !== undefined) {
      if (column !== undefined)
        for (let v = column.starts![doc]; v < column.starts![doc + 1]; v++, at++) {
          values[at] = column.values[v]
          if (big !== undefined) big[at] = column.big === undefined ? BigInt(column.values[v]) : column.big[v]
        }
      starts[to + 1] = at
    } else if (column !== undefined && hasBit(column.has!, doc)) {
      values[to] = column.values[doc]
      if (big !== undefined) big[to] = column.big === undefined ? BigInt(column.values[doc]) : column.big[doc]
      setBit(has!, to)
    }
  }
  out.put(prefix + "values", values)
  if (big !== undefined) out.put(prefix + "big", big)
  if (has !== undefined) out.put(prefix + "has", has)
  if (starts !== undefined) out.put(prefix + "starts", starts)
}

function* mergeValues(
  plan: Plan,
  out: SectionWriter,
  prefix: string,
  columns: ReadonlyArray<ValueColumn | undefined>,
  isArray: boolean
): Generator<void, void> {
  const present = columns.flatMap((column, s) => (column === undefined ? [] : [{ column, map: plan.moved[s], s }]))
  const keep = present.map(({ column, map, s }) => {
    if (plan.sources[s].deleted === undefined) return undefined
    const used = new Uint8Array(column.table.size)
    for (let doc = 0; doc < map.length; doc++) {
      if (map[doc] === GONE) continue
      if (column.single !== undefined) {
        if (column.single[doc] !== 0) used[column.single[doc] - 1] = 1
      } else for (let v = column.starts![doc]; v < column.starts![doc + 1]; v++) used[column.ordinals![v]] = 1
    }
    return used
  })
  const table = yield* mergeTables(
    present.map(({ column }) => column.table),
    keep
  )
  out.put(prefix + "table.bytes", table.bytes)
  out.put(prefix + "table.offsets", table.offsets)
  const movedAt = new Map(present.map(({ s }, i) => [s, table.moved[i]]))
  if (!isArray) {
    const single = ordinalArray(plan.docs, table.offsets.length - 1)
    for (const { column, map, s } of present) {
      const ordinal = movedAt.get(s)!,
        from = column.single!
      for (let doc = 0; doc < map.length; doc++) {
        if (map[doc] !== GONE && from[doc] !== 0) single[map[doc]] = ordinal[from[doc] - 1] + 1
        if ((doc & STEP_MASK) === STEP_MASK) yield
      }
    }
    out.put(prefix + "single", single)
    return
  }
  const starts = new Uint32Array(plan.docs + 1),
    ordinals = new WordLog(plan.docs + 1)
  for (let to = 0; to < plan.docs; to++) {
    if ((to & STEP_MASK) === STEP_MASK) yield
    const s = plan.fromSource[to],
      doc = plan.fromDoc[to],
      column = columns[s]
    if (column !== undefined) {
      const ordinal = movedAt.get(s)!
      for (let v = column.starts![doc]; v < column.starts![doc + 1]; v++) ordinals.push(ordinal[column.ordinals![v]])
    }
    starts[to + 1] = ordinals.length
  }
  out.put(prefix + "starts", starts)
  out.put(prefix + "ordinals", ordinals.done())
}

function* mergeSortKeys(
  plan: Plan,
  out: SectionWriter,
  prefix: string,
  columns: ReadonlyArray<SortColumn | undefined>
): Generator<void, void> {
  const present = columns.flatMap((column, s) => (column === undefined ? [] : [{ column, map: plan.moved[s], s }]))
  const keep = present.map(({ column, map, s }) => {
    if (plan.sources[s].deleted === undefined) return undefined
    const used = new Uint8Array(column.table.size)
    for (let doc = 0; doc < map.length; doc++)
      if (map[doc] !== GONE && column.ordinals[doc] !== 0) used[column.ordinals[doc] - 1] = 1
    return used
  })
  const table = yield* mergeTables(
    present.map(({ column }) => column.table),
    keep
  )
  const ordinals = new Uint32Array(plan.docs)
  for (let i = 0; i < present.length; i++) {
    const { column, map } = present[i],
      ordinal = table.moved[i]
    for (let doc = 0; doc < map.length; doc++) {
      if (map[doc] !== GONE && column.ordinals[doc] !== 0) ordinals[map[doc]] = ordinal[column.ordinals[doc] - 1] + 1
      if ((doc & STEP_MASK) === STEP_MASK) yield
    }
  }
  out.put(prefix + "table.bytes", table.bytes)
  out.put(prefix + "table.offsets", table.offsets)
  out.put(prefix + "ordinals", ordinals)
}

function* mergeGeo(
  plan: Plan,
  out: SectionWriter,
  prefix: string,
  columns: ReadonlyArray<GeoColumn | undefined>
): Generator<void, void> {
  const starts = new Uint32Array(plan.docs + 1),
    coordinates: number[] = []
  for (let to = 0; to < plan.docs; to++) {
    if ((to & STEP_MASK) === STEP_MASK) yield
    const doc = plan.fromDoc[to],
      column = columns[plan.fromSource[to]]
    if (column !== undefined)
      for (let p = column.starts[doc]; p < column.starts[doc + 1]; p++)
        coordinates.push(column.coordinates[p * 2], column.coordinates[p * 2 + 1])
    starts[to + 1] = coordinates.length / 2
  }
  out.put(prefix + "starts", starts)
  out.put(prefix + "coordinates", Float64Array.from(coordinates))
}

function* mergeVectors(
  plan: Plan,
  out: SectionWriter,
  prefix: string,
  columns: ReadonlyArray<VectorColumn | undefined>,
  dimensions: number
): Generator<void, void> {
  const has = bitsOf(plan.docs)
  for (let s = 0; s < columns.length; s++) {
    const column = columns[s],
      map = plan.moved[s]
    if (column === undefined) continue
    for (let doc = 0; doc < map.length; doc++) {
      if ((doc & STEP_MASK) === STEP_MASK) yield
      if (map[doc] !== GONE && hasBit(column.has, doc)) setBit(has, map[doc])
    }
  }
  out.putRows(prefix + "values", {
    width: dimensions,
    count: plan.docs,
    fill: (piece, from) => {
      for (let at = 0, to = from; at < piece.length; at += dimensions, to++)
        if (hasBit(has, to)) piece.set(columns[plan.fromSource[to]]!.vector(plan.fromDoc[to]), at)
    }
  })
  out.put(prefix + "has", has)
}
