/** A trained linear model as it is stored and as the API returns it. */
import { Schema } from "effect"

const Interval = Schema.Struct({
  before: Schema.Number,
  after: Schema.Number,
  difference: Schema.Number,
  low: Schema.Number,
  high: Schema.Number
}).annotate({
  identifier: "HeldOutFigure",
  description: "Without the model and with it, on queries that it was not trained on; the difference's 95 % interval."
})
export const TrainingMetrics = Schema.Struct({
  clicked_searches: Schema.Int,
  queries_trained: Schema.Int,
  queries_held_out: Schema.Int,
  ndcg_at_10: Interval
}).annotate({ identifier: "RerankTraining" })
export type TrainingMetrics = typeof TrainingMetrics.Type

export const RerankModel = Schema.Struct({
  name: Schema.String,
  collection: Schema.String,
  /** Increases with each training of the name; searches use the newest. */ version: Schema.Int,
  fields: Schema.Array(Schema.String),
  weights: Schema.Record(Schema.String, Schema.Number),
  metrics: TrainingMetrics,
  /** Range of the searches it was trained on, in Unix milliseconds. */ from: Schema.Int,
  to: Schema.Int,
  created_at: Schema.Int
}).annotate({ identifier: "RerankModel" })
export interface StoredModel extends Schema.Schema.Type<typeof RerankModel> {
  readonly organization_id: string
}
