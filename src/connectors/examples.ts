/**
 * Descriptions of the operations on connectors, each with an example request that succeeds (`src/http/operation.ts`).
 */
import type { Described } from "../http/operation.ts"
import { sampleIds } from "../api/sample-ids.ts"

const connectorId = sampleIds.connector
const mapping = {
  title: { join: ["vendor", "name"] },
  price: { number: { first_of: ["sale_price", "price"] } },
  tags: { list: "tags", split: "," }
} as const

export const described = {
  listConnectors: {
    description:
      "Lists the connectors of the organization, without their secrets. A page has at most 250, and an organization at most 100 connectors.",
    example: { query: { limit: "20" } }
  },
  createConnector: {
    description:
      "Creates a connector from a shop system to a collection and shows its signing secret this once. With `sync_mode` `push` the shop system sends; with `pull` its catalogue is fetched from `pull_url`, with `pull_token` as bearer, according to `schedule_cron` (five fields, UTC) and whenever `sync` is called. With `Idempotency-Key` (1 to 255 characters) the same body gets the same connector and secret for 24 hours, another body 409. The plan bounds the number of connectors (403).",
    example: {
      headers: { "idempotency-key": "shop-1" },
      body: { name: "Shop", collection: "products", provider: "generic", sync_mode: "push", mapping }
    }
  },
  getConnector: {
    description:
      "Shows a connector: its collection, provider, mapping, state and last error. The secret is not shown again. An unknown id is a 404.",
    example: { params: { connectorId } }
  },
  updateConnector: {
    description:
      "Changes the name, the mapping, the pull settings, or whether the connector is enabled; omitted fields stay, and `null` removes a value. A disabled connector accepts no pushes and is not pulled. An unknown id is a 404.",
    example: { params: { connectorId }, body: { name: "Shop, renamed" } }
  },
  deleteConnector: {
    description:
      "Deletes a connector with its journal and jobs; the documents that it wrote stay. An unknown id is a 404.",
    example: { params: { connectorId: sampleIds.oldConnector } }
  },
  rotateConnectorSecret: {
    description:
      "Creates a new signing secret, shown this once; pushes signed with the old one are accepted for another 24 hours. At most four secrets are valid at a time, a further rotation is a 409.",
    example: { params: { connectorId } }
  },
  listConnectorJournal: {
    description:
      "Lists the outcome of pushed documents in the last seven days, newest first: applied, ignored because a newer version exists, or failed with the reason. `status` and `external_id` narrow it; a page has at most 250.",
    example: { params: { connectorId }, query: { limit: "20", status: "failed" } }
  },
  testConnectorMapping: {
    description:
      "Shows what the connector would make of an event: its id and its document, or the fields that fail. Nothing is written. An unknown id is a 404.",
    example: { params: { connectorId }, body: { event: { id: "lamp-1", name: "Lamp", price: "19.90" } } }
  },
  syncConnector: {
    description:
      "Queues a job that fetches the connector's catalogue, page after page (`next`, `Link` or `next_cursor`; a JSON list, `{data | items | products}` or JSON Lines; at most 5 MB each), and applies it like pushes. Unchanged pages are skipped. `full: true` reads all pages and deletes what is missing, unless that is more than 30 % of what the connector wrote; `confirm_deletes: true` allows it. A second pull of the connector meanwhile is a 409, and so is a pull of a connector that is disabled or takes pushes.",
    example: { params: { connectorId: sampleIds.pullConnector }, body: { full: true } }
  },
  pushConnectorEvents: {
    description:
      "Accepts one event or up to 500 (`events`), each an upsert or a deletion of a document by `external_id`. The request is signed: `X-Signature` is the hex HMAC-SHA256 of `timestamp.body` with the connector's secret, `X-Signature-Timestamp` at most 300 seconds old (401 otherwise); Shopify and WooCommerce sign in their own headers. Accepted events are durable when the answer arrives, and are applied in order; older versions are ignored, and the job `job_id` shows the outcome.",
    example: { params: { connectorId }, body: { event: "upsert", external_id: "lamp-1", document: { title: "Lamp" } } }
  }
} as const satisfies Readonly<Record<string, Described>>
