/** Search rules of a collection and their preview. */
import { Schema } from "effect"
import { SearchResponse } from "../engine-plane/search-response.ts"
import { operation } from "../http/operation.ts"
import { SearchPreviewBody, SearchRuleSet, SearchRuleSetBody } from "./schema.ts"
import { NotFound } from "../http/errors.ts"
import { FeatureNotInPlan } from "../metering/errors.ts"
import { engineErrors } from "../engine-plane/engine-errors.ts"
import { SearchRulesNotFound } from "./errors.ts"
import { described } from "./examples.ts"

const at = {
  group: "search rules",
  plane: "control",
  scope: "full",
  path: "/v1/collections/:collectionName/search_rules"
} as const
export const getSearchRule = operation({
  ...at,
  ...described.getSearchRule,
  id: "getSearchRule",
  summary: "Get the search rules of a collection",
  method: "GET",
  success: SearchRuleSet,
  errors: [NotFound, SearchRulesNotFound]
})
export const upsertSearchRule = operation({
  ...at,
  ...described.upsertSearchRule,
  id: "upsertSearchRule",
  summary: "Replace the search rules of a collection; in force on the next search",
  method: "PUT",
  payload: SearchRuleSetBody,
  payloadIsChecked: false,
  success: SearchRuleSet,
  errors: [FeatureNotInPlan, NotFound]
})
export const deleteSearchRule = operation({
  ...at,
  ...described.deleteSearchRule,
  id: "deleteSearchRule",
  summary: "Delete the search rules; searches then reach the engine unchanged",
  method: "DELETE",
  success: Schema.Struct({ collection: Schema.String }).annotate({ identifier: "DeletedSearchRuleSet" }),
  errors: [NotFound, SearchRulesNotFound]
})
export const previewSearchRule = operation({
  ...at,
  ...described.previewSearchRule,
  id: "previewSearchRule",
  summary: "Preview a search without and with rules",
  method: "POST",
  path: `${at.path}/preview`,
  payload: SearchPreviewBody,
  success: Schema.Struct({
    before: SearchResponse,
    after: SearchResponse,
    explain: Schema.Record(Schema.String, Schema.Unknown)
  }).annotate({ identifier: "SearchPreview" }),
  errors: [...engineErrors(404), NotFound]
})
