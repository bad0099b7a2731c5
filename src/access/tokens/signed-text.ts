/**
 * Keys that contain their permissions and are not stored: prefix + base64url(payload JSON) + `.` +
 * base64url(HMAC-SHA256(payload JSON, signing key)). Pure; takes microseconds.
 */
import { createHmac, timingSafeEqual } from "node:crypto"

/** Longest text accepted or created, in characters; less than a header may contain. */
export const SIGNED_TEXT_LENGTH_MAX = 16_384

const signatureOf = (payload: string, signingKey: Uint8Array): Buffer =>
  createHmac("sha256", signingKey).update(payload).digest()

export const signText = (prefix: string, payload: object, signingKey: Uint8Array): string => {
  const json = JSON.stringify(payload)
  return `${prefix}${Buffer.from(json).toString("base64url")}.${signatureOf(json, signingKey).toString("base64url")}`
}

/** The contents of a text before its signature is verified. Undefined if the text does not have the form. */
interface SignedText {
  readonly json: string
  readonly signature: Buffer
  readonly payload: Readonly<Record<string, unknown>>
}
export const parseSignedText = (prefix: string, text: string): SignedText | undefined => {
  if (text.length > SIGNED_TEXT_LENGTH_MAX || !text.startsWith(prefix)) return undefined
  const parts = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{43})$/.exec(text.slice(prefix.length))
  if (parts === null) return undefined
  const bytes = Buffer.from(parts[1]!, "base64url")
  // Each payload has exactly one valid encoding.
  if (bytes.toString("base64url") !== parts[1]) return undefined
  try {
    const json = bytes.toString("utf8")
    const payload: unknown = JSON.parse(json)
    return typeof payload === "object" && payload !== null && !Array.isArray(payload)
      ? { json, signature: Buffer.from(parts[2]!, "base64url"), payload: payload as Record<string, unknown> }
      : undefined
  } catch {
    return undefined
  }
}

/** Compares in constant time. */
export const isSigned = ({ json, signature }: SignedText, signingKey: Uint8Array): boolean => {
  const expected = signatureOf(json, signingKey)
  return expected.length === signature.length && timingSafeEqual(expected, signature)
}
