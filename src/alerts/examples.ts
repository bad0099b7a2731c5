/** Descriptions of the alert operations, with a request of each that succeeds (`src/http/operation.ts`). */
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
    description:
      "Lists alerts by id, each with its state and what was measured last. A page has at most 250, 50 by default.",
    example: { query: { limit: "20" } }
  },
  createAlert: {
    description:
      "Keeps a question about a figure of the last minutes, of one collection or of all. When it comes true, `alert.fired` is sent once; it is armed again when it is false. Rates need 50 searches in the window. An unknown metric is a 400 that names those there are, and a plan without room for one more a 403.",
    example: { body: alert }
  },
  getAlert: {
    description: "Shows an alert with its state. An unknown id, or another organization's, is a 404.",
    example: { params }
  },
  replaceAlert: {
    description:
      "Replaces all of an alert; fields that are left out reset. One whose question changes is armed anew, and what it measured is forgotten.",
    example: { params, body: { ...alert, threshold: 0.25, enabled: false } }
  },
  deleteAlert: {
    description: "Deletes an alert. It answers the id, and 404 when there is nothing.",
    example: { params: { alertId: sampleIds.oldAlert } }
  }
} as const satisfies Readonly<Record<string, Described>>
