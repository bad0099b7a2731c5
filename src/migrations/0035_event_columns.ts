/**
 * No table changes: events lie in the log by column from here on (log/columns/layout.ts). A program before would
 * take such records for unreadable and put them aside as dead letters, so it must not open the data any more.
 */
import { Effect } from "effect"

export default Effect.void
