/**
 * Scoped tokens of the search gateway: a search key narrowed to one index and a filter for a short time, by HMAC under
 * the organization's signing key. Nothing is stored; a token dies with its time, with the key that it narrows, and with
 * its organization's pause.
 */
import { Option, Schema } from "effect"
import { isSigned, parseSignedText, signText } from "./signed-text.ts"

export const scopedTokenPrefix = "ss_scoped_"

const ScopedToken = Schema.Struct({
  organization_id: Schema.String,
  /** The search key that is narrowed. */ key_id: Schema.String,
  index: Schema.String,
  scopedFilter: Schema.String,
  /** Unix seconds. */ expires_at: Schema.Int
})
export type ScopedToken = typeof ScopedToken.Type
const decode = Schema.decodeUnknownOption(ScopedToken)

export const signScopedToken = (token: ScopedToken, signingKey: Uint8Array): string =>
  signText(scopedTokenPrefix, token, signingKey)

/** undefined for a forged, malformed or expired one. */
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
