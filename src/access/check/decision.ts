/**
 * The check of a request as one pure function, in the order of `docs/contract/errors.md#order-of-refusals`: the first
 * refusal that applies is the response. Later checks (resource, session, body, plan) need the resource and belong to
 * the use case.
 */
import { isInCidrs } from "../../net/network-address.ts"
import {
  AddressNotAllowed,
  CollectionNotAllowed,
  OrganizationPaused,
  organizationUnavailable,
  type OrganizationUnavailable,
  OriginNotAllowed,
  RestrictionNotApplicable,
  ScopeDenied,
  Throttled
} from "../../http/errors.ts"
import type { Scope } from "../../http/operation.ts"
import { collectionClosed, reachesCollection, reachesEverything } from "../../identity/reach.ts"
import type { KeyRecord } from "../../identity/key-record.ts"
import { isOwnSubdomain, originMatches } from "./origins.ts"

export interface DecisionInput {
  readonly key: KeyRecord
  readonly organization: {
    readonly status: "active" | "paused"
    readonly paused_reason: "payment" | "manual" | undefined
    readonly plan: string
  }
  /** The stored data that is unreadable; undefined if all is readable. */ readonly damage?: string | undefined
  /** The domain whose subdomains a free organization may list. */ readonly serviceDomain: string | undefined
  /** The only collection that a scoped token may access. */ readonly index: string | undefined
  readonly isSecured: boolean
  readonly scope: Scope
  readonly address: string
  readonly origin: string | undefined
  /** The collection that the path names, if any. */ readonly collection: string | undefined
  /** The operation concerns all collections of the organization (`reach.ts`). */ readonly isOfAll: boolean
  /** Takes one token of the key's minute; false when none is left. Called only after all earlier checks passed. */
  readonly takeRateToken: () => { readonly isAllowed: boolean; readonly resets_in_s: number }
}

export type Refusal =
  | OrganizationPaused
  | OrganizationUnavailable
  | AddressNotAllowed
  | OriginNotAllowed
  | ScopeDenied
  | Throttled
  | CollectionNotAllowed
  | RestrictionNotApplicable

/** A full key reaches all of the tenant's data; an installation's only its own runtime, which no other key reaches. */
const scopeReaches = (key: KeyRecord, scope: Scope): boolean => {
  switch (scope) {
    case "public":
      return true
    case "operator":
    case "console":
      return false
    case "installation":
      return key.scope === "installation"
    case "search":
      return key.scope === "full" || key.scope === "search"
    case "connector_write":
      return key.scope === "full" || key.scope === "connector_write"
    case "full":
      return key.scope === "full"
  }
}

/** The plan may have been reduced since the key was created; entries that it no longer includes are ignored. */
const countingOrigins = ({ key, organization, serviceDomain }: DecisionInput): ReadonlyArray<string> =>
  organization.plan === "free" ? key.origins.filter((entry) => isOwnSubdomain(entry, serviceDomain)) : key.origins

export const tooFast = (
  { rate_limit_per_minute }: Pick<KeyRecord, "rate_limit_per_minute">,
  resets_in_s: number
): Throttled =>
  new Throttled({
    message: "Rate limit exceeded.",
    kind: "rate",
    retry_after_s: resets_in_s,
    limit: rate_limit_per_minute
  })

/** Undefined: allowed. */
export const decide = (input: DecisionInput): Refusal | undefined => {
  const { key, organization } = input
  if (organization.status === "paused")
    return new OrganizationPaused({
      message: "The organization is paused.",
      reason: organization.paused_reason ?? "manual"
    })
  if (input.damage !== undefined) return organizationUnavailable(input.damage)
  if (key.cidrs.length > 0 && !isInCidrs(input.address, key.cidrs))
    return new AddressNotAllowed({ message: "This key is not allowed from this address." })
  if (key.origins.length > 0 && (input.origin === undefined || !originMatches(input.origin, countingOrigins(input))))
    return new OriginNotAllowed({ message: "This key is not allowed from this origin." })
  if (!scopeReaches(key, input.scope) || (input.isSecured && input.scope !== "search"))
    return new ScopeDenied({ message: "The scope of this key does not reach the operation." })
  const rate = input.takeRateToken()
  if (!rate.isAllowed) return tooFast(key, rate.resets_in_s)
  if (input.collection !== undefined && !reachesCollection(input, input.collection)) return collectionClosed()
  if (input.isOfAll && !reachesEverything(input))
    return new CollectionNotAllowed({
      message: "This key reaches only some collections; the operation concerns every collection of the organization."
    })
  // Row and field restrictions apply in searches only; a full key also reads documents in other ways (new keys cannot
  // have both).
  if (
    key.scope === "full" &&
    input.scope !== "search" &&
    (key.fields.length > 0 || Object.keys(key.filter_by).length > 0)
  )
    return new RestrictionNotApplicable({ message: "The restrictions of this key can only be applied to searches." })
  return undefined
}
