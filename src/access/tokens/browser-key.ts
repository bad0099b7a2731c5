/**
 * Browser keys: short-lived search keys that a tenant's server mints, perhaps one per visitor, so they are not
 * stored: each contains its restrictions, signed with a key derived from the organization's. A browser key ends when
 * it expires, when the full key that minted it or its profile is gone, and while its organization is paused.
 */
import { createHmac } from "node:crypto"
import { Option, Schema } from "effect"
import type { KeyRecord } from "../../identity/key-record.ts"
import { rateWithin } from "../keys/narrower.ts"
import { isSigned, parseSignedText, signText } from "./signed-text.ts"

export const browserKeyPrefix = "brk_"
export const browserKeyTtl_s = { min: 60, max: 86_400, default: 3_600 } as const

const BrowserKey = Schema.Struct({
  /** Its own id, for rate limits: `key_` + ULID. */ id: Schema.String,
  organization_id: Schema.String,
  /** The full key that minted it. */ minted_by: Schema.String,
  collections: Schema.Array(Schema.String),
  filter_by: Schema.Record(Schema.String, Schema.String),
  origins: Schema.Array(Schema.String),
  /** The search profile that it is bound to. */ profile: Schema.optionalKey(
    Schema.Struct({ id: Schema.String, name: Schema.String, collection: Schema.String })
  ),
  created_at: Schema.Int,
  /** Unix seconds. */ expires_at: Schema.Int
})
export type BrowserKey = typeof BrowserKey.Type
const decode = Schema.decodeUnknownOption(BrowserKey)

/** Derives a separate key, so that a browser key can never pass for a scoped token or vice versa. */
const derived = (signingKey: Uint8Array): Buffer =>
  createHmac("sha256", signingKey).update("dowser browser key 1").digest()

export const signBrowserKey = (key: BrowserKey, signingKey: Uint8Array): string =>
  signText(browserKeyPrefix, key, derived(signingKey))

/** Undefined for a forged, malformed or expired key. */
export const verifyBrowserKey = (
  text: string,
  now_ms: number,
  signingKeyOf: (organizationId: string) => Uint8Array | undefined
): BrowserKey | undefined => {
  const signed = parseSignedText(browserKeyPrefix, text)
  const key = signed === undefined ? undefined : Option.getOrUndefined(decode(signed.payload))
  const signingKey = key === undefined ? undefined : signingKeyOf(key.organization_id)
  return signed !== undefined &&
    key !== undefined &&
    signingKey !== undefined &&
    isSigned(signed, derived(signingKey)) &&
    key.expires_at * 1000 > now_ms
    ? key
    : undefined
}

/**
 * The browser key as a key record for requests: a search key without a row, bound to its minter's addresses, fields
 * and rate.
 */
export const recordOfBrowserKey = (
  { minted_by: _by, profile: _profile, ...key }: BrowserKey,
  { cidrs, fields, rate_limit_per_minute }: Pick<KeyRecord, "cidrs" | "fields" | "rate_limit_per_minute">
): KeyRecord => ({
  ...key,
  scope: "search",
  description: "Browser key",
  actions: ["documents:search"],
  value_prefix: browserKeyPrefix,
  lookup_hash: "",
  sealed_digest: undefined,
  cidrs,
  fields,
  rate_limit_per_minute: rateWithin(rate_limit_per_minute),
  autodelete: false,
  installation_id: undefined,
  revoked_at: undefined
})
