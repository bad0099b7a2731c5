/** Analytics rules as requests and responses show them. */
import { Schema } from "effect"
import { META_FIELDS, RULE_TYPES, type RuleParams, type RuleType } from "@dowser/streams/figures/analytics-rule"

export { META_FIELDS, RULE_TYPES, type RuleParams, type RuleType }

/** Limit per organization; each rule costs a little in every flush. */
export const RULES_MAX = 100
export const NAME_CHARACTERS_MAX = 200
export const LIMIT_MAX = 10_000
export const WEIGHT_MAX = 1_000_000
export const EVENTS_READ_MAX = 1_000
/** Limits of the stored events of one log rule. */
export const EVENTS_KEPT_MAX = 10_000
export const EVENTS_KEPT_DAYS = 30

const text = Schema.optionalKey(Schema.String)
export interface Rule {
  readonly name: string
  readonly type: RuleType
  readonly collection: string
  readonly event_type: string
  readonly rule_tag?: string
  readonly params: RuleParams
}

const Params = Schema.Struct({
  destination_collection: text,
  limit: Schema.optionalKey(Schema.Int),
  capture_search_requests: Schema.optionalKey(Schema.Boolean),
  meta_fields: Schema.optionalKey(Schema.Array(Schema.Literals(META_FIELDS))),
  expand_query: Schema.optionalKey(Schema.Boolean),
  counter_field: text,
  weight: Schema.optionalKey(Schema.Int)
}).annotate({ identifier: "AnalyticsRuleParams" })
export const AnalyticsRule = Schema.Struct({
  name: Schema.String,
  type: Schema.Literals(RULE_TYPES),
  collection: Schema.String,
  event_type: Schema.String,
  rule_tag: text,
  params: Params
}).annotate({ identifier: "AnalyticsRule" })
export const AnalyticsRuleList = Schema.Array(AnalyticsRule).annotate({ identifier: "AnalyticsRuleList" })
export const AnalyticsRulesBody = Schema.Unknown.annotate({
  identifier: "AnalyticsRulesBody",
  description: "One rule, or an array of rules; an array returns an array of results, with `{error}` for a failed rule."
})
export const AnalyticsRulesAnswer = Schema.Unknown.annotate({ identifier: "AnalyticsRulesAnswer" })
export const AnalyticsRuleReplacement = Schema.Unknown.annotate({
  identifier: "AnalyticsRuleReplacement",
  description: "A rule without its name. Only `rule_tag` and `params` of an existing rule can change."
})
export const AnalyticsEventsQuery = Schema.Struct({ user_id: text, name: text, n: text }).annotate({
  identifier: "AnalyticsEventsQuery"
})
export const AnalyticsEvents = Schema.Struct({
  events: Schema.Array(Schema.Record(Schema.String, Schema.Unknown))
}).annotate({ identifier: "AnalyticsEvents" })
