/**
 * Whether a push is signed with one of a connector's secrets. Pure; comparisons take constant time.
 *
 *   X-Signature-Timestamp   Unix seconds, at most 300 away from now
 *   X-Signature             hex HMAC-SHA256(secret, `<timestamp>.<raw body>`), with or without the prefix `sha256=`
 *
 * A shop system that signs in its own header (base64 of the HMAC over the raw body alone) is accepted by that header.
 * It signs no time, so only the version prevents old pushes from being replayed.
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import type { Provider } from "./mapping/providers.ts"

const SIGNATURE_AGE_MAX_S = 300
type Headers = Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
interface Signed {
  readonly headers: Headers
  readonly body: Uint8Array
  readonly now_s: number
}
const HEX = /^[0-9a-f]{64}$/i
const BASE64 = /^[A-Za-z0-9+/]{43}=$/
/** Requires exactly one value: if there were two, a proxy and this program might each read a different one. */
const single = (headers: Headers, name: string): string | undefined => {
  const value = headers[name]
  return typeof value === "string" ? value : undefined
}
/** All secrets are tried, so that timing does not reveal which one matched. */
const isOf = (secrets: ReadonlyArray<string>, given: Buffer, parts: ReadonlyArray<string | Uint8Array>): boolean => {
  let isSigned = false
  for (const secret of secrets) {
    const mac = createHmac("sha256", secret)
    for (const part of parts) mac.update(part)
    const expected = mac.digest()
    if (expected.length === given.length && timingSafeEqual(expected, given)) isSigned = true
  }
  return isSigned
}

/** The signature in normalized form, or why it is refused. */
type Checked = { readonly signature: string } | { readonly refusal: string }
const checked = (
  secrets: ReadonlyArray<string>,
  given: Buffer | undefined,
  parts: ReadonlyArray<string | Uint8Array>,
  refusal: string
): Checked => (given !== undefined && isOf(secrets, given, parts) ? { signature: given.toString("hex") } : { refusal })

export const checkSignature = (
  { body, headers, now_s }: Signed,
  secrets: ReadonlyArray<string>,
  provider: Provider | undefined
): Checked => {
  const own = provider?.headers === undefined ? undefined : single(headers, provider.headers.signature)
  if (own !== undefined)
    return checked(
      secrets,
      BASE64.test(own) ? Buffer.from(own, "base64") : undefined,
      [body],
      `The signature in \`${provider!.headers!.signature}\` is not that of this body and the connector's secret.`
    )
  const timestamp = single(headers, "x-signature-timestamp")
  const signature = single(headers, "x-signature")?.replace(/^sha256=/i, "")
  if (timestamp === undefined || signature === undefined)
    return { refusal: "A push has `X-Signature-Timestamp` and `X-Signature`, one of each." }
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(Number(timestamp) - now_s) > SIGNATURE_AGE_MAX_S)
    return {
      refusal: `\`X-Signature-Timestamp\` is the time in Unix seconds, at most ${SIGNATURE_AGE_MAX_S} away from ours.`
    }
  return checked(
    secrets,
    HEX.test(signature) ? Buffer.from(signature, "hex") : undefined,
    [`${timestamp}.`, body],
    "`X-Signature` is not that of `timestamp.body` and the connector's secret."
  )
}
