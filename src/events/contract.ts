/** `POST /events` (contract part 3): reachable with a search key, one JSON batch or NDJSON of any length. */
import { operation } from "../wire/operation.ts"
import { BATCH_BYTES_MAX, EventBatch, EventBatchAnswer } from "./schema.ts"

export const ingestEvents = operation({
  id: "ingestEvents", group: "events", plane: "control", scope: "search", method: "POST", path: "/v1/events",
  summary: "Report behavioural events; also one event a line as application/x-ndjson",
  // Entries are judged one by one and answered by index, so the schema stands for the document only.
  payload: EventBatch, payloadIsChecked: false, success: EventBatchAnswer, bodyBytesMax: BATCH_BYTES_MAX, errors: [503]
})
