/**
 * Fields of a collection to typed places of an index: an index that collections share has as many places as it was made
 * with, however many names tenants invent. Pure.
 */
import { isArrayField, indexedFields } from "../index/builders.ts"
import { DEFAULT_VECTOR_PARAMS, type CollectionSchema, type Field } from "../schema.ts"

/**
 * `t` words (each with a list of them), `k` whole texts, `n` doubles, `l` integers of 64 bits, `b` booleans, `g`
 * points, `v` vectors.
 */
export type SlotKind = "t" | "k" | "n" | "l" | "b" | "g" | "v"
/** Places of a shared index, of each kind. Vectors have none there: one of another length needs another place. */
export const POOL_SLOTS: Readonly<Record<SlotKind, number>> = { t: 32, k: 96, n: 48, l: 16, b: 24, g: 4, v: 0 }

/** A place for vectors, with all that the cluster must know of them beforehand. */
export interface VectorSlot {
  readonly name: string
  readonly dimensions: number
  readonly metric: "cosine" | "ip"
  readonly M: number
  readonly ef_construction: number
}
/** Where a field's values are stored; kinds that it lacks are absent. */
interface FieldSlots {
  /** Words, for searching and `:`. */ readonly words?: string
  /** The words of a whole value, for `:=`. */ readonly whole?: string
  /** The value as it is written, for facets and groups. */ readonly value?: string
  /** Sort value. */ readonly sort?: string
  readonly number?: string
  readonly boolean?: string
  readonly point?: string
  readonly vector?: VectorSlot
}
export interface SlotTable {
  readonly fields: Readonly<Record<string, FieldSlots>>
  /**
   * Places that were ever given away, of each kind: none is given twice before everything is written anew. Records of
   * an earlier program do not know of all kinds.
   */
  readonly used: Readonly<Record<Exclude<SlotKind, "v">, number>> & { readonly v?: number }
}
export const NO_SLOTS: SlotTable = { fields: {}, used: { t: 0, k: 0, n: 0, l: 0, b: 0, g: 0, v: 0 } }

const nameOf = (kind: SlotKind, at: number): string => kind + String(at).padStart(2, "0")
export const slotNames = (kind: SlotKind, count: number): string[] =>
  Array.from({ length: count }, (_slot, at) => nameOf(kind, at))

/** Every indexed field has its places; those that have some keep them. */
export const withSlots = (schema: CollectionSchema, table: SlotTable): SlotTable => {
  const used = { ...table.used, v: table.used.v ?? 0 }
  const take = (kind: SlotKind): string => nameOf(kind, used[kind]++)
  const fields = new Map<string, FieldSlots>()
  for (const field of indexedFields(schema)) {
    const own = Object.hasOwn(table.fields, field.name) ? table.fields[field.name] : undefined
    fields.set(field.name, own ?? slotsOf(field, take))
  }
  return { fields: Object.fromEntries(fields), used }
}
const slotsOf = (field: Field, take: (kind: SlotKind) => string): FieldSlots => {
  const type = field.type.replace("[]", "")
  if (type === "string")
    return {
      words: take("t"),
      whole: take("k"),
      ...(field.facet ? { value: take("k") } : {}),
      ...(field.sort && !isArrayField(field) ? { sort: take("k") } : {})
    }
  if (field.num_dim > 0) return { vector: vectorSlot(field, take("v")) }
  if (type === "int64") return { number: take("l") }
  if (type === "int32" || type === "float") return { number: take("n") }
  if (type === "bool") return { boolean: take("b") }
  return type === "geopoint" ? { point: take("g") } : {}
}
/** Lucene's upper limit for building graphs; a larger value never helps. */
const M_MAX = 512,
  EF_CONSTRUCTION_MAX = 3_200
const vectorSlot = ({ hnsw_params, num_dim, vec_dist }: Field, name: string): VectorSlot => ({
  name,
  dimensions: num_dim,
  metric: vec_dist,
  M: Math.min(M_MAX, Math.max(2, hnsw_params?.M ?? DEFAULT_VECTOR_PARAMS.M)),
  ef_construction: Math.min(EF_CONSTRUCTION_MAX, hnsw_params?.ef_construction ?? DEFAULT_VECTOR_PARAMS.ef_construction)
})
export const vectorSlots = ({ fields }: SlotTable): VectorSlot[] =>
  Object.values(fields).flatMap(({ vector }) => vector ?? [])
/** Fields with a place for vectors: an index of their own, made by a program that keeps them apart. */
export const vectorNames = ({ fields }: SlotTable): string[] =>
  Object.keys(fields).filter((name) => fields[name].vector !== undefined)
/** Where the words of a place `t` lie one by one, to be listed. */
export const wordListOf = (slot: string): string => `w${slot.slice(1)}`
export const slotsFor = ({ fields }: SlotTable, name: string): FieldSlots | undefined =>
  Object.hasOwn(fields, name) ? fields[name] : undefined

/** Whether a shared index has room for them. */
export const fitsPool = ({ used: { b, g, k, l, n, t, v = 0 } }: SlotTable): boolean =>
  v <= POOL_SLOTS.v &&
  t <= POOL_SLOTS.t &&
  k <= POOL_SLOTS.k &&
  n <= POOL_SLOTS.n &&
  l <= POOL_SLOTS.l &&
  b <= POOL_SLOTS.b &&
  g <= POOL_SLOTS.g
