/** Analytics rules, and the events stored by log rules. */
import { operation } from "../http/operation.ts"
import {
  AnalyticsEvents,
  AnalyticsEventsQuery,
  AnalyticsRule,
  AnalyticsRuleList,
  AnalyticsRuleReplacement,
  AnalyticsRulesAnswer,
  AnalyticsRulesBody
} from "./schema.ts"
import { Schema } from "effect"
import { NotFound } from "../http/errors.ts"
import { FeatureNotInPlan } from "../metering/errors.ts"
import { described } from "./examples.ts"

const at = { group: "analytics rules", plane: "control", scope: "full" } as const
const path = "/v1/analytics/rules/:ruleName"
export const listAnalyticsRules = operation({
  ...at,
  ...described.listAnalyticsRules,
  id: "listAnalyticsRules",
  summary: "Analytics rules, all or those with a tag",
  method: "GET",
  path: "/v1/analytics/rules",
  query: Schema.Struct({ rule_tag: Schema.optionalKey(Schema.String) }),
  success: AnalyticsRuleList
})
export const createAnalyticsRule = operation({
  ...at,
  ...described.createAnalyticsRule,
  id: "createAnalyticsRule",
  summary: "Create one analytics rule, or several",
  method: "POST",
  path: "/v1/analytics/rules",
  payload: AnalyticsRulesBody,
  success: AnalyticsRulesAnswer,
  status: 201,
  errors: [FeatureNotInPlan]
})
export const getAnalyticsRule = operation({
  ...at,
  ...described.getAnalyticsRule,
  id: "getAnalyticsRule",
  summary: "Get one analytics rule",
  method: "GET",
  path,
  success: AnalyticsRule,
  errors: [NotFound]
})
export const upsertAnalyticsRule = operation({
  ...at,
  ...described.upsertAnalyticsRule,
  id: "upsertAnalyticsRule",
  summary: "Create an analytics rule (201), or change its tag and parameters",
  method: "PUT",
  path,
  payload: AnalyticsRuleReplacement,
  success: AnalyticsRule,
  creates: true,
  errors: [FeatureNotInPlan]
})
export const deleteAnalyticsRule = operation({
  ...at,
  ...described.deleteAnalyticsRule,
  id: "deleteAnalyticsRule",
  summary: "Delete an analytics rule with its counts; documents that it wrote stay",
  method: "DELETE",
  path,
  success: AnalyticsRule,
  errors: [FeatureNotInPlan, NotFound]
})
export const getAnalyticsEvents = operation({
  ...at,
  ...described.getAnalyticsEvents,
  id: "getAnalyticsEvents",
  summary: "Events of one user that a log rule kept, newest first",
  method: "GET",
  path: "/v1/analytics/events",
  query: AnalyticsEventsQuery,
  success: AnalyticsEvents,
  errors: [NotFound]
})
