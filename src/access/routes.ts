/** Handlers of `/keys` and `/browser_keys`. */
import { Clock, Effect } from "effect"
import { Entitlements } from "../metering/entitlements.ts"
import { WindowedCaps } from "../metering/windowed-caps.ts"
import { inputInvalid } from "../http/errors.ts"
import { makePinning } from "../profiles/pinned-profile.ts"
import { implement } from "../api/implement.ts"
import { Access, type NewKey } from "./access.ts"
import type { Caller } from "../identity/caller.ts"
import { KeyNotFound } from "./errors.ts"
import { browserKeyTtl_s } from "./tokens/browser-key.ts"
import * as contract from "./contract.ts"
import type { KeyRecord } from "../identity/key-record.ts"
import { rateWithin, withinCollections } from "./keys/narrower.ts"
import { checkWidth, newKeyOf, restrictionsOf } from "./keys/new-key.ts"
import { SIGNED_TEXT_LENGTH_MAX } from "./tokens/signed-text.ts"

/** A key as responses show it, without its value. */
export const shownKey = (key: KeyRecord): typeof contract.ApiKey.Type => ({
  id: key.id,
  description: key.description,
  actions: key.actions,
  collections: key.collections,
  // Keys of installations are not shown here.
  scope: key.scope as Exclude<KeyRecord["scope"], "installation">,
  expires_at: key.expires_at,
  autodelete: key.autodelete,
  cidrs: key.cidrs,
  origins: key.origins,
  filter_by: key.filter_by,
  ...(key.fields.length === 0 ? {} : { fields: key.fields }),
  ...(key.personalization === false ? { personalization: false as const } : {}),
  rate_limit_per_minute: key.rate_limit_per_minute,
  created_at: key.created_at
})

/** Creates a key within the limits of the organization's plan; returns it with its value. */
export const createdWithinPlan = Effect.fnUntraced(function* (
  access: Access["Service"],
  entitlements: Entitlements["Service"],
  request: NewKey
) {
  const { organization_id, rate_limit_per_minute } = request
  // 0 means no limit.
  yield* entitlements.requireRoom(
    organization_id,
    "rate_limit_per_minute",
    rate_limit_per_minute === 0 ? Infinity : rate_limit_per_minute
  )
  const { key, value } = yield* access.createKey(request, entitlements.cap(organization_id, "api_keys"))
  return { ...shownKey(key), value }
})

/** A key for more collections than the caller's does not exist for the caller: it is neither shown nor revoked. */
const isReached = (caller: Caller, key: KeyRecord): boolean =>
  withinCollections(key.collections, caller.key.collections)

export const routes = Effect.gen(function* () {
  const access = yield* Access
  const entitlements = yield* Entitlements
  const pinned = yield* makePinning
  const found = (caller: Caller, id: string) =>
    Effect.flatMap(access.getKey(caller.organizationId, id), (key) =>
      isReached(caller, key) ? Effect.succeed(key) : Effect.fail(new KeyNotFound({ message: "Not found." }))
    )
  const { browser_keys_per_hour } = yield* WindowedCaps
  return [
    implement(contract.listKeys, ({ caller }) =>
      Effect.sync(() => ({
        keys: access
          .listKeys(caller.organizationId)
          .filter((key) => isReached(caller, key))
          .map((key) => ({ ...shownKey(key), value_prefix: key.value_prefix }))
      }))
    ),
    implement(
      contract.createKey,
      Effect.fnUntraced(function* ({ caller, payload }) {
        const request = yield* newKeyOf(caller.organizationId, yield* payload, caller.key)
        return yield* createdWithinPlan(access, entitlements, request)
      })
    ),
    implement(contract.getKey, ({ caller, params }) =>
      Effect.map(found(caller, params.keyId), (key) => ({ ...shownKey(key), value_prefix: key.value_prefix }))
    ),
    implement(contract.deleteKey, ({ caller, params }) =>
      Effect.map(
        Effect.flatMap(found(caller, params.keyId), ({ id }) => access.revokeKey(caller.organizationId, id)),
        ({ id }) => ({ id })
      )
    ),
    implement(
      contract.createBrowserKey,
      Effect.fnUntraced(function* ({ caller, payload }) {
        const request = yield* payload
        const ttl_s = request.ttl_seconds ?? browserKeyTtl_s.default
        const restrictions = restrictionsOf(request, caller.key)
        // Fields that the token does not contain come from its creator (`recordOfBrowserKey`).
        const { cidrs, expires_at: expiry, fields, rate_limit_per_minute } = caller.key
        yield* checkWidth(
          {
            ...restrictions,
            scope: "search",
            cidrs,
            fields,
            rate_limit_per_minute: rateWithin(rate_limit_per_minute),
            expires_at: expiry
          },
          caller.key
        )
        const profile = request.profile === undefined ? undefined : yield* pinned(caller, request.profile, restrictions)
        const now_ms = yield* Clock.currentTimeMillis
        const expires_at = Math.min(Math.floor(now_ms / 1000) + ttl_s, caller.key.expires_at)
        const key = yield* access.mintBrowserKey({
          organization_id: caller.organizationId,
          minted_by: caller.key.id,
          ...restrictions,
          ...(profile === undefined ? {} : { profile }),
          expires_at
        })
        if (key.length > SIGNED_TEXT_LENGTH_MAX)
          return yield* inputInvalid(
            "filter_by",
            "The key carries its restrictions and would be longer than a header may be; use shorter ones"
          )
        // Counts an issued token; a refused request does not count.
        yield* browser_keys_per_hour.take(caller.organizationId, 1)
        return { key, expires_at }
      })
    )
  ]
})
