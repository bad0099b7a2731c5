/**
 * Collects documents and turns them into the bytes of a segment. Tokenising happens as documents arrive, so that a long
 * import spreads its work; `finish` sorts vocabularies and lays the columns out.
 */
import { analyzerOf, asciiSortKey, sortKeyOfString, type Analyzer, type Dictionaries } from "../analysis/analyzer.ts"
import type { CollectionSchema, Field } from "../schema.ts"
import type { IndexValue } from "../documents/mod.ts"
import { AsciiTokens } from "../analysis/ascii-tokens.ts"
import { bitsOf, setBit } from "./bits.ts"
import { ByteLog, NumberLog, WordLog } from "./bytes.ts"
import { SPILLED } from "./columns.ts"
import { ordinalArray, SectionWriter, type Allocate, type Outside, type Region, type SegmentMeta } from "./sections.ts"
import { idSlotsOf } from "./segment.ts"
import { TokenTable } from "./token-table.ts"

const POSITION_MAX = 0xffff
const ELEMENT_MAX = 0x7fff

interface ColumnBuilder {
  add(doc: number, value: IndexValue): void
  finish(out: SectionWriter, at: number, docs: number): void | Generator<void, void>
}

const SHARED_STEP = 8_192
/** Bytes that a term shares with the one before it. Yields every few thousand. */
export function* sharing(bytes: Uint8Array, offsets: Uint32Array): Generator<void, Uint8Array> {
  const shared = new Uint8Array(Math.max(0, offsets.length - 1))
  for (let term = 1; term < shared.length; term++) {
    const a = offsets[term - 1],
      b = offsets[term]
    const most = Math.min(b - a, offsets[term + 1] - b, 255)
    let n = 0
    while (n < most && bytes[a + n] === bytes[b + n]) n++
    shared[term] = n
    if (term % SHARED_STEP === 0) yield
  }
  return shared
}
/** The same at once, for tables that are small or made aside. */
export const sharedPrefixes = (bytes: Uint8Array, offsets: Uint32Array): Uint8Array => {
  const work = sharing(bytes, offsets)
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}
/** What follows the terms of a text column, in the order the column reads it. */
export function* putPostings(
  out: SectionWriter,
  prefix: string,
  postings: {
    readonly table: { readonly bytes: Uint8Array; readonly offsets: Uint32Array }
    readonly best: Float64Array | undefined
    readonly starts: Uint32Array
    readonly docs: Uint32Array
    readonly locs: Uint32Array
    readonly spill: Uint32Array
  }
): Generator<void, void> {
  out.put(prefix + "shared", yield* sharing(postings.table.bytes, postings.table.offsets))
  if (postings.best !== undefined) out.put(prefix + "best", postings.best)
  out.put(prefix + "starts", postings.starts)
  out.put(prefix + "docs", postings.docs)
  out.put(prefix + "locs", postings.locs)
  out.put(prefix + "spill", postings.spill)
}

