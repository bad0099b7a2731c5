/** Organizations for the operator (`/console/v1`): the API of the command line. */
import { Schema } from "effect"
import { ApiKey, CreateKey } from "../access/contract.ts"
import { refusing } from "../http/checks.ts"
import { operation } from "../http/operation.ts"
import { ConfigurationUnavailable } from "../http/errors.ts"
import { KeyTooWide, KeyValueTaken } from "../access/errors.ts"
import { FeatureNotInPlan } from "../metering/errors.ts"
import { described } from "./examples.ts"

export const Organization = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  status: Schema.Literals(["active", "paused"]),
  reason: Schema.optionalKey(Schema.Literals(["payment", "manual"])),
  plan: Schema.String,
  created_at: Schema.Int
}).annotate({ identifier: "Organization" })

const at = { group: "organizations", plane: "control", scope: "operator" } as const
export const listOrganizations = operation({
  ...at,
  ...described.listOrganizations,
  scope: "console",
  id: "listOrganizations",
  summary: "List organizations; a member's session lists its own",
  method: "GET",
  path: "/console/v1/organizations",
  success: Schema.Struct({ data: Schema.Array(Organization) }).annotate({ identifier: "OrganizationList" })
})
export const getOrganization = operation({
  ...at,
  ...described.getOrganization,
  scope: "console",
  id: "getOrganization",
  summary: "Get an organization",
  method: "GET",
  path: "/console/v1/organizations/:organizationId",
  success: Organization
})
export const createOrganization = operation({
  ...at,
  ...described.createOrganization,
  id: "createOrganization",
  summary: "Create an organization with a full and a search key",
  method: "POST",
  path: "/console/v1/organizations",
  payload: Schema.Struct({
    name: Schema.String.check(
      refusing((name: string) => (name.trim() === "" || name.length > 200 ? "1 to 200 characters" : undefined))
    ),
    plan: Schema.optionalKey(Schema.Literals(["free", "standard", "unlimited"]))
  }).annotate({ identifier: "CreateOrganization" }),
  success: Schema.Struct({
    organization_id: Schema.String,
    full_key: Schema.String,
    search_key: Schema.String
  }).annotate({ identifier: "CreatedOrganization" }),
  status: 201,
  errors: [ConfigurationUnavailable]
})
export const pauseOrganization = operation({
  ...at,
  ...described.pauseOrganization,
  id: "pauseOrganization",
  summary: "Pause: every operation answers 402",
  method: "POST",
  path: "/console/v1/organizations/:organizationId/pause",
  payload: Schema.Struct({ reason: Schema.Literals(["payment", "manual"]) }).annotate({
    identifier: "PauseOrganization"
  }),
  success: Organization,
  errors: [ConfigurationUnavailable]
})
export const resumeOrganization = operation({
  ...at,
  ...described.resumeOrganization,
  id: "resumeOrganization",
  summary: "Resume a paused organization",
  method: "POST",
  path: "/console/v1/organizations/:organizationId/resume",
  success: Organization,
  errors: [ConfigurationUnavailable]
})
export const createOrganizationKey = operation({
  ...at,
  ...described.createOrganizationKey,
  scope: "console",
  id: "createOrganizationKey",
  summary: "Create a key for an organization",
  method: "POST",
  path: "/console/v1/organizations/:organizationId/keys",
  payload: CreateKey,
  success: ApiKey,
  status: 201,
  errors: [FeatureNotInPlan, KeyTooWide, KeyValueTaken]
})
