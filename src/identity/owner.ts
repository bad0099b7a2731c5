/**
 * The organization itself as a caller, for what the console and jobs do on its behalf without a key. It has access to
 * everything in the organization.
 */
import type { Caller } from "./caller.ts"

export const ownerOf = (organizationId: string): Caller => ({
  organizationId,
  scope: "full",
  embedded: undefined,
  sessionId: undefined,
  rate: undefined,
  key: {
    id: "console",
    organization_id: organizationId,
    scope: "full",
    description: "Console",
    actions: ["*"],
    collections: ["*"],
    value_prefix: "",
    lookup_hash: "",
    sealed_digest: undefined,
    cidrs: [],
    origins: [],
    filter_by: {},
    fields: [],
    autodelete: false,
    installation_id: undefined,
    rate_limit_per_minute: 0,
    expires_at: Number.MAX_SAFE_INTEGER,
    created_at: 0,
    revoked_at: undefined
  }
})