/** Builders fill one at a time. */
const ascii = new AsciiTokens()
class TextBuilder implements ColumnBuilder {
  private readonly ids = new TokenTable()
  private readonly log = new WordLog(96)
  /** (document, tokens) for plain fields; per element for arrays, with a start per document. */
  private readonly lengths = new WordLog()
  private readonly analyzer: Analyzer
  private readonly isArray: boolean
  private readonly scores: NumberLog | undefined
  /**
   * The same field's verbatim values, filled from here: a facet's few texts are numbered once and read for words once.
   */
  private readonly values: ValueBuilder | undefined
  /** Where the word numbers of each value begin in `known`. */ private readonly knownStarts = new WordLog()
  private readonly known = new WordLog()
  constructor(analyzer: Analyzer, isArray: boolean, scores: NumberLog | undefined, values: ValueBuilder | undefined) {
    this.analyzer = analyzer
    this.isArray = isArray
    this.scores = scores
    this.values = values
    this.knownStarts.push(0)
  }
  add(doc: number, value: IndexValue): void {
    if (typeof value === "string") this.element(doc, 0, value)
    else if (Array.isArray(value))
      for (let i = 0; i < value.length; i++) this.element(doc, Math.min(i, ELEMENT_MAX), String(value[i]))
  }
  private element(doc: number, element: number, text: string): void {
    if (this.values === undefined) {
      this.words(doc, element, text)
      return
    }
    const value = this.values.text(doc, text)
    const { known, knownStarts, log } = this
    if (value + 1 === knownStarts.length) {
      const from = log.length
      this.words(doc, element, text)
      for (let at = from; at < log.length; at += 3) known.push(log.words[at])
      knownStarts.push(known.length)
      return
    }
    const start = knownStarts.words[value],
      count = knownStarts.words[value + 1] - start
    log.reserve(count * 3)
    const { words } = log
    let at = log.length
    for (let position = 0; position < count; position++, at += 3) {
      words[at] = known.words[start + position]
      words[at + 1] = doc
      words[at + 2] = element * 0x10000 + (position < POSITION_MAX ? position : POSITION_MAX)
    }
    log.length = at
    this.lengths.push(doc)
    this.lengths.push(count < POSITION_MAX ? count : POSITION_MAX)
  }
  private words(doc: number, element: number, text: string): void {
    const { ids, log } = this
    const tokens = this.analyzer.asciiTokens(text, ascii) ? undefined : this.analyzer.tokenize(text)
    const count = tokens === undefined ? ascii.count : tokens.length
    log.reserve(count * 3)
    const { words } = log
    const { bytes, ends, hashes } = ascii
    let at = log.length
    for (let position = 0, start = 0; position < count; position++) {
      if (tokens === undefined) {
        words[at] = ids.idOf(bytes, start, ends[position], hashes[position])
        start = ends[position]
      } else words[at] = ids.idOfText(tokens[position])
      words[at + 1] = doc
      words[at + 2] = element * 0x10000 + (position < POSITION_MAX ? position : POSITION_MAX)
      at += 3
    }
    log.length = at
    this.lengths.push(doc)
    this.lengths.push(Math.min(count, POSITION_MAX))
  }
  *finish(out: SectionWriter, at: number, docs: number): Generator<void, void> {
    const prefix = `t${at}.`
    const table = this.ids.put(out, prefix + "terms.")
    yield
    const { rank } = table,
      size = rank.length
    const entries = this.log.length / 3
    const words = this.log.words
    // Counting sort by term; entries arrive in document order and stay in it.
    const begin = new Uint32Array(size + 1)
    for (let e = 0; e < entries; e++) begin[rank[words[e * 3]] + 1]++
    for (let t = 0; t < size; t++) begin[t + 1] += begin[t]
    const sortedDocs = new Uint32Array(entries),
      sortedPlaces = new Uint32Array(entries)
    const next = begin.slice()
    for (let e = 0, at = 0; e < entries; e++, at += 3) {
      const to = next[rank[words[at]]]++
      sortedDocs[to] = words[at + 1]
      sortedPlaces[to] = words[at + 2]
    }
    yield
    const starts = new Uint32Array(size + 1)
    // Postings are written over the sorted entries that they are made of: there are never more of them.
    const docsOut = sortedDocs,
      locs = sortedPlaces,
      spill = new WordLog(16)
    const best = this.scores === undefined ? undefined : new Float64Array(size).fill(-Infinity)
    let to = 0
    for (let t = 0; t < size; t++) {
      const end = begin[t + 1]
      for (let i = begin[t]; i < end;) {
        const doc = sortedDocs[i]
        let j = i + 1
        while (j < end && sortedDocs[j] === doc) j++
        if (j === i + 1) locs[to] = sortedPlaces[i]
        else {
          const spilled = spill.length
          spill.push(j - i)
          for (let k = i; k < j; k++) spill.push(sortedPlaces[k])
          locs[to] = SPILLED | spilled
        }
        docsOut[to++] = doc
        if (best !== undefined && this.scores!.numbers[doc] > best[t]) best[t] = this.scores!.numbers[doc]
        i = j
      }
      starts[t + 1] = to
    }
    yield
    yield* putPostings(out, prefix, {
      table,
      best,
      starts,
      docs: docsOut.subarray(0, to),
      locs: locs.subarray(0, to),
      spill: spill.done()
    })
    if (this.isArray) {
      const elementStarts = new Uint32Array(docs + 1),
        elementLengths = new Uint16Array(this.lengths.length / 2)
      for (let e = 0; e < elementLengths.length; e++) {
        elementStarts[this.lengths.words[e * 2] + 1]++
        elementLengths[e] = this.lengths.words[e * 2 + 1]
      }
      for (let d = 0; d < docs; d++) elementStarts[d + 1] += elementStarts[d]
      out.put(prefix + "elementStarts", elementStarts)
      out.put(prefix + "elementLengths", elementLengths)
    } else {
      const lengths = new Uint16Array(docs)
      for (let e = 0; e < this.lengths.length; e += 2) lengths[this.lengths.words[e]] = this.lengths.words[e + 1]
      out.put(prefix + "lengths", lengths)
    }
  }
}

