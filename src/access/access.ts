/**
 * Keys and organizations as every request sees them: one in-process snapshot, changed by the writes that commit it.
 * Creating and revoking happen here; what a key may do is `decision.ts`.
 */
import { createHash, timingSafeEqual } from "node:crypto"
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { Outbox } from "../outbox/outbox.ts"
import { Identifiers } from "../ports/identifiers.ts"
import { NotFound, Unauthorized } from "../wire/errors.ts"
import type { Scope } from "../wire/operation.ts"
import type { Caller } from "./caller.ts"
import { decide, type Refusal } from "./decision.ts"
import { KeyNotFound, KeyValueTaken } from "./errors.ts"
import type { KeyRecord, KeyScope } from "./key-record.ts"
import { makeKeysRepository, type OrganizationRecord } from "./keys-repository.ts"
import { makeRateBuckets } from "./rate.ts"
import { Seal } from "./seal.ts"
import { isSignedBy, parentLengthMin, parseSecuredKey, securedKeyLengthMax } from "./secured-key.ts"

/** What the edge knows of a request before its body. */
export interface Presented {
  readonly key: string | undefined
  readonly scope: Scope
  readonly address: string
  readonly origin: string | undefined
  readonly collection: string | undefined
  readonly sessionId: string | undefined
  readonly isRateFree: boolean
}

export interface NewKey {
  readonly organization_id: string
  readonly scope: KeyScope
  readonly description: string
  readonly actions: ReadonlyArray<string>
  readonly collections: ReadonlyArray<string>
  /** Chosen by the caller, else made. */ readonly value?: string
  readonly isGateway: boolean
  readonly cidrs: ReadonlyArray<string>
  readonly origins: ReadonlyArray<string>
  readonly filter_by: Readonly<Record<string, string>>
  readonly rate_limit_per_minute: number
  /** Unix seconds. */ readonly expires_at: number
}

const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest()
const isSameHash = (left: string, right: string): boolean => timingSafeEqual(Buffer.from(left, "hex"), Buffer.from(right, "hex"))

/** Spec part 8. */
export const rateLimitDefault = 600
/** Year 4021: "never", as the reference engine writes it (reference contract 18.1). */
export const neverExpires = 64_723_363_199

