/**
 * Collections and fields as the wire shows them (`docs/contract/collections.md#fields`, in snake_case), without
 * anything computed. `schema/` validates what a caller sends; this file only defines the shape of what was accepted.
 */
export type ScalarType = "string" | "int32" | "int64" | "float" | "bool" | "geopoint"
export type FieldType =
  | ScalarType
  | "string[]"
  | "int32[]"
  | "int64[]"
  | "float[]"
  | "bool[]"
  | "geopoint[]"
  | "geopolygon"
  | "object"
  | "object[]"
  | "auto"
  | "string*"
  | "image"

export interface VectorParams {
  readonly M: number
  readonly ef_construction: number
  readonly ef?: number
  readonly max_elements?: number
}

/**
 * How the approximate index of a vector field is built if the field does not say.
 *
 * @example
 * ```ts
 * import { DEFAULT_VECTOR_PARAMS } from "@dowser/engine-sdk"
 *
 * DEFAULT_VECTOR_PARAMS.M // 16 links a vector in an approximate index
 * ```
 */
export const DEFAULT_VECTOR_PARAMS: VectorParams = { M: 16, ef_construction: 200 }

/** A complete field definition: every default filled in. `nested`/`nested_array` are internal and never rendered. */
export interface Field {
  readonly name: string
  readonly type: FieldType
  readonly facet: boolean
  readonly optional: boolean
  readonly index: boolean
  readonly sort: boolean
  readonly infix: boolean
  readonly locale: string
  readonly stem: boolean
  readonly stem_dictionary: string
  readonly store: boolean
  readonly range_index: boolean
  /** > 0 makes a `float[]` a vector field. */ readonly num_dim: number
  readonly vec_dist: "cosine" | "ip"
  readonly hnsw_params?: VectorParams
  readonly embed?: Record<string, unknown>
  /** `Collection.field`, or "". */ readonly reference: string
  readonly async_reference: boolean
  readonly cascade_delete: boolean
  /** These override the collection's lists if non-empty. */
  readonly token_separators: ReadonlyArray<string>
  readonly symbols_to_index: ReadonlyArray<string>
  readonly truncate_len: number
  /** A child of an object field. */ readonly nested?: boolean
  /** Below an array of objects: the value is an array even if the type looks singular. */
  readonly nested_array?: boolean
  /** Detected in a document (`.*`, regex, `auto`, `string*`, a child of `object`), not declared in this form. */
  readonly detected?: boolean
}

export interface CollectionSchema {
  readonly name: string
  /** Declared and detected fields, in the order in which they appeared. Dynamic definitions stay in the list. */
  readonly fields: ReadonlyArray<Field>
  readonly default_sorting_field: string
  readonly enable_nested_fields: boolean
  readonly token_separators: ReadonlyArray<string>
  readonly symbols_to_index: ReadonlyArray<string>
  readonly synonym_sets: ReadonlyArray<string>
  readonly curation_sets: ReadonlyArray<string>
  readonly metadata?: Record<string, unknown>
  readonly voice_query_model?: { readonly model_name: string }
}

export interface CollectionInfo {
  readonly schema: CollectionSchema
  readonly num_documents: number
  /** Unix seconds. */ readonly created_at: number
}

/** A document as JSON represents it. `id` is always a non-empty string once accepted. */
export type Document = { readonly [key: string]: unknown }
export type DirtyValues = "coerce_or_reject" | "coerce_or_drop" | "drop" | "reject"
export type WriteAction = "create" | "upsert" | "update" | "emplace"
