/**
 * The envelope of every record: the organization it belongs to, when it happened, and the schema of its payload. Events
 * are stored by column (`columns/layout.ts`). Other payloads, and events of older programs, are self-contained
 * msgpackr: shapes are written into each record, so any later process can read it.
 */
import { Packr } from "msgpackr"
import { EventColumns, isColumns } from "./columns/decode.ts"
import { encodeEvents } from "./columns/encode.ts"

export interface Envelope<Payload> {
  readonly schema_version: number
  /** Empty for records with entries of several organizations, each naming its own. */
  readonly organization_id: string
  /** Unix milliseconds. */
  readonly occurred_at: number
  readonly payload: Payload
}

// Without `useRecords`, or with `structures` in memory, a later process could not read what this one wrote.
const packr = new Packr({ useRecords: true, encodeUndefinedAsNil: false })

/** A payload with only `events` is written by column. */
export const encodeRecord = <Payload>(envelope: Envelope<Payload>): Uint8Array => {
  const events = eventsOf(envelope.payload)
  return (events === undefined ? undefined : encodeEvents(events, envelope)) ?? packr.pack(envelope)
}
const eventsOf = (payload: unknown): ReadonlyArray<unknown> | undefined => {
  if (typeof payload !== "object" || payload === null) return undefined
  const { events, ...others } = payload as { readonly events?: unknown }
  return Array.isArray(events) && Object.keys(others).length === 0 ? events : undefined
}

/** Throws if the bytes are not an envelope. */
export const decodeRecord = (bytes: Uint8Array): Envelope<unknown> => {
  const envelope = openRecord(bytes)
  return envelope.payload instanceof EventColumns
    ? { ...envelope, payload: { events: envelope.payload.events } }
    : envelope
}

/** Like `decodeRecord`, for readers of single events: a payload may be `EventColumns`, which are cheaper to read. */
export const openRecord = (bytes: Uint8Array): Envelope<unknown> => {
  if (isColumns(bytes)) {
    const payload = new EventColumns(bytes)
    const { occurred_at, organization_id, schema_version } = payload
    return { schema_version, organization_id, occurred_at, payload }
  }
  const decoded: unknown = packr.unpack(bytes)
  if (typeof decoded !== "object" || decoded === null) throw new TypeError("not a record envelope")
  const { schema_version, organization_id, occurred_at, payload } = decoded as Partial<Envelope<unknown>>
  if (typeof schema_version !== "number" || typeof organization_id !== "string" || typeof occurred_at !== "number") {
    throw new TypeError("not a record envelope")
  }
  return { schema_version, organization_id, occurred_at, payload }
}
