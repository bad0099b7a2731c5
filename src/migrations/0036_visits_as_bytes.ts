/**
 * No table changes: from here on visits and query ids are stored in a stream process' own folder as bytes
 * (streams/processors/attribution/stored.ts). An earlier program could not read them, so it must not open the data any
 * more.
 */
import { Effect } from "effect"

export default Effect.void
