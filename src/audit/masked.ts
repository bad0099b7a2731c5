/** What the audit log may contain of a row: secrets are masked by the name of their field and by their form. Pure. */

export const MASK = "[masked]"
/** Matches complete words of a name: `sealed_digest` is a secret, `token_separators` is not. */
const secretName =
  /(^|_)(secrets?|passwords?|passphrase|credentials?|authorization|sealed|sealed_digest|lookup_hash|password_hash|token_hash|api_key|apikey|access_token|refresh_token|bearer_token|private_key|signing_key)$/i
const secretText = /\b(whsec_|ss_search_|ss_connector_|ss_scoped_|sk-|Bearer +)[A-Za-z0-9+/=_.-]{8,}/g
/** `https://user:password@host` */
const userInfo = /\b([a-z][a-z0-9+.-]*:\/\/)[^/?#\s@]+@/gi

const maskedText = (text: string): string => text.replace(userInfo, `$1${MASK}@`).replace(secretText, MASK)

/** O(size of value). Absent and null secrets stay as they are, because their absence is no secret. */
export const masked = (value: unknown): unknown => {
  if (typeof value === "string") return maskedText(value)
  if (Array.isArray(value)) return value.map(masked)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      name,
      each !== null && each !== undefined && secretName.test(name) ? MASK : masked(each)
    ])
  )
}

/** Limit of one value in the log. Larger ones (dictionaries, rule sets of thousands) are replaced by their size. */
export const VALUE_BYTES_MAX = 32_768

/** The value as the log stores it. */
export const shownValue = (value: unknown): unknown => {
  const shown = masked(value)
  const bytes = Buffer.byteLength(JSON.stringify(shown))
  return bytes <= VALUE_BYTES_MAX
    ? shown
    : { omitted: `${bytes} bytes, more than the ${VALUE_BYTES_MAX} that are kept` }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Names of fields that differ, compared before masking, because masks would hide the change of a rotated secret. */
export const changedFields = (before: unknown, after: unknown): ReadonlyArray<string> => {
  if (!isObject(before) || !isObject(after)) return []
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
    .sort()
}
