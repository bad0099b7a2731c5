/** Descriptions of the operations of webhooks, each with an example request that succeeds (`src/http/operation.ts`). */
import type { Described } from "../http/operation.ts"
import { sampleIds } from "../api/sample-ids.ts"

const webhookId = sampleIds.webhook,
  deliveryId = sampleIds.delivery
const endpoint = {
  name: "Shop",
  url: "https://shop.example/hooks/search",
  events: ["api_key.created", "api_key.revoked"]
} as const

export const described = {
  listWebhooks: {
    description:
      "Lists the webhook endpoints of the organization, without their secrets. A page has at most 250, and an organization at most 100 endpoints.",
    example: { query: { limit: "20" } }
  },
  createWebhook: {
    description:
      "Creates an endpoint for the named events, or for all with `*`, and shows its signing secret this once. Deliveries are signed, arrive at least once, and are tried six times within about half an hour. The plan bounds the number of endpoints (403); more than 100 are a 409.",
    example: { body: endpoint }
  },
  getWebhook: {
    description:
      "Shows an endpoint with its 100 newest deliveries. The secret is not shown again. An unknown id is a 404.",
    example: { params: { webhookId } }
  },
  updateWebhook: {
    description:
      "Replaces name, address, events and whether the endpoint is enabled; the secret stays. After it is enabled or gets another address, it may fail for five days before the program disables it; disabling it drops pending deliveries. An unknown id is a 404.",
    example: { params: { webhookId }, body: { ...endpoint, name: "Shop, keys only" } }
  },
  deleteWebhook: {
    description: "Deletes an endpoint with its deliveries, including pending ones. An unknown id is a 404.",
    example: { params: { webhookId: sampleIds.oldWebhook } }
  },
  rotateWebhookSecret: {
    description:
      "Creates a new signing secret, shown this once; for 24 hours deliveries also carry a signature with the old one. At most four secrets are valid at a time, a further rotation is a 409.",
    example: { params: { webhookId } }
  },
  testWebhook: {
    description:
      "Queues the event `webhook.test` for an endpoint, even a disabled one. The answer is the delivery, which later shows its outcome.",
    example: { params: { webhookId } }
  },
  listWebhookDeliveries: {
    description:
      "Lists the deliveries of an endpoint, newest first: event, state, the receiver's status, attempts and times. A page has at most 250, 100 by default.",
    example: { params: { webhookId }, query: { limit: "20" } }
  },
  getWebhookDelivery: {
    description:
      "Shows one delivery with the exact body that was sent and the last error. An unknown endpoint or delivery is a 404.",
    example: { params: { webhookId, deliveryId } }
  },
  redeliverWebhookDelivery: {
    description:
      "Sends a delivery again under its own id, in a new round of six attempts. Receivers recognize repeats by that id. A disabled endpoint is a 409: enable it first.",
    example: { params: { webhookId, deliveryId } }
  },
  recoverWebhook: {
    description:
      "Sends everything again that failed since a time in Unix milliseconds, and returns the number of deliveries. A disabled endpoint is a 409: enable it first.",
    example: { params: { webhookId }, body: { since: 1_790_000_000_000 } }
  }
} as const satisfies Readonly<Record<string, Described>>
