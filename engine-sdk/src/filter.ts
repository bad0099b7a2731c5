/** Filters as engines receive them: checked, typed, without names that do not exist. */

// ---- filters -------------------------------------------------------------------------------------------------------

export type Comparison = "=" | "!=" | "<" | "<=" | ">" | ">="

/** Operators are left-associative with equal precedence, as in the text (`docs/contract/filters.md#structure`). */
export type Filter =
  | { readonly kind: "and" | "or"; readonly left: Filter; readonly right: Filter }
  | { readonly kind: "not"; readonly filter: Filter }
  /** Every document (`id:*`) or none (a list filter without values). */
  | { readonly kind: "all" }
  | { readonly kind: "none" }
  | { readonly kind: "ids"; readonly ids: ReadonlyArray<string> }
  | StringFilter
  | NumberFilter
  | { readonly kind: "bool"; readonly field: string; readonly values: ReadonlyArray<boolean> }
  | { readonly kind: "geo"; readonly field: string; readonly areas: ReadonlyArray<GeoArea> }
  /** A point inside a stored polygon. */
  | { readonly kind: "geo_contains"; readonly field: string; readonly lat: number; readonly lng: number }
  /**
   * `parent.{…}`: one element of the object array satisfies the entire inner filter. Inner field names are full paths.
   */
  | { readonly kind: "element"; readonly path: string; readonly filter: Filter }
  /** `$Collection(…)`: related to a document of `collection` that matches `filter`. A `not` around it negates it. */
  | { readonly kind: "join"; readonly collection: string; readonly filter: Filter }

/**
 * Any of `values` suffices; negations are a `not` around the node (and so include documents without the field).
 */
export interface StringFilter {
  readonly kind: "string"
  readonly field: string
  readonly values: ReadonlyArray<{
    /** Analysed with the field's own analyzer. */ readonly tokens: ReadonlyArray<string>
    /** contains: every token somewhere in the field. equals: exactly these tokens. phrase: adjacent, in order. */
    readonly match: "contains" | "equals" | "phrase"
    /** The last token is a prefix (`pre*`). With `equals`: the value starts with these tokens. */
    readonly prefix: boolean
    /** The words to which the prefix in last position expands, if an engine has already chosen them. */
    readonly words?: ReadonlyArray<string>
  }>
  /** Completions considered per prefix, best first (`max_filter_by_candidates`). */ readonly prefixCandidates: number
}

/**
 * Any of `ranges` suffices (for arrays: any element). Bounds are inclusive unless `*Open`; int64 bounds may exceed 2^53
 * and are bigint.
 */
export interface NumberFilter {
  readonly kind: "number"
  readonly field: string
  readonly type: "int32" | "int64" | "float"
  readonly ranges: ReadonlyArray<{
    readonly min: number | bigint
    readonly max: number | bigint
    readonly minOpen?: boolean
    readonly maxOpen?: boolean
  }>
}

export type GeoArea =
  | {
      readonly kind: "radius"
      readonly lat: number
      readonly lng: number
      readonly radius_m: number
      readonly exactFilterRadius_m: number
    }
  | {
      readonly kind: "polygon"
      readonly points: ReadonlyArray<readonly [lat: number, lng: number]>
      readonly exactFilterRadius_m: number
    }
