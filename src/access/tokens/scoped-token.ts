/**
 * Scoped tokens of the search gateway: a search key narrowed to one index and a filter for a short time, by HMAC with
 * the organization's signing key. Nothing is stored; a token becomes invalid when it expires, when the key that it
 * narrows is gone, and while its organization is paused.
 */
import { Option, Schema } from "effect"
import { isSigned, parseSignedText, signText } from "./signed-text.ts"

export const scopedTokenPrefix = "ss_scoped_"

const ScopedToken = Schema.Struct({
  organization_id: Schema.String,
  /** The search key that the token narrows. */ key_id: Schema.String,
  index: Schema.String,
  scopedFilter: Schema.String,
  /** Unix seconds. */ expires_at: Schema.Int
})
export type ScopedToken = typeof ScopedToken.Type
const decode = Schema.decodeUnknownOption(ScopedToken)

export const signScopedToken = (token: ScopedToken, signingKey: Uint8Array): string =>
  signText(scopedTokenPrefix, token, signingKey)

/** Undefined for a forged, malformed or expired token. */
export const verifyScopedToken = (
  text: string,
  now_ms: number,
  signingKeyOf: (organizationId: string) => Uint8Array | undefined
): ScopedToken | undefined => {
  const signed = parseSignedText(scopedTokenPrefix, text)
  const token = signed === undefined ? undefined : Option.getOrUndefined(decode(signed.payload))
  const signingKey = token === undefined ? undefined : signingKeyOf(token.organization_id)
  return signed !== undefined &&
    token !== undefined &&
    signingKey !== undefined &&
    isSigned(signed, signingKey) &&
    token.expires_at * 1000 > now_ms
    ? token
    : undefined
}
