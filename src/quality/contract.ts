/** Quality suites. Full key. */
import { Schema } from "effect"
import { Conflict, NotFound } from "../http/errors.ts"
import { operation } from "../http/operation.ts"
import { pageFields } from "../http/page.ts"
import { Job } from "../jobs/schema.ts"
import { FeatureNotInPlan } from "../metering/errors.ts"
import { described } from "./examples.ts"
import {
  FromClicksBody,
  MeaningBody,
  QualityRunList,
  QualitySuite,
  QualitySuiteBody,
  QualitySuiteList,
  RunBody,
  SUITE_BYTES_MAX
} from "./schema.ts"

const at = { group: "quality", plane: "control", scope: "full" } as const
const one = {
  ...at,
  params: { suiteId: Schema.String.annotate({ description: "The id of a suite, `qst_…`." }) }
} as const
const path = "/v1/quality/suites/:suiteId"
const page = Schema.Struct(pageFields({ max: 250, byDefault: 50 }))

export const listQualitySuites = operation({
  ...at,
  ...described.listQualitySuites,
  id: "listQualitySuites",
  summary: "List quality suites, without their judgments",
  method: "GET",
  path: "/v1/quality/suites",
  query: page,
  success: QualitySuiteList
})
export const createQualitySuite = operation({
  ...at,
  ...described.createQualitySuite,
  id: "createQualitySuite",
  summary: "Create a suite of judged queries",
  method: "POST",
  path: "/v1/quality/suites",
  payload: QualitySuiteBody,
  payloadIsChecked: false,
  bodyBytesMax: SUITE_BYTES_MAX,
  success: QualitySuite,
  status: 201,
  errors: [FeatureNotInPlan]
})
export const getQualitySuite = operation({
  ...one,
  ...described.getQualitySuite,
  id: "getQualitySuite",
  summary: "Get a suite with its judgments and its last run",
  method: "GET",
  path,
  success: QualitySuite,
  errors: [NotFound]
})
export const replaceQualitySuite = operation({
  ...one,
  ...described.replaceQualitySuite,
  id: "replaceQualitySuite",
  summary: "Replace a suite; its runs stay",
  method: "PUT",
  path,
  payload: QualitySuiteBody,
  payloadIsChecked: false,
  bodyBytesMax: SUITE_BYTES_MAX,
  success: QualitySuite,
  errors: [NotFound]
})
export const deleteQualitySuite = operation({
  ...one,
  ...described.deleteQualitySuite,
  id: "deleteQualitySuite",
  summary: "Delete a suite with its judgments and runs",
  method: "DELETE",
  path,
  success: Schema.Struct({ id: Schema.String }).annotate({ identifier: "DeletedQualitySuite" }),
  errors: [NotFound]
})
export const runQualitySuite = operation({
  ...one,
  ...described.runQualitySuite,
  id: "runQualitySuite",
  summary: "Run a suite",
  method: "POST",
  path: `${path}/run`,
  payload: RunBody,
  success: Job,
  status: 202,
  errors: [Conflict, NotFound]
})
export const judgeFromClicks = operation({
  ...one,
  ...described.judgeFromClicks,
  id: "judgeFromClicks",
  summary: "Derive judgments from clicks",
  method: "POST",
  path: `${path}/judgments/from-clicks`,
  payload: FromClicksBody,
  success: Job,
  status: 202,
  errors: [Conflict, NotFound]
})
export const weighMeaning = operation({
  ...one,
  ...described.weighMeaning,
  id: "weighMeaning",
  summary: "Tune how much meaning counts in a profile",
  method: "POST",
  path: `${path}/meaning`,
  payload: MeaningBody,
  success: Job,
  status: 202,
  errors: [Conflict, NotFound]
})
export const listQualityRuns = operation({
  ...one,
  ...described.listQualityRuns,
  id: "listQualityRuns",
  summary: "List the runs of a suite, newest first",
  method: "GET",
  path: `${path}/runs`,
  query: page,
  success: QualityRunList,
  errors: [NotFound]
})
