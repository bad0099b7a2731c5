/** Types of documents, inferred from the literal that declares the fields. Nothing here exists at run time. */
import type { Field, FieldType } from "../schema.ts"

/**
 * A field as a program writes it: its type, or the type with attributes. Omitted attributes get the engine's defaults.
 */
export type FieldSpec =
  | FieldType
  | ({ readonly type: FieldType } & {
      readonly [K in Exclude<keyof Field, "name" | "type" | "nested" | "nested_array" | "detected">]?: Field[K]
    })
/** Fields by name. Names with a dot are paths into objects; names with `.*` are patterns. */
export interface FieldSpecs {
  readonly [name: string]: FieldSpec
}

interface ScalarValues {
  readonly string: string
  readonly int32: number
  /** A bigint beyond 2^53. */ readonly int64: number | bigint
  readonly float: number
  readonly bool: boolean
  readonly geopoint: readonly [lat: number, lng: number]
  readonly object: Readonly<Record<string, unknown>>
}
/** The value of a field in a document. */
export type ValueOf<T extends FieldType> = T extends keyof ScalarValues
  ? ScalarValues[T]
  : T extends `${infer E extends keyof ScalarValues}[]`
    ? ReadonlyArray<ScalarValues[E]>
    : T extends "image"
      ? string
      : T extends "geopolygon"
        ? ReadonlyArray<number>
        : T extends "string*"
          ? string | ReadonlyArray<string>
          : unknown

type TypeOf<S extends FieldSpec> = S extends FieldType
  ? S
  : S extends { readonly type: infer T extends FieldType }
    ? T
    : never
type IsOptional<S extends FieldSpec> = S extends { readonly optional: true }
  ? true
  : TypeOf<S> extends "auto" | "string*"
    ? true
    : false
type PlainName<K> = K extends `${string}.${string}` | "id" ? never : K
type Simplified<T> = { [K in keyof T]: T[K] }

/**
 * The document type that fields describe: `optional` fields (and `auto`, `string*`, which always are) may be missing.
 * Of a path, only the first part is known, with type unknown; with a pattern, any further name is allowed.
 */
export type DocumentOf<F extends FieldSpecs> = Simplified<
  { readonly [K in keyof F as IsOptional<F[K]> extends true ? never : PlainName<K>]: ValueOf<TypeOf<F[K]>> } & {
    readonly [K in keyof F as IsOptional<F[K]> extends true ? PlainName<K> : never]?: ValueOf<TypeOf<F[K]>>
  } & {
    readonly [
      K in keyof F as K extends `${infer Head}.${infer Rest}` ? (Rest extends `*${string}` ? string : Head) : never
    ]?: unknown
  }
>
/** A document as passed in: if it has no `id` it gets one; a number is converted to its digits. */
export type Given<D> = WithoutId<D> & { readonly id?: string | number }
/** A document as returned. */
export type Stored<D> = Simplified<WithoutId<D> & { readonly id: string }>
/** Not `Omit`, which loses names next to an index signature. */
type WithoutId<D> = { [K in keyof D as K extends "id" ? never : K]: D[K] }
