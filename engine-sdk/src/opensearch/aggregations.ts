/** A bucket counted by the cluster. */
export interface Bucket {
  readonly key: string | number
  readonly key_as_string?: string
  readonly doc_count: number
  readonly by?: { readonly value: number | null }
  readonly seq?: { readonly value: number | null }
  readonly first?: {
    readonly hits: { readonly hits: ReadonlyArray<{ readonly _source: { readonly d: string; readonly e?: string } }> }
  }
  readonly groups?: { readonly value: number }
  readonly ungrouped?: { readonly doc_count: number }
}
export interface Aggregation {
  readonly buckets?: ReadonlyArray<Bucket>
  readonly value?: number
  readonly doc_count?: number
  readonly sum_other_doc_count?: number
  readonly count?: number
  readonly min?: number
  readonly max?: number
  readonly sum?: number
  readonly avg?: number
}
export type Aggregations = Readonly<Record<string, Aggregation>>

/** A value or a range of a facet. */
export interface FacetRow {
  readonly value: string
  /** The value or range as the cluster returns it. */ readonly key: string | number
  readonly count: number
  readonly sibling: number
}
