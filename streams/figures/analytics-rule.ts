/** The parts of an analytics rule that the processor reads. */

export const RULE_TYPES = ["popular_queries", "nohits_queries", "counter", "log"] as const
export type RuleType = (typeof RULE_TYPES)[number]
export const META_FIELDS = ["filter_by", "analytics_tag"] as const
export type MetaField = (typeof META_FIELDS)[number]

export interface RuleParams {
  readonly destination_collection?: string
  readonly limit?: number
  readonly capture_search_requests?: boolean
  readonly meta_fields?: ReadonlyArray<MetaField>
  readonly expand_query?: boolean
  readonly counter_field?: string
  readonly weight?: number
}