export class Access extends Context.Service<Access, {
  /** The first refusal in the contract's order, or who asks. O(1) for plain keys; O(parents with the same prefix) for secured ones. */
  readonly check: (presented: Presented) => Effect.Effect<Caller, Unauthorized | Refusal>
  readonly createOrganization: (name: string, plan: string) => Effect.Effect<OrganizationRecord>
  readonly organizations: () => ReadonlyArray<OrganizationRecord>
  readonly organization: (id: string) => OrganizationRecord | undefined
  readonly setOrganization: (id: string, change: Partial<Pick<OrganizationRecord, "status" | "paused_reason" | "plan" | "name">>) => Effect.Effect<OrganizationRecord, NotFound>
  /** The only moment at which the plaintext exists. */
  readonly createKey: (key: NewKey) => Effect.Effect<{ readonly key: KeyRecord; readonly value: string }, KeyValueTaken | NotFound>
  readonly listKeys: (organizationId: string) => ReadonlyArray<KeyRecord>
  readonly getKey: (organizationId: string, id: string) => Effect.Effect<KeyRecord, KeyNotFound>
  /** The next request with the key is refused; the row and its hash stay for audit. */
  readonly revokeKey: (organizationId: string, id: string) => Effect.Effect<KeyRecord, KeyNotFound>
}>()("dowser/access/Access") {
  static readonly layer: Layer.Layer<Access, never, SqlClient.SqlClient | Identifiers | Outbox | Seal> = Layer.effect(Access, Effect.gen(function*() {
    const repository = yield* makeKeysRepository
    const identifiers = yield* Identifiers
    const outbox = yield* Outbox
    const seal = yield* Seal
    const rates = makeRateBuckets()

    const organizations = new Map<string, OrganizationRecord>()
    const byHash = new Map<string, KeyRecord>()
    const byId = new Map<string, KeyRecord>()
    /** Search keys that can sign, by their first four characters. */
    const parents = new Map<string, Map<string, { readonly key: KeyRecord; readonly digest: Buffer }>>()

    const remember = (key: KeyRecord) => {
      byId.set(key.id, key)
      if (key.revoked_at !== undefined) {
        byHash.delete(key.lookup_hash)
        parents.get(key.value_prefix)?.delete(key.id)
        return
      }
      byHash.set(key.lookup_hash, key)
      if (key.sealed_digest === undefined) return
      const siblings = parents.get(key.value_prefix) ?? new Map()
      siblings.set(key.id, { key, digest: seal.open(key.sealed_digest) })
      parents.set(key.value_prefix, siblings)
    }
    for (const organization of yield* Effect.orDie(repository.allOrganizations)) organizations.set(organization.id, organization)
    for (const key of yield* Effect.orDie(repository.allKeys)) remember(key)

    const rejected = new Unauthorized({ message: "Forbidden - a valid `x-svc-api-key` header must be sent.", reason: "rejected" })
    const missing = new Unauthorized({ message: "Forbidden - a valid `x-svc-api-key` header must be sent.", reason: "missing" })

    /** The key a text stands for, with the parameters that a secured key carries. */
    const resolve = (text: string, now_ms: number): { readonly key: KeyRecord; readonly embedded: Record<string, unknown> | undefined } | undefined => {
      const hash = sha256(text).toString("hex")
      const plain = byHash.get(hash)
      const isLive = (key: KeyRecord) => key.expires_at * 1000 > now_ms
      if (plain !== undefined) return isSameHash(plain.lookup_hash, hash) && isLive(plain) ? { key: plain, embedded: undefined } : undefined
      const secured = parseSecuredKey(text)
      if (secured === undefined) return undefined
      for (const parent of parents.get(secured.parentPrefix)?.values() ?? []) {
        if (!isSignedBy(secured, parent.digest)) continue
        const expires_at = secured.parameters.expires_at
        const isInTime = expires_at === undefined || (typeof expires_at === "number" && expires_at * 1000 > now_ms)
        return isInTime && isLive(parent.key) ? { key: parent.key, embedded: { ...secured.parameters } } : undefined
      }
      return undefined
    }

    const check = Effect.fnUntraced(function*(presented: Presented) {
      if (presented.key === undefined || presented.key === "") return yield* missing
      if (presented.key.length > securedKeyLengthMax) return yield* rejected
      const now_ms = yield* Clock.currentTimeMillis
      const resolved = resolve(presented.key, now_ms)
      const organization = resolved === undefined ? undefined : organizations.get(resolved.key.organization_id)
      if (resolved === undefined || organization === undefined) return yield* rejected
      const { embedded, key } = resolved
      let rate: Caller["rate"]
      const refusal = decide({
        key,
        organization,
        isSecured: embedded !== undefined,
        scope: presented.scope,
        address: presented.address,
        origin: presented.origin,
        collection: presented.collection,
        takeRateToken: () => {
          if (key.rate_limit_per_minute === 0 || presented.isRateFree) return { isAllowed: true, resets_in_s: 0 }
          const taken = rates.take(key.id, key.rate_limit_per_minute, now_ms)
          rate = { limit: key.rate_limit_per_minute, remaining: taken.remaining, resets_at: taken.resets_at }
          return { isAllowed: taken.isAllowed, resets_in_s: Math.ceil((taken.resets_at - now_ms) / 1000) }
        }
      })
      if (refusal !== undefined) return yield* refusal
      return { organizationId: key.organization_id, key, scope: key.scope === "full" ? "full" as const : "search" as const, embedded, sessionId: presented.sessionId, rate }
    })

    const createOrganization = Effect.fn("Access.createOrganization")(function*(name: string, plan: string) {
      const organization: OrganizationRecord = { id: yield* identifiers.make("org"), name, status: "active", paused_reason: undefined, plan, created_at: yield* Clock.currentTimeMillis }
      yield* Effect.orDie(repository.insertOrganization(organization))
      organizations.set(organization.id, organization)
      return organization
    })

    const setOrganization = Effect.fn("Access.setOrganization")(function*(id: string, change: Partial<OrganizationRecord>) {
      const current = organizations.get(id)
      if (current === undefined) return yield* new NotFound({ message: `Organization ${id} does not exist.` })
      const next: OrganizationRecord = { ...current, ...change }
      yield* Effect.orDie(repository.updateOrganization(next))
      organizations.set(id, next)
      return next
    })

    const createKey = Effect.fn("Access.createKey")(function*(request: NewKey) {
      if (!organizations.has(request.organization_id)) return yield* new NotFound({ message: `Organization ${request.organization_id} does not exist.` })
      const prefix = request.scope === "connector_write" ? "ss_connector_" : request.isGateway ? "ss_search_" : ""
      const value = request.value ?? prefix + (yield* identifiers.secret(parentLengthMin + 4))
      const digest = sha256(value)
      const lookup_hash = digest.toString("hex")
      if (byHash.has(lookup_hash)) return yield* new KeyValueTaken({ message: "API key generation conflict." })
      const canSign = request.scope === "search" && prefix === "" && value.length >= parentLengthMin
      const now = yield* Clock.currentTimeMillis
      const key: KeyRecord = {
        id: yield* identifiers.make("key"),
        organization_id: request.organization_id,
        scope: request.scope,
        description: request.description,
        actions: request.actions,
        collections: request.collections,
        value_prefix: value.slice(0, 4),
        lookup_hash,
        sealed_digest: canSign ? seal.seal(digest) : undefined,
        cidrs: request.cidrs,
        origins: request.origins,
        filter_by: request.filter_by,
        rate_limit_per_minute: request.rate_limit_per_minute,
        expires_at: request.expires_at,
        created_at: now,
        revoked_at: undefined
      }
      yield* Effect.orDie(repository.transaction(Effect.andThen(
        repository.insertKey(key),
        outbox.put(key.organization_id, "api_key.created", { key_id: key.id, scope: key.scope, description: key.description })
      )))
      remember(key)
      return { key, value }
    })

    const own = (organizationId: string, id: string): KeyRecord | undefined => {
      const key = byId.get(id)
      return key !== undefined && key.organization_id === organizationId && key.revoked_at === undefined ? key : undefined
    }
    const getKey = Effect.fnUntraced(function*(organizationId: string, id: string) {
      const key = own(organizationId, id)
      return key === undefined ? yield* new KeyNotFound({ message: "Not found." }) : key
    })
    const revokeKey = Effect.fn("Access.revokeKey")(function*(organizationId: string, id: string) {
      const key = yield* getKey(organizationId, id)
      const revoked: KeyRecord = { ...key, revoked_at: yield* Clock.currentTimeMillis }
      yield* Effect.orDie(repository.transaction(Effect.andThen(
        repository.revokeKey(id, revoked.revoked_at ?? 0),
        outbox.put(organizationId, "api_key.revoked", { key_id: id, scope: key.scope, description: key.description })
      )))
      remember(revoked)
      return revoked
    })

    return Access.of({
      check,
      createOrganization,
      organizations: () => [...organizations.values()],
      organization: (id) => organizations.get(id),
      setOrganization,
      createKey,
      listKeys: (organizationId) => [...byId.values()].filter((key) => key.organization_id === organizationId && key.revoked_at === undefined),
      getKey,
      revokeKey
    })
  }))
}