/** Shortest decimal text of a number that is kept in 32-bit precision. */
export const floatText = (value: number): string => {
  const kept = Math.fround(value)
  // Prices and ratings: two decimals within the six digits that single precision always keeps.
  const cents = Math.round(kept * 100) / 100
  if (cents > -10_000 && cents < 10_000 && Math.fround(cents) === kept) return String(cents)
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(kept.toPrecision(digits))
    if (Math.fround(short) === kept) return String(short)
  }
  return String(Number(kept.toPrecision(9)))
}
const valueText = (value: unknown, field: Field): string =>
  typeof value === "string"
    ? value
    : typeof value === "number" && field.type.startsWith("float")
      ? floatText(value)
      : String(value)

class ValueBuilder implements ColumnBuilder {
  private readonly ids = new TokenTable()
  /** Numbers seen so far, so that their text is made once. */ private readonly numbers = new Map<number, number>()
  private readonly log = new WordLog()
  private readonly field: Field
  private readonly isArray: boolean
  constructor(field: Field, isArray: boolean) {
    this.field = field
    this.isArray = isArray
  }
  add(doc: number, value: IndexValue): void {
    if (Array.isArray(value)) for (const one of value) this.one(doc, one)
    else this.one(doc, value)
  }
  private one(doc: number, value: unknown): void {
    if (typeof value !== "number") {
      this.text(doc, valueText(value, this.field))
      return
    }
    const known = this.numbers.get(value)
    if (known === undefined) {
      this.numbers.set(value, this.text(doc, valueText(value, this.field)))
      return
    }
    this.log.push(doc)
    this.log.push(known)
  }
  /** Answers the text's number, in the order in which texts came. */
  text(doc: number, text: string): number {
    const id = this.ids.idOfText(text)
    this.log.push(doc)
    this.log.push(id)
    return id
  }
  finish(out: SectionWriter, at: number, docs: number): void {
    const prefix = `v${at}.`
    const { rank } = this.ids.put(out, prefix + "table.")
    const { words, length } = this.log
    if (!this.isArray) {
      const single = ordinalArray(docs, rank.length)
      for (let i = 0; i < length; i += 2) single[words[i]] = rank[words[i + 1]] + 1
      out.put(prefix + "single", single)
      return
    }
    const starts = new Uint32Array(docs + 1),
      ordinals = new Uint32Array(length / 2)
    for (let i = 0; i < length; i += 2) {
      starts[words[i] + 1]++
      ordinals[i / 2] = rank[words[i + 1]]
    }
    for (let d = 0; d < docs; d++) starts[d + 1] += starts[d]
    out.put(prefix + "starts", starts)
    out.put(prefix + "ordinals", ordinals)
  }
}

class NumberBuilder implements ColumnBuilder {
  private readonly docsOf = new WordLog()
  private readonly values = new NumberLog()
  /** Integers that came as such, by their place: what a double does not hold. */ private readonly bigints = new Map<
    number,
    bigint
  >()
  private isBig = false
  private readonly field: Field
  private readonly isArray: boolean
  private readonly isLong: boolean
  constructor(field: Field, isArray: boolean) {
    this.field = field
    this.isArray = isArray
    this.isLong = field.type.startsWith("int64")
  }
  add(doc: number, value: IndexValue): void {
    if (Array.isArray(value)) for (const one of value) this.one(doc, one)
    else this.one(doc, value)
  }
  private one(doc: number, value: unknown): void {
    if (typeof value === "bigint") {
      this.bigints.set(this.values.length, value)
      if (value > 9007199254740991n || value < -9007199254740991n) this.isBig = true
    }
    const number = typeof value === "number" ? value : Number(value)
    if (this.isLong && typeof value === "number" && !Number.isSafeInteger(value)) this.isBig = true
    this.docsOf.push(doc)
    this.values.push(number)
  }
  finish(out: SectionWriter, at: number, docs: number): void {
    const prefix = `n${at}.`
    const size = this.isArray ? this.values.length : docs
    const array = numberArray(this.field, size)
    const big = this.isBig ? new BigInt64Array(size) : undefined
    const has = this.isArray ? undefined : bitsOf(docs)
    const { length, numbers } = this.values,
      { words } = this.docsOf
    for (let i = 0; i < length; i++) {
      const slot = this.isArray ? i : words[i]
      array[slot] = numbers[i]
      if (big !== undefined) big[slot] = this.bigints.get(i) ?? BigInt(numbers[i])
      if (has !== undefined) setBit(has, slot)
    }
    out.put(prefix + "values", array)
    if (big !== undefined) out.put(prefix + "big", big)
    if (has !== undefined) out.put(prefix + "has", has)
    else out.put(prefix + "starts", startsOf(this.docsOf.done(), docs))
  }
}
/** The narrowest array that holds the field's type exactly (int64 within 53 bits: doubles). */
export const numberArray = (field: Field, size: number): Int32Array | Float32Array | Float64Array | Uint8Array => {
  if (field.type.startsWith("bool")) return new Uint8Array(size)
  if (field.type.startsWith("int32")) return new Int32Array(size)
  return field.type.startsWith("float") ? new Float32Array(size) : new Float64Array(size)
}
const startsOf = (docsOf: Uint32Array, docs: number): Uint32Array => {
  const starts = new Uint32Array(docs + 1)
  for (const doc of docsOf) starts[doc + 1]++
  for (let d = 0; d < docs; d++) starts[d + 1] += starts[d]
  return starts
}

