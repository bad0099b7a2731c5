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
      "Creates an endpoint that is told of the named events, or of all with `*`, and shows its signing secret this once. Deliveries are signed, at least once, and tried six times within about half an hour. The plan bounds how many endpoints there are (403); 100 is the most (409).",
    example: { body: endpoint }
  },
  getWebhook: {
    description:
      "Shows an endpoint with its 100 newest deliveries. The secret is not shown again. An unknown id is a 404.",
    example: { params: { webhookId } }
  },
  updateWebhook: {
    description:
      "Replaces name, address, events and whether the endpoint is enabled; the secret stays. Enabling it, or giving it another address, lets it fail for five days again before the program disables it; disabling it gives up what is pending. An unknown id is a 404.",
    example: { params: { webhookId }, body: { ...endpoint, name: "Shop, keys only" } }
  },
  deleteWebhook: {
    description:
      "Deletes an endpoint with its deliveries; what was not delivered yet never will be. An unknown id is a 404.",
    example: { params: { webhookId: sampleIds.oldWebhook } }
  },
  rotateWebhookSecret: {
    description:
      "Makes a new signing secret, shown this once; deliveries carry a signature by the old one as well for 24 hours. At most four secrets are valid at a time, a further rotation is a 409.",
    example: { params: { webhookId } }
  },
  testWebhook: {
    description:
      "Queues the event `webhook.test` for an endpoint, a disabled one too, and answers the delivery, which tells later how it went.",
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
      "Sends a delivery again under its own id, in a new round of six attempts. Receivers tell repeats by that id. A disabled endpoint is a 409: enable it first.",
    example: { params: { webhookId, deliveryId } }
  },
  recoverWebhook: {
    description:
      "Sends everything again that failed since a time in Unix milliseconds, and answers how many deliveries those are. A disabled endpoint is a 409: enable it first.",
    example: { params: { webhookId }, body: { since: 1_790_000_000_000 } }
  }
} as const satisfies Readonly<Record<string, Described>>
