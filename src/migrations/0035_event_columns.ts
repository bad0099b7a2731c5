/**
 * No table changes: from here on events are stored in the log by column (log/columns/layout.ts). An earlier program
 * would find such records unreadable and store them as dead letters, so it must not open the data any more.
 */
import { Effect } from "effect"

export default Effect.void
