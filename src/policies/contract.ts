/** Search policies. */
import { Schema } from "effect"
import { operation } from "../http/operation.ts"
import { pageFields } from "../http/page.ts"
import { NotFound } from "../http/errors.ts"
import { FeatureNotInPlan } from "../metering/errors.ts"
import { PolicyInUse } from "./errors.ts"
import { described } from "./examples.ts"
import { SearchPolicy, SearchPolicyBody } from "./schema.ts"

const at = { group: "search policies", plane: "control", scope: "full" } as const
const one = { ...at, path: "/v1/search_policies/:policyName" } as const
export const listSearchPolicies = operation({
  ...at,
  ...described.listSearchPolicies,
  id: "listSearchPolicies",
  summary: "List search policies",
  method: "GET",
  path: "/v1/search_policies",
  query: Schema.Struct(pageFields({ max: 250, byDefault: 50 })),
  success: Schema.Struct({
    data: Schema.Array(SearchPolicy),
    next_cursor: Schema.optionalKey(Schema.String)
  }).annotate({ identifier: "SearchPolicyList" })
})
export const getSearchPolicy = operation({
  ...one,
  ...described.getSearchPolicy,
  id: "getSearchPolicy",
  summary: "Get a search policy",
  method: "GET",
  success: SearchPolicy,
  errors: [NotFound]
})
export const upsertSearchPolicy = operation({
  ...one,
  ...described.upsertSearchPolicy,
  id: "upsertSearchPolicy",
  summary: "Store a search policy",
  method: "PUT",
  payload: SearchPolicyBody,
  success: SearchPolicy,
  errors: [FeatureNotInPlan]
})
export const deleteSearchPolicy = operation({
  ...one,
  ...described.deleteSearchPolicy,
  id: "deleteSearchPolicy",
  summary: "Delete a search policy",
  method: "DELETE",
  success: Schema.Struct({ name: Schema.String }).annotate({ identifier: "DeletedSearchPolicy" }),
  errors: [NotFound, PolicyInUse]
})
