/**
 * Texts of events and searches in the form that is counted, and the keys that visits and query ids are kept under.
 * Pure, but for what was asked last: the same text is to be the same string.
 */
import { BoundedMap } from "@dowser/engine-sdk/host"
import { cutBytes, normalizeQuery, storable } from "@dowser/log/normalize-query"

const DIMENSION_BYTES_MAX = 64
const NAME_BYTES_MAX = 256
/** A collection's name, as it is counted. */
export const nameOf = (name: string): string => cutBytes(storable(name), NAME_BYTES_MAX)
/** A free text; empty for what is none. */
export const asText = (value: unknown): string => (typeof value === "string" ? nameOf(value) : "")

/**
 * Every event brings its own copies of texts, and what is kept for thirty days would keep them: so a text equal to the
 * last one becomes the same string. The functions are pure; each remembers one short answer.
 */
const remembering = (of: (text: string) => string) => {
  let asked = "",
    answer = of("")
  return (text: string): string => {
    if (text === asked) return answer
    answer = of(text)
    asked = answer === text ? answer : text
    return answer
  }
}
const cutDimension = (value: string): string => cutBytes(storable(value), DIMENSION_BYTES_MAX)
export const deviceOf = remembering(cutDimension),
  countryOf = remembering(cutDimension),
  surfaceOf = remembering(cutDimension)
export const collectionOf = remembering((name) => name)
const visitorAs = remembering((id) => id)

/**
 * Normal forms of queries that were asked lately. A form costs more than finding it, and shops ask the same again and
 * again.
 */
const NORMALIZED_LENGTH_MAX = 64
const normalized = new BoundedMap<string, string>({
  bytes_max: 2_000_000,
  bytesOf: (q, form) => 2 * (q.length + form.length)
})
export const normalFormOf = (q: string): string => {
  if (q.length > NORMALIZED_LENGTH_MAX) return normalizeQuery(q)
  let form = normalized.get(q)
  if (form === undefined) normalized.set(q, (form = normalizeQuery(q)))
  return form
}
/** Without a session or user nothing is merged and nothing is attributed by session. */
export const visitorOf = (of: { readonly session_id?: string; readonly user_id?: string }): string =>
  visitorAs(of.session_id || of.user_id || "")

// Lengths make these unambiguous: ids are the tenant's own text.
/** Events of one visit come together: its key is built and hashed once for all of them. */
const lastVisit = { organizationId: "", visitor: "", collection: "", key: "|0||" }
export const visitKey = (organizationId: string, visitor: string, collection: string): string => {
  if (
    visitor === lastVisit.visitor &&
    collection === lastVisit.collection &&
    organizationId === lastVisit.organizationId
  )
    return lastVisit.key
  lastVisit.organizationId = organizationId
  lastVisit.visitor = visitor
  lastVisit.collection = collection
  return (lastVisit.key = `${organizationId}|${visitor.length}|${visitor}|${collection}`)
}
export const lonelyKey = (organizationId: string, queryId: string): string => `${organizationId}||${queryId}`
export const queryKey = (organizationId: string, queryId: string): string => `${organizationId}|${queryId}`
