/**
 * Rule sets as the API document describes them. engine-sdk/src/rules/check-rule-set.ts checks a body and reports all
 * problems together.
 */
import { Schema } from "effect"

const text = Schema.optionalKey(Schema.String)
const integer = Schema.optionalKey(Schema.Int)
const strings = Schema.Array(Schema.String)
const anything = Schema.Record(Schema.String, Schema.Unknown)
const match = Schema.optionalKey(Schema.Literals(["exact", "partial", "prefix", "any"]))

const Boost = Schema.Struct({
  filter_by: Schema.String,
  weight: Schema.Number,
  name: text,
  priority: integer
}).annotate({ identifier: "Boost" })
const Pin = Schema.Struct({
  query: text,
  match,
  filter_contains: text,
  doc_id: Schema.String,
  position: Schema.Int,
  priority: integer
}).annotate({ identifier: "Pin" })
const NearDuplicate = Schema.Struct({ fields: strings, threshold: Schema.optionalKey(Schema.Number) }).annotate({
  identifier: "NearDuplicateRule"
})
const Mmr = Schema.Struct({
  lambda: Schema.optionalKey(Schema.Number),
  vector_field: text,
  text_fields: Schema.optionalKey(strings),
  k: integer
}).annotate({ identifier: "MmrRule" })
const Diversity = Schema.Struct({
  field: text,
  max: integer,
  min: integer,
  from: integer,
  near_duplicate: Schema.optionalKey(NearDuplicate),
  mmr: Schema.optionalKey(Mmr)
}).annotate({ identifier: "DiversityRule" })
const Redirect = Schema.Struct({ query: text, match, url: Schema.String, priority: integer }).annotate({
  identifier: "RedirectRule"
})
const Suggestion = Schema.Struct({ query: text, match, suggestions: strings }).annotate({
  identifier: "SuggestionRule"
})
const FacetSuggestions = Schema.Struct({ fields: strings, limit: integer }).annotate({
  identifier: "FacetSuggestionRule"
})
const Banner = Schema.Struct({
  id: Schema.String,
  query: text,
  match,
  filter_contains: text,
  content: anything,
  priority: integer
}).annotate({ identifier: "BannerRule" })
const Sponsored = Schema.Struct({
  id: text,
  query: text,
  match,
  filter_by: text,
  label: text,
  campaign_id: text,
  position: Schema.Int,
  priority: integer
}).annotate({ identifier: "SponsoredSlot" })
const Rerank = Schema.Struct({
  enabled: Schema.optionalKey(Schema.Boolean),
  model: text,
  top_k: integer,
  fields: Schema.optionalKey(strings),
  timeout_ms: integer,
  min_hits: integer,
  fallback: Schema.optionalKey(Schema.Literals(["engine_order", "error"]))
}).annotate({ identifier: "RerankRule" })

const fields = {
  exclusion_filter_by: Schema.String,
  zero_hits_fallback: Schema.Literals(["none", "drop_filters", "popular", "recommendations", "semantic"]),
  fallback_model_id: Schema.String,
  boosts: Schema.Array(Boost),
  boosts_override_sort: Schema.Boolean,
  pins: Schema.Array(Pin),
  diversity: Schema.Array(Diversity),
  redirects: Schema.Array(Redirect),
  suggestions: Schema.Array(Suggestion),
  facet_suggestions: FacetSuggestions,
  device: Schema.Literals(["desktop", "mobile", "tablet", "any"]),
  language: Schema.String,
  country: Schema.String,
  banners: Schema.Array(Banner),
  sponsored: Schema.Array(Sponsored),
  rerank: Rerank
}
/** ISO 8601; absent = open on that side. */
const window = { starts_at: text, ends_at: text }
const optional = Object.fromEntries(
  Object.entries(fields).map(([name, schema]) => [name, Schema.optionalKey(schema)])
) as { readonly [K in keyof typeof fields]: Schema.optionalKey<(typeof fields)[K]> }

export const SearchRuleSetBody = Schema.Struct({ ...optional, ...window }).annotate({
  identifier: "SearchRuleSetBody",
  description:
    'The complete set: omitted fields are reset to their defaults. `fallback_model_id` is the recommendation model of `zero_hits_fallback: "recommendations"`, of the same collection.'
})
export const SearchRuleSet = Schema.Struct({
  ...fields,
  ...window,
  collection: Schema.String,
  updated_at: Schema.Int
}).annotate({ identifier: "SearchRuleSet" })
export const SearchPreviewBody = Schema.Struct({
  rules: Schema.optionalKey(anything),
  search: anything,
  at: text,
  device: Schema.optionalKey(Schema.Literals(["desktop", "mobile", "tablet"])),
  language: text,
  country: text
}).annotate({
  identifier: "SearchPreviewBody",
  description:
    "`rules` is a set as `PUT` accepts it, otherwise the stored one acts; `search` holds search parameters; `at` is ISO 8601, now by default."
})
