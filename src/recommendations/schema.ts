/** Requests for recommendations and their answers, and their limits. */
import { Schema } from "effect"
import { refusing } from "../http/checks.ts"
import { within } from "../recommendation-models/bounded-text.ts"

const LIMIT_MAX = 100
const SEEDS_MAX = 50
const EXCLUDED_MAX = 1_000
const TEXT_MAX = 4_000

const ids = (max: number) =>
  Schema.Array(within(256)).check(
    refusing((list: ReadonlyArray<string>) =>
      list.length > max ? `At most ${max.toLocaleString("en")} ids` : undefined
    )
  )
const anything = Schema.Record(Schema.String, Schema.Unknown)

export const RecommendBody = Schema.Struct({
  model_id: within(64),
  collection: Schema.optionalKey(within(256)),
  document_id: Schema.optionalKey(within(256)),
  /** Newest last. */ document_ids: Schema.optionalKey(ids(SEEDS_MAX)),
  user_id: Schema.optionalKey(within(256)),
  anonymous_id: Schema.optionalKey(within(256)),
  session_id: Schema.optionalKey(within(256)),
  filter_by: Schema.optionalKey(within(TEXT_MAX)),
  exclude_ids: Schema.optionalKey(ids(EXCLUDED_MAX)),
  limit: Schema.optionalKey(
    Schema.Int.check(
      refusing((limit: number) =>
        limit < 1 || limit > LIMIT_MAX ? `A whole number from 1 to ${LIMIT_MAX}` : undefined
      )
    )
  ),
  include_fields: Schema.optionalKey(within(TEXT_MAX)),
  exclude_fields: Schema.optionalKey(within(TEXT_MAX)),
  surface: Schema.optionalKey(within(256))
}).annotate({
  identifier: "RecommendBody",
  description: "`limit` is 1 to 100, 10 by default. The session header stands in for `session_id`."
})
export type RecommendBody = typeof RecommendBody.Type

const KindOfHit = Schema.Literals([
  "personalized",
  "also_viewed",
  "frequently_bought_together",
  "trending",
  "popular",
  "similar",
  "newest"
])
export const Recommended = Schema.Struct({
  query_id: Schema.String,
  model_id: Schema.String,
  hits: Schema.Array(
    Schema.Struct({
      document: anything,
      score: Schema.Number,
      reason: Schema.Struct({
        kind: KindOfHit,
        source_document_id: Schema.optionalKey(Schema.String),
        /** Number of visits, baskets or events that support it. */ support: Schema.optionalKey(Schema.Number),
        /** How many times more often than by chance. */ lift: Schema.optionalKey(Schema.Number)
      }).annotate({ identifier: "RecommendationReason" })
    }).annotate({ identifier: "RecommendedHit" })
  ),
  fallback_used: Schema.NullOr(KindOfHit)
}).annotate({
  identifier: "Recommended",
  description:
    "`fallback_used`: the first link beyond the model that gave a hit, null where the model filled the answer alone."
})
export type Recommended = typeof Recommended.Type
