/**
 * Descriptions of the operations of connectors, each with an example request that succeeds (`src/http/operation.ts`).
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
      "Creates a connector of a shop system to a collection and shows its signing secret this once; `sync_mode` is `push` (the shop system sends) or `pull`: its catalogue is fetched from `pull_url`, with `pull_token` as bearer, as `schedule_cron` says (five fields, UTC) and when `sync` is called. With `Idempotency-Key` (1 to 255 characters) the same body is answered with the same connector and secret for 24 hours, another body with 409. The plan bounds how many there are (403).",
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
      "Changes name, mapping, what is pulled and when, and whether the connector is enabled; what is left out stays, and `null` takes it away. A disabled connector takes no pushes and is not pulled. An unknown id is a 404.",
    example: { params: { connectorId }, body: { name: "Shop, renamed" } }
  },
  deleteConnector: {
    description:
      "Deletes a connector with its journal and jobs; the documents that it wrote stay. An unknown id is a 404.",
    example: { params: { connectorId: sampleIds.oldConnector } }
  },
  rotateConnectorSecret: {
    description:
      "Makes a new signing secret, shown this once; pushes signed with the old one are taken for 24 hours more. At most four secrets are valid at a time, a further rotation is a 409.",
    example: { params: { connectorId } }
  },
  listConnectorJournal: {
    description:
      "Lists what became of pushed documents in the last seven days, newest first: applied, ignored because something newer was there, or failed with the reason. `status` and `external_id` narrow it; a page has at most 250.",
    example: { params: { connectorId }, query: { limit: "20", status: "failed" } }
  },
  testConnectorMapping: {
    description:
      "Shows what the connector would make of an event: its id, its document, or the fields that cannot be made. Nothing is written. An unknown id is a 404.",
    example: { params: { connectorId }, body: { event: { id: "lamp-1", name: "Lamp", price: "19.90" } } }
  },
  syncConnector: {
    description:
      "Queues a job that fetches the connector's catalogue, page after page (`next`, `Link` or `next_cursor`; a JSON list, `{data | items | products}` or JSON lines; at most 5 MB each), and applies it as pushes are. Pages that have not changed are passed over. `full: true` reads all and deletes what is missing, unless that is more than 30 % of what the connector wrote, which `confirm_deletes: true` allows. A second pull of the connector meanwhile is a 409, as is one of a connector that is disabled or takes pushes.",
    example: { params: { connectorId: sampleIds.pullConnector }, body: { full: true } }
  },
  pushConnectorEvents: {
    description:
      "Takes one event or up to 500 (`events`), each an upsert or a deletion of a document by `external_id`. It is signed: `X-Signature` is the hex HMAC-SHA256 of `timestamp.body` with the connector's secret, `X-Signature-Timestamp` at most 300 seconds old (401 otherwise); Shopify and WooCommerce sign in their own headers. What is answered is durable and applied in order; older versions are ignored, and `job_id` tells what became of it.",
    example: { params: { connectorId }, body: { event: "upsert", external_id: "lamp-1", document: { title: "Lamp" } } }
  }
} as const satisfies Readonly<Record<string, Described>>
