/**
 * Keys that a caller derives offline from a search key: base64(base64(HMAC-SHA256(parent, params)) + first four
 * characters of the parent + params JSON). Stock client libraries create them. HMAC with a key longer than the hash's
 * block equals HMAC with the key's SHA-256 (RFC 2104), so the stored digest suffices and no plaintext is kept.
 */
import { createHmac, timingSafeEqual } from "node:crypto"

interface SecuredKey {
  readonly signature: string
  readonly parentPrefix: string
  readonly parametersJson: string
  readonly parameters: Readonly<Record<string, unknown>>
}

/** Longest secured key accepted, in characters. */
export const SECURED_KEY_LENGTH_MAX = 16_384
/** Longer than a SHA-256 block: HMAC hashes only longer keys first. */
export const PARENT_LENGTH_MIN = 72

/** Undefined if the text does not have the form of a secured key. */
export const parseSecuredKey = (text: string): SecuredKey | undefined => {
  if (text.length < 64 || text.length > SECURED_KEY_LENGTH_MAX || !/^[A-Za-z0-9+/=_-]+$/.test(text)) return undefined
  const plain = Buffer.from(text, "base64").toString("utf8")
  const signature = plain.slice(0, 44)
  const parametersJson = plain.slice(48)
  if (!/^[A-Za-z0-9+/]{43}=$/.test(signature) || !parametersJson.startsWith("{")) return undefined
  try {
    const parameters: unknown = JSON.parse(parametersJson)
    return typeof parameters === "object" && parameters !== null && !Array.isArray(parameters)
      ? {
          signature,
          parentPrefix: plain.slice(44, 48),
          parametersJson,
          parameters: parameters as Record<string, unknown>
        }
      : undefined
  } catch {
    return undefined
  }
}

/** `digest` is the SHA-256 of the parent key. Compares signatures in constant time. */
export const isSignedBy = (key: SecuredKey, digest: Uint8Array): boolean => {
  const expected = Buffer.from(createHmac("sha256", digest).update(key.parametersJson).digest("base64"))
  const given = Buffer.from(key.signature)
  return expected.length === given.length && timingSafeEqual(expected, given)
}
