/**
 * Single instants of the rollups, packed by organization and minute: what makes bounds between two minutes exact without
 * a row per event. One value per flush and minute; the values of a minute add up. Self-contained msgpackr arrays.
 */
import { Packr } from "msgpackr"

/** Signed sums at one instant: the key's parts without the organization, milliseconds after the minute, the measures. */
export type Instant = readonly [key: ReadonlyArray<string>, after_ms: number, sums: ReadonlyArray<number>]
export interface PackedMinute {
  readonly queries: ReadonlyArray<Instant>
  readonly products: ReadonlyArray<Instant>
  readonly events: ReadonlyArray<Instant>
  readonly filters: ReadonlyArray<Instant>
}

const packr = new Packr({ useRecords: false })
/** Version 1 had no filters, and keys of products ended with the document. */
const VERSION = 2

export const packMinute = ({ events, filters, products, queries }: PackedMinute): Uint8Array => packr.pack([VERSION, queries, products, events, filters])

export const unpackMinute = (bytes: Uint8Array): PackedMinute => {
  const [version, queries, products, events, filters = []] = packr.unpack(bytes) as [number, ReadonlyArray<Instant>, ReadonlyArray<Instant>, ReadonlyArray<Instant>, ReadonlyArray<Instant>?]
  if (version > VERSION) throw new TypeError(`instants of version ${version} are not known`)
  return { queries, products, events, filters }
}
