/**
 * Resolves a presented text to a stored key: the key itself, the parent of a secured key, or the key behind a scoped
 * token or a browser key. Reads only memory, so it is a plain function of the text, the time and the stored keys.
 */
import { Throttled, Unauthorized } from "../../http/errors.ts"
import type { ProfilePin } from "../../identity/known-profiles.ts"
import type { KeyRecord, KeyScope } from "../../identity/key-record.ts"
import type { KeyStore } from "../keys/key-store.ts"
import { browserKeyPrefix, recordOfBrowserKey, verifyBrowserKey } from "../tokens/browser-key.ts"
import { digestOf, lookupHash } from "../tokens/lookup-hash.ts"
import { scopedTokenPrefix, verifyScopedToken } from "../tokens/scoped-token.ts"
import { isSignedBy, parseSecuredKey } from "../tokens/secured-key.ts"
import type { FailedKeys } from "./failed-keys.ts"
import type { Presented } from "../../identity/presented.ts"

/** A key with the parameters that a secured key or a scoped token carries. */
interface Resolved {
  readonly key: KeyRecord
  readonly embedded: Record<string, unknown> | undefined
  /** The only collection that a scoped token may access. */ readonly index?: string
  /** The profile that a browser key is bound to. */ readonly profile?: ProfilePin
}
/** Why a text resolves to no key: the key is no longer valid, is unknown, or was not looked up. */
type Unresolved = "refused" | "unknown" | "waiting"

/** The stored keys needed to resolve a text. */
export interface KnownKeys {
  readonly keys: Pick<KeyStore, "byHash" | "byId" | "signer">
  readonly signingKeyOf: (organizationId: string) => Uint8Array | undefined
  readonly failedKeys: FailedKeys
  /** Whether the profile that a browser key is bound to still exists. */
  readonly hasProfile: (organizationId: string, pin: ProfilePin) => boolean
}

const noKey = "Forbidden - a valid `x-svc-api-key` header must be sent."
export const rejected = new Unauthorized({ message: noKey, reason: "rejected" })
export const missing = new Unauthorized({ message: noKey, reason: "missing" })
const badToken = new Unauthorized({ message: "The scoped token is invalid or expired.", reason: "scoped_token" })

const isLive = (key: KeyRecord, now_ms: number): boolean =>
  key.revoked_at === undefined && key.expires_at * 1000 > now_ms

/** The stored parent of another key, if it has not expired and has the required organization and scope. */
const originOf = (
  { keys }: KnownKeys,
  id: string,
  organizationId: string,
  scope: KeyScope,
  now_ms: number
): KeyRecord | undefined => {
  const key = keys.byId(id)
  return key !== undefined && key.organization_id === organizationId && key.scope === scope && isLive(key, now_ms)
    ? key
    : undefined
}

const resolveScopedToken = (known: KnownKeys, text: string, now_ms: number): Resolved | undefined => {
  const token = verifyScopedToken(text, now_ms, known.signingKeyOf)
  const key = token === undefined ? undefined : originOf(known, token.key_id, token.organization_id, "search", now_ms)
  return token === undefined || key === undefined
    ? undefined
    : { key, embedded: { filter_by: token.scopedFilter }, index: token.index }
}

const resolveBrowserKey = (known: KnownKeys, text: string, now_ms: number): Resolved | undefined => {
  const browserKey = verifyBrowserKey(text, now_ms, known.signingKeyOf)
  const minter =
    browserKey === undefined
      ? undefined
      : originOf(known, browserKey.minted_by, browserKey.organization_id, "full", now_ms)
  if (browserKey === undefined || minter === undefined) return undefined
  const { organization_id, profile } = browserKey
  if (profile !== undefined && !known.hasProfile(organization_id, profile)) return undefined
  return {
    key: recordOfBrowserKey(browserKey, minter),
    embedded: undefined,
    ...(profile === undefined ? {} : { profile })
  }
}

const resolveSecuredKey = (
  { failedKeys, keys }: KnownKeys,
  text: string,
  address: string,
  now_ms: number
): Resolved | Unresolved => {
  const secured = parseSecuredKey(text)
  if (secured === undefined) return "unknown"
  if (failedKeys.wait_ms(address, now_ms) > 0) return "waiting"
  const parent = keys.signer(secured.parentPrefix, ({ digest }) => isSignedBy(secured, digest))
  if (parent === undefined) return "unknown"
  const expires_at = secured.parameters.expires_at
  return isLive(parent, now_ms) &&
    (expires_at === undefined || (typeof expires_at === "number" && expires_at * 1000 > now_ms))
    ? { key: parent, embedded: { ...secured.parameters } }
    : "refused"
}

/** The key that a text resolves to. O(1) for plain keys and tokens; at most 64 signatures for secured keys. */
export const resolveKey = (
  known: KnownKeys,
  text: string,
  now_ms: number,
  { address, isGateway, scope }: Pick<Presented, "address" | "isGateway" | "scope">
): Resolved | Unresolved => {
  // One signature check against the key that the text names: even a forged token costs no more than a plain key.
  if (isGateway && text.startsWith(scopedTokenPrefix)) return resolveScopedToken(known, text, now_ms) ?? "refused"
  const plain = known.keys.byHash(lookupHash(digestOf(text)))
  // Installation keys open the runtime of CMS modules, which accepts no other keys.
  if (plain !== undefined)
    return isLive(plain, now_ms) && (plain.scope === "installation") === (scope === "installation")
      ? { key: plain, embedded: undefined }
      : "refused"
  if (scope === "installation") return "unknown"
  if (!isGateway && text.startsWith(browserKeyPrefix)) return resolveBrowserKey(known, text, now_ms) ?? "refused"
  return resolveSecuredKey(known, text, address, now_ms)
}

/** The response for a text that resolves to no key; unknown texts count against their network. */
export const unresolvedRefusal = (
  { failedKeys }: Pick<KnownKeys, "failedKeys">,
  why: Unresolved,
  { address, isGateway, key }: Pick<Presented, "address" | "isGateway" | "key">,
  now_ms: number
): Throttled | Unauthorized => {
  const wait_ms =
    why === "unknown" ? failedKeys.count(address, now_ms) : why === "waiting" ? failedKeys.wait_ms(address, now_ms) : 0
  if (wait_ms > 0)
    return new Throttled({
      message: "Too many unknown keys came from this network; wait before sending another one.",
      kind: "rate",
      retry_after_s: Math.ceil(wait_ms / 1000)
    })
  return isGateway && key?.startsWith(scopedTokenPrefix) === true ? badToken : rejected
}
