/** CMS installations, and the operations that their modules call at run time. */
import { Schema } from "effect"
import { ConnectorDisabled, PushesUnavailable } from "../connectors/errors.ts"
import { PushAnswer } from "../connectors/schema.ts"
import { operation } from "../http/operation.ts"
import { pageFields } from "../http/page.ts"
import { FeatureNotInPlan } from "../metering/errors.ts"
import { ConfigRevisionMismatch, InstallationNotFound, InstallationRevoked } from "./errors.ts"
import { described } from "./examples.ts"
import {
  CreateInstallation,
  Installation,
  InstallationWithKey,
  PublishConfig,
  Report,
  RuntimeConfig
} from "./schema.ts"

const at = { group: "cms", plane: "control", scope: "full" } as const
const ID_CHARACTERS_MAX = 120
const installationId = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(ID_CHARACTERS_MAX)).annotate({
  description: "The id of a CMS installation, `cms_…`."
})
const one = { ...at, params: { installationId } } as const
const runtime = { group: "cms runtime", plane: "control", scope: "installation" } as const

export const listCmsInstallations = operation({
  ...at,
  ...described.listCmsInstallations,
  id: "listCmsInstallations",
  summary: "List CMS installations",
  method: "GET",
  path: "/v1/cms/installations",
  query: Schema.Struct(pageFields({ max: 250, byDefault: 50 })),
  success: Schema.Struct({
    data: Schema.Array(Installation),
    next_cursor: Schema.optionalKey(Schema.String)
  }).annotate({ identifier: "CmsInstallationList" })
})
export const createCmsInstallation = operation({
  ...at,
  ...described.createCmsInstallation,
  id: "createCmsInstallation",
  summary: "Create a CMS installation; its key is shown once",
  method: "POST",
  path: "/v1/cms/installations",
  payload: CreateInstallation,
  success: InstallationWithKey,
  status: 201,
  errors: [FeatureNotInPlan]
})
export const getCmsInstallation = operation({
  ...one,
  ...described.getCmsInstallation,
  id: "getCmsInstallation",
  summary: "Get a CMS installation",
  method: "GET",
  path: "/v1/cms/installations/:installationId",
  success: Installation,
  errors: [InstallationNotFound]
})
export const publishCmsConfig = operation({
  ...one,
  ...described.publishCmsConfig,
  id: "publishCmsConfig",
  summary: "Publish the configuration of an installation",
  method: "PUT",
  path: "/v1/cms/installations/:installationId/config",
  payload: PublishConfig,
  success: Installation,
  errors: [ConfigRevisionMismatch, InstallationNotFound, InstallationRevoked]
})
export const revokeCmsInstallation = operation({
  ...one,
  ...described.revokeCmsInstallation,
  id: "revokeCmsInstallation",
  summary: "Revoke the key of an installation, which itself stays",
  method: "DELETE",
  path: "/v1/cms/installations/:installationId/key",
  success: Installation,
  errors: [InstallationNotFound]
})
export const getCmsRuntimeConfig = operation({
  ...runtime,
  ...described.getCmsRuntimeConfig,
  id: "getCmsRuntimeConfig",
  summary: "What this installation is to run by",
  method: "GET",
  path: "/v1/cms/runtime/config",
  success: RuntimeConfig,
  errors: [InstallationNotFound]
})
export const reportCmsRuntime = operation({
  ...runtime,
  ...described.reportCmsRuntime,
  id: "reportCmsRuntime",
  summary: "Report a module's revision, discovery and state",
  method: "POST",
  path: "/v1/cms/runtime/report",
  payload: Report,
  payloadIsChecked: false,
  success: Schema.Struct({ desired_revision: Schema.Int }).annotate({ identifier: "CmsReportAnswer" }),
  errors: [ConfigRevisionMismatch, InstallationNotFound]
})
export const pushCmsEvents = operation({
  ...runtime,
  ...described.pushCmsEvents,
  id: "pushCmsEvents",
  summary: "Push catalogue events of a source",
  method: "POST",
  path: "/v1/cms/runtime/events",
  payload: Schema.Struct({
    store: Schema.String,
    source: Schema.String,
    events: Schema.Array(Schema.Unknown)
  }).annotate({ identifier: "CmsEvents" }),
  success: PushAnswer,
  status: 202,
  errors: [ConnectorDisabled, InstallationNotFound, PushesUnavailable]
})
