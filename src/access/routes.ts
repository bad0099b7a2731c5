/** Handlers of `/keys`. */
import { Effect } from "effect"
import { parseCidr } from "../ports/network-address.ts"
import { Entitlements } from "../metering/entitlements.ts"
import { inputInvalid } from "../wire/errors.ts"
import { implement } from "../wire/route.ts"
import { Access, type NewKey, neverExpires, rateLimitDefault } from "./access.ts"
import * as contract from "./contract.ts"
import type { KeyRecord, KeyScope } from "./key-record.ts"

/** A key as answers show it: never its value. */
export const shownKey = (key: KeyRecord): typeof contract.ApiKey.Type => ({
  id: key.id,
  description: key.description,
  actions: key.actions,
  collections: key.collections,
  scope: key.scope,
  expires_at: key.expires_at,
  autodelete: false,
  cidrs: key.cidrs,
  origins: key.origins,
  filter_by: key.filter_by,
  rate_limit_per_minute: key.rate_limit_per_minute,
  created_at: key.created_at
})

/** Engine `actions` name a scope or nothing (contract part 1): never silently full. */
const scopeOf = (request: typeof contract.CreateKey.Type): KeyScope | undefined => {
  if (request.scope !== undefined) return request.scope
  const actions = request.actions ?? []
  if (actions.length === 1 && actions[0] === "*") return "full"
  if (actions.length === 1 && actions[0] === "documents:search") return "search"
  return undefined
}

/** Names, `*`, and `.*` inside a name: what `collectionMatches` can decide in linear time. */
const isPattern = (text: string): boolean => text === "*" || (text.length <= 256 && /^(?:[^\\^$+?()[\]{}|*]|\.\*)+$/.test(text))

export const newKeyOf = Effect.fnUntraced(function*(organizationId: string, request: typeof contract.CreateKey.Type) {
  const scope = scopeOf(request)
  if (scope === undefined) return yield* inputInvalid("actions", "Only [\"*\"] and [\"documents:search\"] are actions here; set `scope` to `full`, `search` or `connector_write` instead")
  const collections = request.collections ?? ["*"]
  if (collections.length === 0) return yield* inputInvalid("collections", "Name at least one collection, or `*`")
  const badPattern = collections.find((pattern) => !isPattern(pattern))
  if (badPattern !== undefined) return yield* inputInvalid("collections", `\`${badPattern.slice(0, 80)}\` is not a name, \`*\`, or a pattern with \`.*\``)
  const badCidr = (request.cidrs ?? []).find((cidr) => parseCidr(cidr) === undefined)
  if (badCidr !== undefined) return yield* inputInvalid("cidrs", `\`${badCidr.slice(0, 80)}\` is not an address or a CIDR range`)
  if (request.value !== undefined && (request.value.length < 16 || request.value.length > 512)) return yield* inputInvalid("value", "A chosen key has 16 to 512 characters")
  if (request.rate_limit_per_minute !== undefined && request.rate_limit_per_minute < 0) return yield* inputInvalid("rate_limit_per_minute", "0 (no limit) or more")
  if (request.gateway === true && scope === "full") return yield* inputInvalid("gateway", "A gateway key has the scope `search` or `connector_write`")
  const key: NewKey = {
    organization_id: organizationId,
    scope,
    description: request.description,
    actions: request.actions ?? (scope === "full" ? ["*"] : scope === "search" ? ["documents:search"] : ["documents:import"]),
    collections,
    ...(request.value === undefined ? {} : { value: request.value }),
    isGateway: request.gateway === true,
    cidrs: request.cidrs ?? [],
    origins: request.origins ?? [],
    filter_by: request.filter_by ?? {},
    rate_limit_per_minute: request.rate_limit_per_minute ?? rateLimitDefault,
    expires_at: request.expires_at ?? neverExpires
  }
  return key
})

export const routes = Effect.gen(function*() {
  const access = yield* Access
  const entitlements = yield* Entitlements
  return [
    implement(contract.listKeys, ({ caller }) => Effect.sync(() => ({ keys: access.listKeys(caller.organizationId).map((key) => ({ ...shownKey(key), value_prefix: key.value_prefix })) }))),
    implement(contract.createKey, ({ caller, payload }) => Effect.gen(function*() {
      const request = yield* newKeyOf(caller.organizationId, yield* payload)
      yield* entitlements.requireRoom(caller.organizationId, "api_keys", access.listKeys(caller.organizationId).length + 1)
      // 0 = no limit.
      yield* entitlements.requireRoom(caller.organizationId, "rate_limit_per_minute", request.rate_limit_per_minute === 0 ? Infinity : request.rate_limit_per_minute)
      const { key, value } = yield* access.createKey(request)
      return { ...shownKey(key), value }
    })),
    implement(contract.getKey, ({ caller, params }) => Effect.map(access.getKey(caller.organizationId, params.keyId), (key) => ({ ...shownKey(key), value_prefix: key.value_prefix }))),
    implement(contract.deleteKey, ({ caller, params }) => Effect.map(access.revokeKey(caller.organizationId, params.keyId), ({ id }) => ({ id })))
  ]
})
