/**
 * The envelope of every record: who it belongs to, when it happened, which schema its payload has. Records are
 * self-contained msgpackr: shapes are written into each record, so any later process can read it.
 */
import { Packr } from "msgpackr"

export interface Envelope<Payload> {
  readonly schema_version: number
  /** Empty for records that carry several organizations, each entry naming its own. */
  readonly organization_id: string
  /** Unix milliseconds. */
  readonly occurred_at: number
  readonly payload: Payload
}

// Without `useRecords`, or with `structures` in memory, a later process could not read what this one wrote.
const packr = new Packr({ useRecords: true, encodeUndefinedAsNil: false })

export const encodeRecord = <Payload>(envelope: Envelope<Payload>): Uint8Array => packr.pack(envelope)

/** Throws on bytes that are no envelope; what a processor cannot decode it dead-letters. */
export const decodeRecord = (bytes: Uint8Array): Envelope<unknown> => {
  const decoded: unknown = packr.unpack(bytes)
  if (typeof decoded !== "object" || decoded === null) throw new TypeError("not a record envelope")
  const { schema_version, organization_id, occurred_at, payload } = decoded as Partial<Envelope<unknown>>
  if (typeof schema_version !== "number" || typeof organization_id !== "string" || typeof occurred_at !== "number") {
    throw new TypeError("not a record envelope")
  }
  return { schema_version, organization_id, occurred_at, payload }
}
