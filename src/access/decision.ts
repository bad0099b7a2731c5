/**
 * The ordered check of contract part 0 as one pure function: the first refusal that holds answers. What comes after it
 * (resource, session, body, plan) needs the resource and belongs to the use case.
 */
import { isInCidrs } from "../ports/network-address.ts"
import { AddressNotAllowed, CollectionNotAllowed, OrganizationPaused, OriginNotAllowed, ScopeDenied, Throttled } from "../wire/errors.ts"
import type { Scope } from "../wire/operation.ts"
import type { KeyRecord } from "./key-record.ts"

export interface DecisionInput {
  readonly key: KeyRecord
  readonly organization: { readonly status: "active" | "paused"; readonly paused_reason: "payment" | "manual" | undefined }
  readonly isSecured: boolean
  readonly scope: Scope
  readonly address: string
  readonly origin: string | undefined
  /** The collection that the path names, if any. */ readonly collection: string | undefined
  /** Takes one token of the key's minute; false when none is left. Called only when everything before it passed. */
  readonly takeRateToken: () => { readonly isAllowed: boolean; readonly resets_in_s: number }
}

export type Refusal = OrganizationPaused | AddressNotAllowed | OriginNotAllowed | ScopeDenied | Throttled | CollectionNotAllowed

/** `https://shop.example`, or `*.shop.example` for every subdomain. */
export const originMatches = (origin: string, allowed: ReadonlyArray<string>): boolean => {
  const normal = origin.toLowerCase().replace(/\/+$/, "")
  const host = /^[a-z][a-z0-9+.-]*:\/\/([^/]+)$/.exec(normal)?.[1].replace(/:\d+$/, "")
  return allowed.some((entry) => {
    const pattern = entry.toLowerCase().replace(/\/+$/, "")
    if (pattern === "*" || pattern === normal || pattern === host) return true
    const suffix = /^(?:[a-z]+:\/\/)?\*(\..+)$/.exec(pattern)?.[1]
    return suffix !== undefined && host !== undefined && host.endsWith(suffix)
  })
}

/** Whole-name match of names, `*` and patterns with `.*`; linear in the name, so no pattern can be made to hang. */
export const collectionMatches = (name: string, patterns: ReadonlyArray<string>): boolean =>
  patterns.some((pattern) => {
    if (pattern === "*" || pattern === ".*" || pattern === name) return true
    const parts = pattern.split(".*")
    if (parts.length === 1) return false
    if (!name.startsWith(parts[0])) return false
    let at = parts[0].length
    for (const part of parts.slice(1, -1)) {
      const found = name.indexOf(part, at)
      if (found < 0) return false
      at = found + part.length
    }
    const last = parts[parts.length - 1]
    return name.length - at >= last.length && name.endsWith(last)
  })

const scopeReaches = (key: KeyRecord, scope: Scope): boolean =>
  scope === "public" || (key.scope === "full" && scope !== "operator") || (key.scope === "search" && scope === "search")

/** undefined = allowed. */
export const decide = (input: DecisionInput): Refusal | undefined => {
  const { key, organization } = input
  if (organization.status === "paused") return new OrganizationPaused({ message: "The organization is paused.", reason: organization.paused_reason ?? "manual" })
  if (key.cidrs.length > 0 && !isInCidrs(input.address, key.cidrs)) return new AddressNotAllowed({ message: "This key is not allowed from this address." })
  if (key.origins.length > 0 && (input.origin === undefined || !originMatches(input.origin, key.origins))) return new OriginNotAllowed({ message: "This key is not allowed from this origin." })
  if (!scopeReaches(key, input.scope) || (input.isSecured && input.scope !== "search")) return new ScopeDenied({ message: "The scope of this key does not reach the operation." })
  const rate = input.takeRateToken()
  if (!rate.isAllowed) return new Throttled({ message: "Rate limit exceeded.", kind: "rate", retry_after_s: rate.resets_in_s, limit: key.rate_limit_per_minute })
  if (input.collection !== undefined && !collectionMatches(input.collection, key.collections)) return new CollectionNotAllowed({ message: "This key does not reach the collection." })
  return undefined
}
