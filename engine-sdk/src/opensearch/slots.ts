/**
 * Maps fields of a collection to typed slots of an index. A shared index has the slots that it was created with, no
 * matter how many field names tenants invent. Pure.
 */
import { isArrayField, indexedFields } from "../index/builders.ts"
import { DEFAULT_VECTOR_PARAMS, type CollectionSchema, type Field } from "../schema.ts"

/**
 * `t` words (each with a list of them), `k` whole texts, `n` doubles, `l` 64-bit integers, `b` booleans, `g` points,
 * `v` vectors.
 */
export type SlotKind = "t" | "k" | "n" | "l" | "b" | "g" | "v"
/** Slots of a shared index, by kind. None are for vectors, because each vector length needs its own slot. */
export const POOL_SLOTS: Readonly<Record<SlotKind, number>> = { t: 32, k: 96, n: 48, l: 16, b: 24, g: 4, v: 0 }

/** A slot for vectors, with everything that the cluster must know of them in advance. */
export interface VectorSlot {
  readonly name: string
  readonly dimensions: number
  readonly metric: "cosine" | "ip"
  readonly M: number
  readonly ef_construction: number
}
/** Slots in which a field's values are stored; kinds that it does not use are absent. */
interface FieldSlots {
  /** Words, for searching and `:`. */ readonly words?: string
  /** The words of a whole value, for `:=`. */ readonly whole?: string
  /** The value as written, for facets and groups. */ readonly value?: string
  /** The sort key. */ readonly sort?: string
  readonly number?: string
  readonly boolean?: string
  readonly point?: string
  readonly vector?: VectorSlot
}
export interface SlotTable {
  readonly fields: Readonly<Record<string, FieldSlots>>
  /**
   * Number of slots of each kind ever assigned; none is assigned twice until everything is rewritten. Records of an
   * earlier version may lack some kinds.
   */
  readonly used: Readonly<Record<Exclude<SlotKind, "v">, number>> & { readonly v?: number }
}
export const NO_SLOTS: SlotTable = { fields: {}, used: { t: 0, k: 0, n: 0, l: 0, b: 0, g: 0, v: 0 } }

const nameOf = (kind: SlotKind, at: number): string => kind + String(at).padStart(2, "0")
export const slotNames = (kind: SlotKind, count: number): string[] =>
  Array.from({ length: count }, (_slot, at) => nameOf(kind, at))

/** Assigns slots to every indexed field; fields that have slots keep them. */
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
/** Lucene's upper limits for building graphs; larger values never help. */
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
/** Fields with a vector slot, which only a dedicated index has; their vectors are stored apart from the text. */
export const vectorNames = ({ fields }: SlotTable): string[] =>
  Object.keys(fields).filter((name) => fields[name].vector !== undefined)
/** The field that lists the words of a slot `t` one by one. */
export const wordListOf = (slot: string): string => `w${slot.slice(1)}`
export const slotsFor = ({ fields }: SlotTable, name: string): FieldSlots | undefined =>
  Object.hasOwn(fields, name) ? fields[name] : undefined

/** Whether a shared index has room for these slots. */
export const fitsPool = ({ used: { b, g, k, l, n, t, v = 0 } }: SlotTable): boolean =>
  v <= POOL_SLOTS.v &&
  t <= POOL_SLOTS.t &&
  k <= POOL_SLOTS.k &&
  n <= POOL_SLOTS.n &&
  l <= POOL_SLOTS.l &&
  b <= POOL_SLOTS.b &&
  g <= POOL_SLOTS.g
