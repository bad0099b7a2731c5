/**
 * `/keys`: the engine's shape plus our restrictions (`docs/contract/keys.md#restrictions`). Errors have the control
 * plane's shape.
 */
import { Schema } from "effect"
import { browserKeyTtl_s } from "./tokens/browser-key.ts"
import {
  Addresses,
  ChosenValue,
  Description,
  FieldNames,
  Filters,
  Origins,
  Patterns,
  RateLimit,
  Ttl
} from "./keys/key-fields.ts"
import { operation } from "../http/operation.ts"
import { NotFound } from "../http/errors.ts"
import { FeatureNotInPlan, LimitsUnavailable } from "../metering/errors.ts"
import { KeyNotFound, KeyTooWide, KeyValueTaken } from "./errors.ts"
import { described } from "./examples.ts"

const strings = Schema.Array(Schema.String)
export const CreateKey = Schema.Struct({
  description: Description,
  actions: Schema.optionalKey(strings),
  collections: Schema.optionalKey(Patterns),
  value: Schema.optionalKey(ChosenValue),
  expires_at: Schema.optionalKey(Schema.Int),
  autodelete: Schema.optionalKey(Schema.Boolean),
  scope: Schema.optionalKey(Schema.Literals(["full", "search", "connector_write"])),
  gateway: Schema.optionalKey(Schema.Boolean),
  cidrs: Schema.optionalKey(Addresses),
  origins: Schema.optionalKey(Origins),
  filter_by: Schema.optionalKey(Filters),
  fields: Schema.optionalKey(FieldNames),
  personalization: Schema.optionalKey(Schema.Boolean),
  rate_limit_per_minute: Schema.optionalKey(RateLimit)
}).annotate({
  identifier: "CreateKey",
  description:
    'A key makes only keys that are no wider than itself in any of these; what is not said is as the creating key has it (the rate: 600 or less). A chosen `value` signs no secured keys; one that is made here does. `collections` holds for every operation: names, aliases as names of their own, `*`, and `.*` inside a name. What belongs to no collection (synonyms, curations, presets, stopwords, dictionaries, webhooks, the audit log) is for keys of `*`; documents with references are written, and deleted where others refer to them, by keys that reach both collections. `filter_by` (a filter for each collection, ANDed to every search) and `fields` (what may be named and is shown, `a` with all below it; `id` too only where it is named) are for search keys. A key with `filter_by` reaches the collections that it lists, by their names, aliases or patterns, and no others: `"*"` is the filter of all the rest, and `id:*` leaves a collection open, to joins too. `include_fields` and `exclude_fields` inside a secured key bound what may be named as `fields` do. `personalization: false`: nothing that a visitor did acts on searches of the key, whatever `x_personalization_strength` says.'
})

export const ApiKey = Schema.Struct({
  id: Schema.String,
  description: Schema.String,
  actions: strings,
  collections: strings,
  scope: Schema.Literals(["full", "search", "connector_write"]),
  expires_at: Schema.Int,
  autodelete: Schema.Boolean,
  cidrs: strings,
  origins: strings,
  filter_by: Schema.Record(Schema.String, Schema.String),
  fields: Schema.optionalKey(strings),
  /** Absent if searches with the key may be personalized by visitors' interactions. */
  personalization: Schema.optionalKey(Schema.Literal(false)),
  rate_limit_per_minute: Schema.Int,
  created_at: Schema.Int,
  /** Present only in the response to its creation. */ value: Schema.optionalKey(Schema.String),
  value_prefix: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "ApiKey" })

const at = { group: "keys", plane: "control", scope: "full" } as const
const one = {
  ...at,
  params: { keyId: Schema.String.annotate({ description: "The id of a key, `key_…`; never its value." }) }
} as const
export const listKeys = operation({
  ...at,
  ...described.listKeys,
  id: "listKeys",
  summary: "List the keys of the organization",
  method: "GET",
  path: "/v1/keys",
  success: Schema.Struct({ keys: Schema.Array(ApiKey) }).annotate({ identifier: "ApiKeyList" })
})
export const createKey = operation({
  ...at,
  ...described.createKey,
  id: "createKey",
  summary: "Create a key; its value is shown once",
  method: "POST",
  path: "/v1/keys",
  payload: CreateKey,
  success: ApiKey,
  status: 201,
  errors: [FeatureNotInPlan, KeyTooWide, KeyValueTaken, NotFound]
})
export const getKey = operation({
  ...one,
  ...described.getKey,
  id: "getKey",
  summary: "Get one key without its value",
  method: "GET",
  path: "/v1/keys/:keyId",
  success: ApiKey,
  errors: [KeyNotFound]
})
export const deleteKey = operation({
  ...one,
  ...described.deleteKey,
  id: "deleteKey",
  summary: "Revoke a key",
  method: "DELETE",
  path: "/v1/keys/:keyId",
  success: Schema.Struct({ id: Schema.String }).annotate({ identifier: "DeletedKey" }),
  errors: [KeyNotFound]
})

export const CreateBrowserKey = Schema.Struct({
  /** From 60 to 86,400; 3,600 by default. */ ttl_seconds: Schema.optionalKey(Ttl(browserKeyTtl_s)),
  profile: Schema.optionalKey(Schema.String),
  collections: Schema.optionalKey(Patterns),
  filter_by: Schema.optionalKey(Filters),
  origins: Schema.optionalKey(Origins)
}).annotate({ identifier: "CreateBrowserKey" })
export const BrowserKey = Schema.Struct({ key: Schema.String, /** Unix seconds. */ expires_at: Schema.Int }).annotate({
  identifier: "BrowserKey",
  description:
    "Shown once and stored nowhere; it works until `expires_at` or until the full key that minted it is revoked."
})
export const createBrowserKey = operation({
  ...at,
  ...described.createBrowserKey,
  id: "createBrowserKey",
  summary: "Mint a short-lived search key for a browser",
  method: "POST",
  path: "/v1/browser_keys",
  payload: CreateBrowserKey,
  success: BrowserKey,
  status: 201,
  errors: [FeatureNotInPlan, KeyTooWide, LimitsUnavailable, NotFound]
})
