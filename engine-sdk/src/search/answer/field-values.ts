/**
 * A field of a stored document as stages read it: from a column, if one holds the value as it was written, else from
 * the document. Vectors may be views into the segment and must not be changed.
 */
import { valueAt, type StoredDocument } from "../../documents/mod.ts"
import { hasBit } from "../../index/bits.ts"
import type { Segment } from "../../index/segment.ts"
import type { FieldValue } from "../../plan.ts"
import type { Field } from "../../schema.ts"
import { eachOrdinal } from "../../index/columns.ts"

/**
 * Reads one field of the documents of a segment. The stored document is read only if no column holds the value and it
 * was not read recently.
 */
export type FieldReader = (doc: number, document: StoredDocument) => FieldValue | undefined

/** Creates a reader that looks up the columns once, so that reading a window costs only its values. */
export const fieldReader = (segment: Segment, name: string, field: Field | undefined): FieldReader => {
  const vectors = segment.vectors(name)
  if (vectors !== undefined) return (doc) => (hasBit(vectors.has, doc) ? vectors.lasting(doc) : undefined)
  const column = field?.type === "string" || field?.type === "string[]" ? segment.values(name) : undefined
  if (column?.single !== undefined && field?.type === "string") {
    const { single, table } = column
    return (doc) => (single[doc] === 0 ? undefined : table.text(single[doc] - 1))
  }
  if (column !== undefined)
    return (doc) => {
      const values: string[] = []
      eachOrdinal(column, doc, (ordinal) => values.push(column.table.text(ordinal)))
      return values.length === 0 ? undefined : field?.type === "string" ? values[0] : values
    }
  const numbers = field?.type === "int32" || field?.type === "float" ? segment.numbers(name) : undefined
  if (numbers !== undefined) return (doc) => numbers.first(doc)
  const lately = readLately(segment, name),
    path = name.split("."),
    keys = path.length === 1 ? [name] : [name, path[0]]
  return (doc, document) =>
    lately.value(doc, () => {
      const picked = document.pick(keys)
      return stored(valueAt(Object.fromEntries(keys.map((key, i) => [key, picked[i]])), name, path).value)
    })
}

/**
 * Values of one field and segment that were read from documents. They are cached because parsing a document for one
 * field costs more than anything done with the value.
 */
class ReadLately {
  readonly #values = new Map<number, FieldValue | undefined>()
  /** Size for the index's memory accounting: UTF-16 units of texts, eight bytes for any other value. */ bytes = 0
  value(doc: number, read: () => FieldValue | undefined): FieldValue | undefined {
    if (this.#values.has(doc)) return this.#values.get(doc)
    const value = read()
    if (this.#values.size >= READ_LATELY_MAX || this.bytes >= READ_LATELY_BYTES) {
      this.#values.clear()
      this.bytes = 0
    }
    this.#values.set(doc, value)
    this.bytes += 32 + (typeof value === "string" ? value.length * 2 : Array.isArray(value) ? value.length * 16 : 8)
    return value
  }
}
const READ_LATELY_MAX = 20_000
const READ_LATELY_BYTES = 8_000_000
const readLately = (segment: Segment, name: string): ReadLately => {
  const key = `values read lately: ${name}`
  const known = segment.derived.get(key)
  if (known instanceof ReadLately) return known
  const fresh = new ReadLately()
  segment.derived.set(key, fresh)
  return fresh
}

const stored = (value: unknown): FieldValue | undefined => {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value
  if (typeof value === "bigint") return Number(value)
  return Array.isArray(value) &&
    value.every((item) => typeof item === "string" || typeof item === "number" || typeof item === "boolean")
    ? (value as ReadonlyArray<string | number | boolean>)
    : undefined
}
