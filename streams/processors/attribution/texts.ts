/** Texts of events and searches in the form that is counted, and the keys of visits and query ids. */
import { cutBytes, storable } from "@dowser/log/normalize-query"

const DIMENSION_BYTES_MAX = 64
const NAME_BYTES_MAX = 256
/** A collection's name in the form that is counted. */
export const nameOf = (name: string): string => cutBytes(storable(name), NAME_BYTES_MAX)
/** A free text; empty if the value is not a text. */
export const asText = (value: unknown): string => (typeof value === "string" ? nameOf(value) : "")
/** A device, country or surface in the form that is counted. */
export const dimensionOf = (value: string): string => cutBytes(storable(value), DIMENSION_BYTES_MAX)
/** Without a session or user nothing is merged and nothing is attributed by session. */
export const visitorOf = (of: { readonly session_id?: string; readonly user_id?: string }): string =>
  of.session_id || of.user_id || ""

// Lengths make these unambiguous, because ids are arbitrary texts of the tenant.
export const visitKey = (organizationId: string, visitor: string, collection: string): string =>
  `${organizationId}|${visitor.length}|${visitor}|${collection}`
export const lonelyKey = (organizationId: string, queryId: string): string => `${organizationId}||${queryId}`
export const queryKey = (organizationId: string, queryId: string): string => `${organizationId}|${queryId}`
