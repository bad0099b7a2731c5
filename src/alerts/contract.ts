/** Operations on alerts. They require a full key. */
import { Schema } from "effect"
import { NotFound } from "../http/errors.ts"
import { operation } from "../http/operation.ts"
import { pageFields } from "../http/page.ts"
import { FeatureNotInPlan } from "../metering/errors.ts"
import { described } from "./examples.ts"
import { Alert, AlertBody, AlertList } from "./schema.ts"

const at = { group: "alerts", plane: "control", scope: "full" } as const
const one = {
  ...at,
  params: { alertId: Schema.String.annotate({ description: "The id of an alert, `alr_…`." }) }
} as const
const path = "/v1/alerts/:alertId"

export const listAlerts = operation({
  ...at,
  ...described.listAlerts,
  id: "listAlerts",
  summary: "List alerts with their states",
  method: "GET",
  path: "/v1/alerts",
  query: Schema.Struct(pageFields({ max: 250, byDefault: 50 })),
  success: AlertList
})
export const createAlert = operation({
  ...at,
  ...described.createAlert,
  id: "createAlert",
  summary: "Create an alert, evaluated every 30 seconds",
  method: "POST",
  path: "/v1/alerts",
  payload: AlertBody,
  success: Alert,
  status: 201,
  errors: [FeatureNotInPlan]
})
export const getAlert = operation({
  ...one,
  ...described.getAlert,
  id: "getAlert",
  summary: "Get an alert with its last value",
  method: "GET",
  path,
  success: Alert,
  errors: [NotFound]
})
export const replaceAlert = operation({
  ...one,
  ...described.replaceAlert,
  id: "replaceAlert",
  summary: "Replace an alert",
  method: "PUT",
  path,
  payload: AlertBody,
  success: Alert,
  errors: [NotFound]
})
export const deleteAlert = operation({
  ...one,
  ...described.deleteAlert,
  id: "deleteAlert",
  summary: "Delete an alert",
  method: "DELETE",
  path,
  success: Schema.Struct({ id: Schema.String }).annotate({ identifier: "DeletedAlert" }),
  errors: [NotFound]
})
