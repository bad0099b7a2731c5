/**
 * Collects documents and turns them into the bytes of a segment. Tokenizing happens as documents arrive, so that a long
 * import spreads its work; `finish` sorts vocabularies and lays the columns out.
 */
import { analyzerOf } from "../analysis/analyzer.ts"
import { type Dictionaries } from "../analysis/tokens.ts"
import { asciiSortKey, sortKeyOfString } from "../analysis/sort-key.ts"
import type { CollectionSchema, Field } from "../schema.ts"
import type { IndexValue, IndexValues } from "../documents/mod.ts"
import { bitsOf, setBit } from "./bits.ts"
import { ByteLog, NumberLog, WordLog } from "./bytes.ts"
import { SectionWriter, type Allocate, type Outside, type Region, type SegmentMeta } from "./sections.ts"
import { idSlotsOf } from "./segment.ts"
import { TokenTable } from "./token-table.ts"
import { ascii, TextBuilder } from "./text-builder.ts"
import { type ColumnBuilder, ValueBuilder } from "./value-builder.ts"

class NumberBuilder implements ColumnBuilder {
  private readonly docsOf = new WordLog()
  private readonly values = new NumberLog()
  /** Integers that arrived as bigint, by their index: a double cannot hold them exactly. */
  private readonly bigints = new Map<number, bigint>()
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
/** The narrowest array that holds the field's type exactly (doubles for int64 values within 53 bits). */
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
    // Points are stored with six decimals (`docs/contract/collections.md#types`); polygons as given.
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
  /** Pairs of a document and the number of its key. */ private readonly log = new WordLog()
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
    // Documents are in ascending order, and chunks of rows are requested in order.
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
/** Fields of a schema that have columns: indexed, typed, and not a pattern. */
export const indexedFields = (schema: CollectionSchema): Field[] =>
  schema.fields.filter(
    (field) =>
      field.index &&
      !field.name.includes(".*") &&
      (isText(field) || isNumber(field) || field.type.startsWith("geo") || field.num_dim > 0)
  )

/** The documents of one segment that is being built. */
export class SegmentBuilder {
  private readonly seqs = new WordLog()
  private readonly ids = new ByteLog()
  private readonly idOffsets = new WordLog()
  private readonly scores = new NumberLog()
  private readonly scoreField: string
  /** `fillers` receive the values; the builder of a text also fills the builder of its verbatim values. */
  private readonly columns: Array<{ field: string; builders: ColumnBuilder[]; fillers: ColumnBuilder[] }> = []
  private readonly names: string[] = []
  docs = 0
  constructor(schema: CollectionSchema, dictionaries?: Dictionaries) {
    this.idOffsets.push(0)
    this.scoreField = schema.default_sorting_field
    this.extend(schema, dictionaries)
  }
  /** Adds fields that a document introduced; existing columns stay. */
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
  /** Returns the document's number in the segment. Cost: tokenizing its texts. */
  add(seq: number, id: string, values: IndexValues): number {
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
  /** Lays out everything in one go. The builder cannot be used afterwards. */
  finish(allocate: Allocate): { meta: SegmentMeta; region: Region } {
    const work = this.finishing(allocate)
    for (;;) {
      const step = work.next()
      if (step.done === true) return step.value
    }
  }
  /**
   * Like `finish`, yielding after every column. A started generator must run to its end (`SectionWriter.finishing`).
   */
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
