/** Descriptions of the alert operations, each with a request that succeeds (`src/http/operation.ts`). */
import type { Described } from "../http/operation.ts"
import { sampleIds } from "../api/sample-ids.ts"

const params = { alertId: sampleIds.alert }
const alert = {
  name: "Nothing is found",
  metric: "zero_result_rate",
  op: ">",
  threshold: 0.2,
  window_minutes: 60,
  collection: "products"
}
export const described = {
  listAlerts: {
    description: "Lists alerts by id, each with its state and its last value. A page has at most 250, 50 by default.",
    example: { query: { limit: "20" } }
  },
  createAlert: {
    description:
      "Creates an alert on a figure of the last minutes, for one collection or for all. When its condition becomes true, `alert.fired` is sent once; it is armed again when the condition is false. Rates need 50 searches in the window. An unknown metric is a 400 that lists the known ones, and a plan without room for another alert answers 403.",
    example: { body: alert }
  },
  getAlert: {
    description: "Shows an alert with its state. An unknown id, or another organization's, is a 404.",
    example: { params }
  },
  replaceAlert: {
    description:
      "Replaces an alert as a whole; omitted fields return to their defaults. If its condition changes it is armed again, and its last value is forgotten.",
    example: { params, body: { ...alert, threshold: 0.25, enabled: false } }
  },
  deleteAlert: {
    description: "Deletes an alert and returns its id. An unknown id is a 404.",
    example: { params: { alertId: sampleIds.oldAlert } }
  }
} as const satisfies Readonly<Record<string, Described>>
