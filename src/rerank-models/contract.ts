/** Linear models that rerank the hits of a collection, trained on what visitors chose. Full key. */
import { Schema } from "effect"
import { dateRefusal } from "../analytics/date-range.ts"
import { refusing } from "../http/checks.ts"
import { Conflict, NotFound } from "../http/errors.ts"
import { operation } from "../http/operation.ts"
import { Job } from "../jobs/schema.ts"
import { FeatureNotInPlan } from "../metering/errors.ts"
import { RerankModel } from "../rerankers/schema.ts"
import { RerankModelInUse } from "./errors.ts"
import { described } from "./examples.ts"

const FIELDS_MAX = 16
/** Models that every search has. */
const BUILT_IN = ["linear", "none"]

const nameRefusal = (name: string): string | undefined =>
  !/^[a-z0-9][a-z0-9_-]{0,63}$/.test(name)
    ? "Small letters, digits, `_` and `-`, at most 64"
    : BUILT_IN.includes(name)
      ? "A model of this name is there for every search"
      : undefined
const TrainBody = Schema.Struct({
  name: Schema.String.check(refusing(nameRefusal)),
  from: Schema.String.check(refusing(dateRefusal)),
  to: Schema.String.check(refusing(dateRefusal)),
  fields: Schema.optionalKey(
    Schema.Array(Schema.String).check(
      refusing((fields: ReadonlyArray<string>) =>
        fields.length === 0 || fields.length > FIELDS_MAX ? `1 to ${FIELDS_MAX} fields` : undefined
      )
    )
  )
}).annotate({
  identifier: "TrainRerankModel",
  description:
    "`from` and `to`: ISO 8601 dates or date-times, both inclusive. `fields`: what is searched and considered; by default the text fields of the collection."
})

const at = {
  group: "rerank models",
  plane: "control",
  scope: "full",
  path: "/v1/collections/:collectionName/rerank_models"
} as const
const path = `${at.path}/:modelName` as const

export const trainRerankModel = operation({
  ...at,
  ...described.trainRerankModel,
  id: "trainRerankModel",
  summary: "Train a reranking model from clicks",
  method: "POST",
  payload: TrainBody,
  success: Job,
  status: 202,
  errors: [Conflict, FeatureNotInPlan, NotFound]
})
export const listRerankModels = operation({
  ...at,
  ...described.listRerankModels,
  id: "listRerankModels",
  summary: "List the models of a collection",
  method: "GET",
  success: Schema.Struct({ data: Schema.Array(RerankModel) }).annotate({ identifier: "RerankModelList" }),
  errors: [NotFound]
})
export const getRerankModel = operation({
  ...at,
  ...described.getRerankModel,
  id: "getRerankModel",
  summary: "Get a model with its versions",
  method: "GET",
  path,
  success: Schema.Struct({ ...RerankModel.fields, versions: Schema.Array(RerankModel) }).annotate({
    identifier: "RerankModelDetail"
  }),
  errors: [NotFound]
})
export const deleteRerankModel = operation({
  ...at,
  ...described.deleteRerankModel,
  id: "deleteRerankModel",
  summary: "Delete a reranking model that nothing uses",
  method: "DELETE",
  path,
  success: Schema.Struct({ name: Schema.String }).annotate({ identifier: "DeletedRerankModel" }),
  errors: [NotFound, RerankModelInUse]
})
