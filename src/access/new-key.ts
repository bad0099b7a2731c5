/** What a request for a key may ask: one issue names the first field that is wrong. */
import { Effect } from "effect"
import { parseCidr } from "../ports/network-address.ts"
import { inputInvalid } from "../wire/errors.ts"
import { neverExpires, type NewKey } from "./access.ts"
import { browserKeyPrefix } from "./browser-key.ts"
import type { CreateKey } from "./contract.ts"
import { KeyTooWide } from "./errors.ts"
import { type KeyRecord, type KeyScope, rateLimitDefault, rateLimitMax } from "./key-record.ts"
import { rateWithin, type Width, widerFields } from "./narrower.ts"
import { isOriginPattern } from "./origins.ts"

/** Entries of each list: what every request of the key is compared with. */
const listMax = 250
const filterLengthMax = 4_000

/** Engine `actions` name a scope or nothing (contract part 1): never silently full. */
const scopeOf = (request: typeof CreateKey.Type): Exclude<KeyScope, "installation"> | undefined => {
  if (request.scope !== undefined) return request.scope
  const actions = request.actions ?? []
  if (actions.length === 1 && actions[0] === "*") return "full"
  if (actions.length === 1 && actions[0] === "documents:search") return "search"
  return undefined
}

/** Names, `*`, and `.*` inside a name: what `collectionMatches` can decide in linear time. */
const isPattern = (text: string): boolean => text === "*" || (text.length <= 256 && /^(?:[^\\^$+?()[\]{}|*]|\.\*)+$/.test(text))

/** All that is wider at once, so that one answer tells what to change. */
export const checkWidth = (asked: Width, creator: Width | undefined): Effect.Effect<void, KeyTooWide> => {
  const fields = creator === undefined ? [] : widerFields(asked, creator)
  return fields.length === 0 ? Effect.void : Effect.fail(new KeyTooWide({ message: `A key makes only keys that are no wider than itself; this one would be in ${fields.map((name) => `\`${name}\``).join(", ")}.`, fields }))
}

/** The restrictions that stored keys and browser keys have in common. */
export const checkRestrictions = Effect.fnUntraced(function*(request: { readonly collections?: ReadonlyArray<string>; readonly filter_by?: Readonly<Record<string, string>>; readonly origins?: ReadonlyArray<string> }, creator: Pick<KeyRecord, "collections" | "filter_by" | "origins"> | undefined) {
  const collections = request.collections ?? creator?.collections ?? ["*"]
  if (collections.length === 0 || collections.length > listMax) return yield* inputInvalid("collections", `Name at least one collection, or \`*\`, and at most ${listMax}`)
  const badPattern = collections.find((pattern) => !isPattern(pattern))
  if (badPattern !== undefined) return yield* inputInvalid("collections", `\`${badPattern.slice(0, 80)}\` is not a name, \`*\`, or a pattern with \`.*\``)
  const filters = Object.entries(request.filter_by ?? {})
  if (filters.length > listMax) return yield* inputInvalid("filter_by", `At most ${listMax} collections`)
  for (const [name, filter] of filters) {
    if (!isPattern(name)) return yield* inputInvalid("filter_by", `\`${name.slice(0, 80)}\` is not a collection, \`*\`, or a pattern with \`.*\``)
    if (filter.trim() === "" || filter.length > filterLengthMax) return yield* inputInvalid(`filter_by.${name.slice(0, 80)}`, `A filter of 1 to ${filterLengthMax} characters; an empty one would restrict nothing`)
  }
  const origins = request.origins ?? creator?.origins ?? []
  const badOrigin = origins.find((entry) => !isOriginPattern(entry))
  if (badOrigin !== undefined || origins.length > listMax) return yield* inputInvalid("origins", badOrigin === undefined ? `At most ${listMax} origins` : `\`${badOrigin.slice(0, 80)}\` is not an origin like \`https://shop.example\` or \`https://*.shop.example\``)
  return { collections, filter_by: request.filter_by ?? creator?.filter_by ?? {}, origins }
})

/** `creator`: the key that asks, whose restrictions hold where the request says nothing of them; undefined for the operator. */
export const newKeyOf = Effect.fnUntraced(function*(organizationId: string, request: typeof CreateKey.Type, creator?: KeyRecord) {
  const scope = scopeOf(request)
  if (scope === undefined) return yield* inputInvalid("actions", "Only [\"*\"] and [\"documents:search\"] are actions here; set `scope` to `full`, `search` or `connector_write` instead")
  const restrictions = yield* checkRestrictions(request, creator)
  const cidrs = request.cidrs ?? creator?.cidrs ?? []
  const badCidr = cidrs.find((cidr) => parseCidr(cidr) === undefined)
  if (badCidr !== undefined || cidrs.length > listMax) return yield* inputInvalid("cidrs", badCidr === undefined ? `At most ${listMax} ranges` : `\`${badCidr.slice(0, 80)}\` is not an address or a CIDR range`)
  const fields = request.fields ?? (creator === undefined || creator.fields.length === 0 ? undefined : creator.fields)
  if (request.fields !== undefined && fields !== undefined && (fields.length === 0 || fields.length > listMax || fields.some((name) => name.length > 256 || !/^[^*$(),\s`]+$/.test(name)))) return yield* inputInvalid("fields", `1 to ${listMax} names of fields, without patterns`)
  // Row and field restrictions hold in searches; who may read and write documents, or make another key, is not held by them.
  for (const name of ["filter_by", "fields"] as const) if (request[name] !== undefined && scope !== "search") return yield* inputInvalid(name, "Only for keys with the scope `search`")
  if (request.value !== undefined && (request.value.length < 16 || request.value.length > 512)) return yield* inputInvalid("value", "A chosen key has 16 to 512 characters")
  if (request.value !== undefined && (!/^[\x21-\x7e]+$/.test(request.value) || [browserKeyPrefix, "ss_scoped_", "ss_cms_"].some((prefix) => request.value?.startsWith(prefix) === true))) return yield* inputInvalid("value", `Printable ASCII without spaces, and not beginning as keys do that are only made here (\`${browserKeyPrefix}\`, \`ss_scoped_\`, \`ss_cms_\`)`)
  if (request.rate_limit_per_minute !== undefined && (request.rate_limit_per_minute < 0 || request.rate_limit_per_minute > rateLimitMax)) return yield* inputInvalid("rate_limit_per_minute", `0 (no limit) to ${rateLimitMax}`)
  if (request.gateway === true && scope === "full") return yield* inputInvalid("gateway", "A gateway key has the scope `search` or `connector_write`")
  const key: NewKey = {
    organization_id: organizationId,
    scope,
    description: request.description,
    actions: request.actions ?? (scope === "full" ? ["*"] : scope === "search" ? ["documents:search"] : ["documents:import"]),
    ...restrictions,
    ...(request.value === undefined ? {} : { value: request.value }),
    isGateway: request.gateway === true,
    cidrs,
    ...(fields === undefined ? {} : { fields }),
    autodelete: request.autodelete ?? false,
    rate_limit_per_minute: request.rate_limit_per_minute ?? (creator === undefined ? rateLimitDefault : rateWithin(creator.rate_limit_per_minute)),
    expires_at: request.expires_at ?? creator?.expires_at ?? neverExpires
  }
  yield* checkWidth({ ...key, fields: key.fields ?? [] }, creator)
  return key
})
