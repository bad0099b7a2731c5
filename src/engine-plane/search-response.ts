/** The response of a search, for every operation that returns one. */
import { Schema } from "effect"

const anything = Schema.Record(Schema.String, Schema.Unknown)

const Hit = Schema.Struct({
  document: anything,
  highlight: Schema.optionalKey(anything),
  highlights: Schema.optionalKey(Schema.Array(anything)),
  text_match: Schema.optionalKey(Schema.Number),
  text_match_info: Schema.optionalKey(anything),
  curated: Schema.optionalKey(Schema.Boolean),
  pinned: Schema.optionalKey(Schema.Boolean),
  sponsored: Schema.optionalKey(
    Schema.Struct({ label: Schema.String, campaign_id: Schema.String }).annotate({ identifier: "SponsoredHit" })
  ),
  geo_distance_meters: Schema.optionalKey(anything),
  distance_m: Schema.optionalKey(Schema.Number.annotate({ description: "Only for geo-searches." })),
  vector_distance: Schema.optionalKey(Schema.Number),
  hybrid_search_info: Schema.optionalKey(anything)
}).annotate({ identifier: "SearchHit" })
const FacetCounts = Schema.Struct({
  field_name: Schema.String,
  sampled: Schema.Boolean,
  counts: Schema.Array(
    Schema.Struct({
      value: Schema.String,
      highlighted: Schema.String,
      count: Schema.Int,
      parent: Schema.optionalKey(Schema.Unknown)
    }).annotate({ identifier: "FacetCount" })
  ),
  stats: anything
}).annotate({ identifier: "FacetCounts" })
const Correction = Schema.NullOr(
  Schema.Struct({ q: Schema.String, type: Schema.Literals(["typo", "layout", "translit", "split"]) }).annotate({
    identifier: "Correction",
    description:
      "The query that was answered in place of the one that was typed (`layout`, `translit`, `split`), or with typing errors written as they are indexed (`typo`)."
  })
)
const QueryUnderstanding = Schema.Struct({
  original: Schema.String,
  normalized: Schema.String.annotate({
    description: "Trimmed, in lower case, with single spaces: as analytics compare queries."
  }),
  tokens: Schema.Array(Schema.String),
  language: Schema.optionalKey(
    Schema.String.annotate({ description: "ISO 639-1, if at least two words or the script identify the language." })
  ),
  rewrites: Schema.Array(
    Schema.Struct({ kind: Schema.Literals(["layout", "translit", "split"]), q: Schema.String }).annotate({
      identifier: "QueryRewrite"
    })
  ),
  entities: Schema.Array(
    Schema.Struct({ text: Schema.String, field: Schema.String, value: Schema.String }).annotate({
      identifier: "QueryEntity"
    })
  )
}).annotate({
  identifier: "QueryUnderstanding",
  description:
    "On every search but `q=*`. Words, language and entities are those of the query that was answered. `rewrites`: what was tried (`query_rewrite`). `entities`: values of facet fields that the query's words name, as far as the key may see them."
})

const Refinement = Schema.Struct({
  type: Schema.Literals(["query", "facet"]),
  label: Schema.String,
  q: Schema.optionalKey(Schema.String),
  filter_by: Schema.optionalKey(Schema.String),
  count: Schema.Int
}).annotate({ identifier: "Refinement", description: "Absent with `refinements=off`." })

const Conversation = Schema.Struct({
  answer: Schema.String,
  query: Schema.String,
  conversation_id: Schema.String.annotate({
    description: "The id for the next question; empty if the conversation is not stored."
  }),
  conversation_history: Schema.optionalKey(
    Schema.Struct({
      conversation: Schema.Array(anything),
      id: Schema.String,
      last_updated: Schema.Int,
      ttl: Schema.Int
    }).annotate({ identifier: "ConversationHistory" })
  ),
  error: Schema.optionalKey(
    Schema.String.annotate({ description: "Why there is no answer, or none that can be continued." })
  )
}).annotate({ identifier: "Conversation", description: "Only with `conversation=true`." })

export const SearchResponse = Schema.Struct({
  found: Schema.Int,
  found_docs: Schema.optionalKey(Schema.Int),
  out_of: Schema.optionalKey(Schema.Int),
  page: Schema.optionalKey(Schema.Int),
  offset: Schema.optionalKey(Schema.Int),
  hits: Schema.optionalKey(Schema.Array(Hit)),
  grouped_hits: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        group_key: Schema.Array(Schema.Unknown),
        found: Schema.optionalKey(Schema.Int),
        hits: Schema.Array(Hit)
      }).annotate({ identifier: "GroupedHits" })
    )
  ),
  facet_counts: Schema.optionalKey(Schema.Array(FacetCounts)),
  search_cutoff: Schema.Boolean,
  search_time_ms: Schema.optionalKey(Schema.Int),
  request_params: Schema.optionalKey(anything),
  metadata: Schema.optionalKey(anything),
  query_id: Schema.optionalKey(Schema.String),
  profile: Schema.optionalKey(
    Schema.Struct({
      name: Schema.String,
      release_id: Schema.NullOr(Schema.String),
      version: Schema.NullOr(Schema.Int)
    }).annotate({
      identifier: "UsedProfile",
      description: "The search profile that was used; without a release if its draft is in effect."
    })
  ),
  experiment: Schema.optionalKey(
    Schema.Struct({ id: Schema.String, variant_id: Schema.String }).annotate({
      identifier: "ShownVariant",
      description: "The variant of the running experiment that answered."
    })
  ),
  query_understanding: Schema.optionalKey(QueryUnderstanding),
  correction: Schema.optionalKey(Correction),
  refinements: Schema.optionalKey(Schema.Array(Refinement)),
  redirect: Schema.optionalKey(Schema.Struct({ url: Schema.String }).annotate({ identifier: "SearchRedirect" })),
  banners: Schema.optionalKey(
    Schema.Array(Schema.Struct({ id: Schema.String, content: anything }).annotate({ identifier: "SearchBanner" }))
  ),
  suggestions: Schema.optionalKey(Schema.Array(Schema.String)),
  facet_suggestions: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        field: Schema.String,
        values: Schema.Array(
          Schema.Struct({ value: Schema.String, count: Schema.Int }).annotate({ identifier: "FacetSuggestionValue" })
        )
      }).annotate({ identifier: "FacetSuggestion" })
    )
  ),
  conversation: Schema.optionalKey(Conversation),
  explain: Schema.optionalKey(
    anything.annotate({
      description:
        "With `debug` and a full key: rules that fired, the parameters sent to the engine, scores and moves of hits, microseconds of each stage."
    })
  )
}).annotate({ identifier: "SearchResponse" })