class GeoBuilder implements ColumnBuilder {
  private readonly docsOf = new WordLog()
  private readonly coordinates: number[] = []
  private readonly isPolygon: boolean
  constructor(isPolygon: boolean) {
    this.isPolygon = isPolygon
  }
  add(doc: number, value: IndexValue): void {
    const list = value as ReadonlyArray<unknown>
    if (Array.isArray(list[0]))
      for (const point of list as ReadonlyArray<readonly [number, number]>) this.point(doc, point[0], point[1])
    else for (let i = 0; i + 1 < list.length; i += 2) this.point(doc, list[i] as number, list[i + 1] as number)
  }
  private point(doc: number, lat: number, lng: number): void {
    this.docsOf.push(doc)
    // Points are kept with six decimals (`docs/contract/collections.md#types`); polygons as given.
    if (this.isPolygon) this.coordinates.push(lat, lng)
    else this.coordinates.push(Math.trunc(lat * 1e6) / 1e6, Math.trunc(lng * 1e6) / 1e6)
  }
  finish(out: SectionWriter, at: number, docs: number): void {
    out.put(`g${at}.starts`, startsOf(this.docsOf.done(), docs))
    out.put(`g${at}.coordinates`, Float64Array.from(this.coordinates))
  }
}

class SortBuilder implements ColumnBuilder {
  private readonly ids = new TokenTable()
  /** (document, number of its key) */ private readonly log = new WordLog()
  add(doc: number, value: IndexValue): void {
    if (typeof value !== "string") return
    let id: number
    if (asciiSortKey(value, ascii)) {
      if (ascii.count === 0) return
      id = this.ids.idOf(ascii.bytes, 0, ascii.ends[0], ascii.hashes[0])
    } else {
      const key = sortKeyOfString(value)
      if (key === "") return
      id = this.ids.idOfText(key)
    }
    this.log.push(doc)
    this.log.push(id)
  }
  finish(out: SectionWriter, at: number, docs: number): void {
    const { rank } = this.ids.put(out, `s${at}.table.`)
    const { length, words } = this.log
    const ordinals = new Uint32Array(docs)
    for (let i = 0; i < length; i += 2) ordinals[words[i]] = rank[words[i + 1]] + 1
    out.put(`s${at}.ordinals`, ordinals)
  }
}

class VectorBuilder implements ColumnBuilder {
  private readonly docsOf: number[] = []
  private readonly vectors: Array<ReadonlyArray<number>> = []
  private readonly dimensions: number
  constructor(dimensions: number) {
    this.dimensions = dimensions
  }
  add(doc: number, value: IndexValue): void {
    const vector = value as ReadonlyArray<number>
    if (!Array.isArray(vector) || vector.length !== this.dimensions) return
    this.docsOf.push(doc)
    this.vectors.push(vector)
  }
  finish(out: SectionWriter, at: number, docs: number): void {
    const { dimensions, docsOf, vectors } = this,
      has = bitsOf(docs)
    for (const doc of docsOf) setBit(has, doc)
    // Documents come in ascending order, and pieces are asked for in order.
    let next = 0
    out.putRows(`e${at}.values`, {
      width: dimensions,
      count: docs,
      fill: (piece, from) => {
        if (from === 0) next = 0
        for (const to = from + piece.length / dimensions; next < docsOf.length && docsOf[next] < to; next++)
          piece.set(vectors[next], (docsOf[next] - from) * dimensions)
      }
    })
    out.put(`e${at}.has`, has)
  }
}

