/**
 * Which partition a record of the visitor topics belongs to. One pure function with a documented precedence, so that
 * the same event sent twice, over any connection or process, always gets to the partition of its first copy.
 */
import { partitionOfQueryId } from "./query-id.ts"

interface Routable {
  readonly query_id?: string
  readonly session_id?: string
  readonly user_id?: string
  readonly anonymous_id?: string
  readonly event_id?: string
  readonly document_id?: string
}

/** FNV-1a over UTF-16 code units, continuing from `before`. */
const fold = (before: number, text: string): number => {
  let h = before
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  return h
}
/** Mixes the bits, since only the low end of the result is used. */
const mixed = (folded: number): number => {
  const h = Math.imul(folded ^ (folded >>> 15), 0x2c1b3c6d)
  return (h ^ (h >>> 13)) >>> 0
}

/** The parts are folded one after another, because joining them would create a text per event only to hash it. */
const pick = (organizationId: string, kind: string, value: string, partitions: number): number =>
  partitions === 1 ? 0 : mixed(fold(fold(fold(fold(0x811c9dc5, organizationId), "\u0000"), kind), value)) % partitions

/**
 * The partition of a visitor's searches and of events without a query id. A visitor is identified by the session, else
 * the user, else the anonymous id.
 */
export const partitionOfVisitor = (organizationId: string, visitor: string, partitions: number): number =>
  pick(organizationId, "v", visitor, partitions)

/**
 * 1. the partition inside a query id of ours; 2. the visitor; 3. a foreign query id; 4. the event's own id, so that its
 *   copies meet; 5. its document. A query id from a time with more partitions than now falls through to the visitor.
 */
export const partitionOfEvent = (organizationId: string, event: Routable, partitions: number): number => {
  if (partitions === 1) return 0
  if (event.query_id !== undefined) {
    const inside = partitionOfQueryId(event.query_id)
    if (inside !== undefined && inside < partitions) return inside
  }
  const visitor = event.session_id ?? event.user_id ?? event.anonymous_id
  if (visitor !== undefined) return partitionOfVisitor(organizationId, visitor, partitions)
  if (event.query_id !== undefined) return pick(organizationId, "q", event.query_id, partitions)
  if (event.event_id !== undefined) return pick(organizationId, "e", event.event_id, partitions)
  return pick(organizationId, "d", event.document_id ?? "", partitions)
}

/** The partition that all changes of one document of a collection share. */
export const partitionOfDocument = (
  organizationId: string,
  collection: string,
  documentId: string,
  partitions: number
): number => pick(organizationId, "c", `${collection}\u0000${documentId}`, partitions)
