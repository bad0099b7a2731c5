/** Recommendation models as the API returns them, and their limits. */
import { KINDS } from "@dowser/engine-sdk/recommend"
import { Schema } from "effect"
import { refusing } from "../http/checks.ts"
import { within } from "./bounded-text.ts"
import { MODEL_TYPES, paramsIssue } from "./params.ts"

const NAME_CHARACTERS_MAX = 120
const anything = Schema.Record(Schema.String, Schema.Unknown)

export const ModelBody = Schema.Struct({
  name: Schema.String.check(
    refusing((name: string) =>
      name.trim() === "" || [...name].length > NAME_CHARACTERS_MAX
        ? `A text of 1 to ${NAME_CHARACTERS_MAX} characters`
        : undefined
    )
  ),
  collection: within(256),
  type: Schema.Literals(MODEL_TYPES),
  params: Schema.optionalKey(anything)
})
  .check(refusing((body: { readonly type: string; readonly params?: unknown }) => paramsIssue(body.type, body.params)))
  .annotate({
    identifier: "RecommendationModelBody",
    description: `\`params\` by type, with their defaults: \`frequently_bought_together\` \`popularity_bias\` 0.4 (0..1), \`min_support\` 3; \`trending\` \`window_hours\` 6, \`baseline_days\` 7; \`popular\` \`half_life_days\` 7, \`event\` "any" (${KINDS.join(", ")}); \`similar\` \`fields\` (the facet fields), \`vector_field\`; the others have none.`
  })
export type ModelBody = typeof ModelBody.Type

const Figures = Schema.Struct({
  hr_at_20: Schema.Number,
  mrr_at_20: Schema.Number,
  ndcg_at_10: Schema.Number
}).annotate({ identifier: "RecommendationFigures" })
export const Metrics = Schema.Struct({
  ...Figures.fields,
  /** Share of the known documents that were shown. */ coverage: Schema.Number,
  test_cases: Schema.Int,
  /** `low` below 200 test cases. */ confidence: Schema.Literals(["low", "ok"]),
  baseline: Schema.Struct({ popular: Figures }),
  /** The parameters that the model uses, instead of its `params`. */ parameters: Schema.optionalKey(anything),
  /** The same cases with unchanged `params`. */ untuned: Schema.optionalKey(Figures),
  validation: Schema.optionalKey(
    Schema.Struct({
      test_cases: Schema.Int,
      mrr_at_20: Schema.Number,
      untuned_mrr_at_20: Schema.Number
    }).annotate({ identifier: "RecommendationValidation" })
  )
}).annotate({
  identifier: "RecommendationMetrics",
  description:
    "Measured on the last fifth of the time range. `parameters` is what the model answers with: the best on the fifth before, `validation`, if there are 200 cases, else its `params`. `untuned` has the figures of `params`."
})
export type Metrics = typeof Metrics.Type

export const Model = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  collection: Schema.String,
  type: Schema.Literals(MODEL_TYPES),
  params: anything,
  /** `new` until events of the collection have been seen. */ status: Schema.Literals([
    "new",
    "training",
    "ready",
    "failed"
  ]),
  trained_at: Schema.NullOr(Schema.Int),
  metrics: Schema.NullOr(Metrics),
  created_at: Schema.Int,
  updated_at: Schema.Int
}).annotate({ identifier: "RecommendationModel" })
export type Model = typeof Model.Type
/** The stored form, which is also cached. */
export interface StoredModel extends Model {
  readonly organization_id: string
}
export const ModelList = Schema.Struct({
  data: Schema.Array(Model),
  next_cursor: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "RecommendationModelList", description: "By id." })