const isText = (field: Field): boolean => field.type === "string" || field.type === "string[]"
const isNumber = (field: Field): boolean => /^(int32|int64|float|bool)(\[\])?$/.test(field.type) && field.num_dim === 0
export const isArrayField = (field: Field): boolean => field.type.endsWith("[]") || field.nested_array === true
/** Fields of a schema that carry columns: indexed, typed, and not a pattern. */
export const indexedFields = (schema: CollectionSchema): Field[] =>
  schema.fields.filter(
    (field) =>
      field.index &&
      !field.name.includes(".*") &&
      (isText(field) || isNumber(field) || field.type.startsWith("geo") || field.num_dim > 0)
  )

/** Documents on their way into one segment. */
export class SegmentBuilder {
  private readonly seqs = new WordLog()
  private readonly ids = new ByteLog()
  private readonly idOffsets = new WordLog()
  private readonly scores = new NumberLog()
  private readonly scoreField: string
  /** `fillers` take values in; a text's builder fills the one of its verbatim values. */
  private readonly columns: Array<{ field: string; builders: ColumnBuilder[]; fillers: ColumnBuilder[] }> = []
  private readonly names: string[] = []
  docs = 0
  constructor(schema: CollectionSchema, dictionaries?: Dictionaries) {
    this.idOffsets.push(0)
    this.scoreField = schema.default_sorting_field
    this.extend(schema, dictionaries)
  }
  /** Takes in fields that a document brought along; columns that exist stay. */
  extend(schema: CollectionSchema, dictionaries?: Dictionaries): void {
    for (const field of indexedFields(schema)) {
      if (this.names.includes(field.name)) continue
      const isArray = isArrayField(field)
      const builders: ColumnBuilder[] = []
      const values = field.facet && (isText(field) || isNumber(field)) ? new ValueBuilder(field, isArray) : undefined
      if (isText(field))
        builders.push(
          new TextBuilder(
            analyzerOf(schema, field, dictionaries),
            isArray,
            this.scoreField === "" ? undefined : this.scores,
            values
          )
        )
      if (isNumber(field)) builders.push(new NumberBuilder(field, isArray))
      if (values !== undefined) builders.push(values)
      if (field.type === "string" && field.sort) builders.push(new SortBuilder())
      if (field.type.startsWith("geo")) builders.push(new GeoBuilder(field.type === "geopolygon"))
      if (field.num_dim > 0) builders.push(new VectorBuilder(field.num_dim))
      this.names.push(field.name)
      this.columns.push({
        field: field.name,
        builders,
        fillers: isText(field) && values !== undefined ? builders.filter((builder) => builder !== values) : builders
      })
    }
  }
  /** Answers the document's number in the segment. Cost: tokenising its texts. */
  add(seq: number, id: string, values: ReadonlyMap<string, IndexValue>): number {
    const doc = this.docs++
    this.seqs.push(seq)
    this.ids.text(id)
    this.idOffsets.push(this.ids.length)
    const score = this.scoreField === "" ? 0 : values.get(this.scoreField)
    this.scores.push(
      typeof score === "number" || typeof score === "bigint" || typeof score === "boolean" ? Number(score) : 0
    )
    for (const { field, fillers } of this.columns) {
      const value = values.get(field)
      if (value === undefined) continue
      for (const builder of fillers) builder.add(doc, value)
    }
    return doc
  }
  /** Lays everything out at once. The builder is spent afterwards. */
  finish(allocate: Allocate): { meta: SegmentMeta; region: Region } {
    const work = this.finishing(allocate)
    for (;;) {
      const step = work.next()
      if (step.done === true) return step.value
    }
  }
  /** The same, giving way after every column. Whoever begins it must end it (`SectionWriter.finishing`). */
  *finishing(allocate: Allocate, outside?: Outside): Generator<void, { meta: SegmentMeta; region: Region }> {
    const out = new SectionWriter()
    const idBytes = this.ids.done(),
      idOffsets = this.idOffsets.done()
    out.put("seqs", this.seqs.done())
    out.put("ids.bytes", idBytes)
    out.put("ids.offsets", idOffsets)
    out.put("ids.slots", yield* idSlotsOf(idBytes, idOffsets))
    for (let at = 0; at < this.columns.length; at++)
      for (const builder of this.columns[at].builders) {
        const work = builder.finish(out, at, this.docs)
        if (work !== undefined) yield* work
        yield
      }
    return yield* out.finishing(this.docs, this.names, allocate, outside)
  }
}
