/** Operations on experiments. They require a full key. */
import { Schema } from "effect"
import { Conflict, NotFound } from "../http/errors.ts"
import { operation } from "../http/operation.ts"
import { pageFields } from "../http/page.ts"
import { FeatureNotInPlan } from "../metering/errors.ts"
import { described } from "./examples.ts"
import { Experiment, ExperimentBody, ExperimentList, ExperimentResults, PromoteBody } from "./schema.ts"

const at = { group: "experiments", plane: "control", scope: "full" } as const
const one = {
  ...at,
  params: { experimentId: Schema.String.annotate({ description: "The id of an experiment, `exp_…`." }) }
} as const
const path = "/v1/experiments/:experimentId"

export const listExperiments = operation({
  ...at,
  ...described.listExperiments,
  id: "listExperiments",
  summary: "List experiments",
  method: "GET",
  path: "/v1/experiments",
  query: Schema.Struct(pageFields({ max: 100, byDefault: 20 })),
  success: ExperimentList
})
export const createExperiment = operation({
  ...at,
  ...described.createExperiment,
  id: "createExperiment",
  summary: "Create an experiment as a draft",
  method: "POST",
  path: "/v1/experiments",
  payload: ExperimentBody,
  payloadIsChecked: false,
  success: Experiment,
  status: 201,
  errors: [FeatureNotInPlan, NotFound]
})
export const getExperiment = operation({
  ...one,
  ...described.getExperiment,
  id: "getExperiment",
  summary: "Get an experiment",
  method: "GET",
  path,
  success: Experiment,
  errors: [NotFound]
})
export const updateExperiment = operation({
  ...one,
  ...described.updateExperiment,
  id: "updateExperiment",
  summary: "Replace an experiment that is not running",
  method: "PUT",
  path,
  payload: ExperimentBody,
  payloadIsChecked: false,
  success: Experiment,
  errors: [Conflict, FeatureNotInPlan, NotFound]
})
export const deleteExperiment = operation({
  ...one,
  ...described.deleteExperiment,
  id: "deleteExperiment",
  summary: "Delete an experiment that is not running, with its figures",
  method: "DELETE",
  path,
  success: Schema.Struct({ id: Schema.String }).annotate({ identifier: "DeletedExperiment" }),
  errors: [Conflict, NotFound]
})
export const startExperiment = operation({
  ...one,
  ...described.startExperiment,
  id: "startExperiment",
  summary: "Start an experiment; it acts on the next search",
  method: "POST",
  path: `${path}/start`,
  success: Experiment,
  errors: [Conflict, FeatureNotInPlan, NotFound]
})
export const stopExperiment = operation({
  ...one,
  ...described.stopExperiment,
  id: "stopExperiment",
  summary: "Stop an experiment; its figures stay",
  method: "POST",
  path: `${path}/stop`,
  success: Experiment,
  errors: [Conflict, NotFound]
})
export const promoteExperiment = operation({
  ...one,
  ...described.promoteExperiment,
  id: "promoteExperiment",
  summary: "Promote a variant",
  method: "POST",
  path: `${path}/promote`,
  payload: PromoteBody,
  success: Experiment,
  errors: [Conflict, FeatureNotInPlan, NotFound]
})
export const rollbackExperimentPromotion = operation({
  ...one,
  ...described.rollbackExperimentPromotion,
  id: "rollbackExperimentPromotion",
  summary: "Roll back a promotion",
  method: "POST",
  path: `${path}/rollback`,
  success: Experiment,
  errors: [Conflict, FeatureNotInPlan, NotFound]
})
export const getExperimentResults = operation({
  ...one,
  ...described.getExperimentResults,
  id: "getExperimentResults",
  summary: "Figures of an experiment's latest run",
  method: "GET",
  path: `${path}/results`,
  success: ExperimentResults,
  errors: [Conflict, NotFound]
})
