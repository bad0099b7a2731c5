/**
 * No table changes: visits and query ids lie in a stream process' own folder as bytes from here on
 * (streams/processors/attribution/stored.ts). A program before could not read them, so it must not open the data any
 * more.
 */
import { Effect } from "effect"

export default Effect.void
