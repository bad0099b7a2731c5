/** Handlers of the operator's organizations. */
import { Context, Effect } from "effect"
import { Access, NEVER_EXPIRES, type NewKey, RATE_LIMIT_DEFAULT } from "../access/access.ts"
import { newKeyOf } from "../access/keys/new-key.ts"
import { createdWithinPlan, shownKey } from "../access/routes.ts"
import { Entitlements } from "../metering/entitlements.ts"
import { implement } from "../api/implement.ts"
import * as contract from "./contract.ts"
import type { OrganizationRecord } from "../organizations/organization.ts"
import { Organizations } from "../organizations/organizations.ts"

const shown = (organization: OrganizationRecord): typeof contract.Organization.Type => ({
  id: organization.id,
  name: organization.name,
  status: organization.status,
  ...(organization.paused_reason === undefined ? {} : { reason: organization.paused_reason }),
  plan: organization.plan,
  created_at: organization.created_at
})

const plainKey = (organizationId: string, scope: "full" | "search", rateLimit: number): NewKey => ({
  organization_id: organizationId,
  scope,
  description: scope === "full" ? "Full key" : "Search key",
  actions: scope === "full" ? ["*"] : ["documents:search"],
  collections: ["*"],
  isGateway: false,
  cidrs: [],
  origins: [],
  filter_by: {},
  rate_limit_per_minute: rateLimit,
  expires_at: NEVER_EXPIRES
})

/** An organization with its first two keys: what `org create` and the first start of a data folder create. */
export const createWithKeys = Effect.fn("organizations.createWithKeys")(function* (
  name: string,
  plan: string,
  rateLimit: number
) {
  const access = yield* Access
  const organization = yield* (yield* Organizations).create(name, plan)
  const full = yield* Effect.orDie(access.createKey(plainKey(organization.id, "full", rateLimit)))
  const search = yield* Effect.orDie(access.createKey(plainKey(organization.id, "search", rateLimit)))
  return { organization_id: organization.id, full_key: full.value, search_key: search.value }
})

export const routes = Effect.gen(function* () {
  const access = yield* Access
  const organizations = yield* Organizations
  const entitlements = yield* Entitlements
  const context = Context.make(Access, access).pipe(Context.add(Organizations, organizations))
  return [
    implement(contract.listOrganizations, ({ consoleCaller }) =>
      Effect.map(organizations.list, (all) => ({
        data: all
          .filter(({ id }) => consoleCaller.type === "operator" || id === consoleCaller.member.organization_id)
          .map(shown)
      }))
    ),
    implement(contract.getOrganization, ({ params }) => Effect.map(organizations.get(params.organizationId), shown)),
    implement(
      contract.createOrganization,
      Effect.fnUntraced(function* ({ payload }) {
        const { name, plan } = yield* payload
        return yield* Effect.provideContext(createWithKeys(name, plan ?? "standard", RATE_LIMIT_DEFAULT), context)
      })
    ),
    implement(
      contract.pauseOrganization,
      Effect.fnUntraced(function* ({ params, payload }) {
        const { reason } = yield* payload
        return shown(yield* organizations.set(params.organizationId, { status: "paused", paused_reason: reason }))
      })
    ),
    implement(contract.resumeOrganization, ({ params }) =>
      Effect.map(organizations.set(params.organizationId, { status: "active", paused_reason: undefined }), shown)
    ),
    implement(
      contract.createOrganizationKey,
      Effect.fnUntraced(function* ({ consoleCaller, params, payload }) {
        const { id } = yield* organizations.get(params.organizationId)
        const request = yield* newKeyOf(id, yield* payload)
        // Decision: the plan binds the organization's people, not the operator, who sets the plan.
        if (consoleCaller.type === "member") return yield* createdWithinPlan(access, entitlements, request)
        const { key, value } = yield* access.createKey(request)
        return { ...shownKey(key), value }
      })
    )
  ]
})
