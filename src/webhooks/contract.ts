/** Outbound webhooks. Full key only. */
import { Schema } from "effect"
import { refusing } from "../http/checks.ts"
import { operation } from "../http/operation.ts"
import { pageFields } from "../http/page.ts"
import {
  DELIVERIES_LISTED,
  WebhookBody,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookEndpointDetail,
  WebhookEndpointWithSecret
} from "./schema.ts"
import { FeatureNotInPlan } from "../metering/errors.ts"
import { DeliveryNotFound, SecretsExhausted, WebhookDisabled, WebhookNotFound, WebhooksExhausted } from "./errors.ts"
import { described } from "./examples.ts"

const at = { group: "webhooks", plane: "control", scope: "full" } as const
const webhookId = Schema.String.annotate({ description: "The id of a webhook endpoint, `whk_…`." })
const deliveryId = Schema.String.annotate({ description: "The id of a delivery to that endpoint, `dlv_…`." })
const one = { ...at, params: { webhookId } } as const
const oneDelivery = { ...at, params: { webhookId, deliveryId } } as const
const listOf = <S extends Schema.Codec<unknown, unknown, never, never>>(item: S, identifier: string) =>
  Schema.Struct({ data: Schema.Array(item), next_cursor: Schema.optionalKey(Schema.String) }).annotate({ identifier })

export const listWebhooks = operation({
  ...at,
  ...described.listWebhooks,
  id: "listWebhooks",
  summary: "List webhook endpoints",
  method: "GET",
  path: "/v1/webhooks",
  query: Schema.Struct(pageFields({ max: 250, byDefault: 50 })),
  success: listOf(WebhookEndpoint, "WebhookEndpointList")
})
export const createWebhook = operation({
  ...at,
  ...described.createWebhook,
  id: "createWebhook",
  summary: "Create a webhook endpoint; its secret is shown once",
  method: "POST",
  path: "/v1/webhooks",
  payload: WebhookBody,
  success: WebhookEndpointWithSecret,
  status: 201,
  errors: [FeatureNotInPlan, WebhooksExhausted]
})
export const getWebhook = operation({
  ...one,
  ...described.getWebhook,
  id: "getWebhook",
  summary: "Get a webhook endpoint with its 100 newest deliveries",
  method: "GET",
  path: "/v1/webhooks/:webhookId",
  success: WebhookEndpointDetail,
  errors: [WebhookNotFound]
})
export const updateWebhook = operation({
  ...one,
  ...described.updateWebhook,
  id: "updateWebhook",
  summary: "Replace a webhook endpoint; the secret stays",
  method: "PUT",
  path: "/v1/webhooks/:webhookId",
  payload: WebhookBody,
  success: WebhookEndpoint,
  errors: [WebhookNotFound]
})
export const deleteWebhook = operation({
  ...one,
  ...described.deleteWebhook,
  id: "deleteWebhook",
  summary: "Delete a webhook endpoint and its deliveries",
  method: "DELETE",
  path: "/v1/webhooks/:webhookId",
  success: Schema.Struct({ id: Schema.String }).annotate({ identifier: "DeletedWebhook" }),
  errors: [WebhookNotFound]
})
export const rotateWebhookSecret = operation({
  ...one,
  ...described.rotateWebhookSecret,
  id: "rotateWebhookSecret",
  summary: "Rotate the secret; the old one stays valid for 24 hours",
  method: "POST",
  path: "/v1/webhooks/:webhookId/secret",
  success: WebhookEndpointWithSecret,
  errors: [SecretsExhausted, WebhookNotFound]
})
/** Decision: 202 if something is only queued when the request is answered; the delivery shows the outcome. */
export const testWebhook = operation({
  ...one,
  ...described.testWebhook,
  id: "testWebhook",
  summary: "Send `webhook.test` to the endpoint",
  method: "POST",
  path: "/v1/webhooks/:webhookId/test",
  success: WebhookDelivery,
  status: 202,
  errors: [WebhookNotFound]
})
export const listWebhookDeliveries = operation({
  ...one,
  ...described.listWebhookDeliveries,
  id: "listWebhookDeliveries",
  summary: "List deliveries, newest first (100 by default)",
  method: "GET",
  path: "/v1/webhooks/:webhookId/deliveries",
  query: Schema.Struct(pageFields({ max: 250, byDefault: DELIVERIES_LISTED })),
  success: listOf(WebhookDelivery, "WebhookDeliveryList"),
  errors: [WebhookNotFound]
})
export const getWebhookDelivery = operation({
  ...oneDelivery,
  ...described.getWebhookDelivery,
  id: "getWebhookDelivery",
  summary: "Get one delivery with its exact body",
  method: "GET",
  path: "/v1/webhooks/:webhookId/deliveries/:deliveryId",
  success: WebhookDelivery,
  errors: [DeliveryNotFound, WebhookNotFound]
})
export const redeliverWebhookDelivery = operation({
  ...oneDelivery,
  ...described.redeliverWebhookDelivery,
  id: "redeliverWebhookDelivery",
  summary: "Send a delivery again under its id",
  method: "POST",
  path: "/v1/webhooks/:webhookId/deliveries/:deliveryId/redeliver",
  success: WebhookDelivery,
  status: 202,
  errors: [DeliveryNotFound, WebhookDisabled, WebhookNotFound]
})
/**
 * Decision: the contract names no path for the recovery that the product promises, so it is next to the other actions.
 */
export const recoverWebhook = operation({
  ...one,
  ...described.recoverWebhook,
  id: "recoverWebhook",
  summary: "Send everything again that failed since a time (Unix milliseconds)",
  method: "POST",
  path: "/v1/webhooks/:webhookId/recover",
  payload: Schema.Struct({
    since: Schema.Int.check(refusing((since: number) => (since < 0 ? "Unix milliseconds, 0 or more" : undefined)))
  }).annotate({ identifier: "RecoverWebhook" }),
  success: Schema.Struct({ recovered: Schema.Int }).annotate({ identifier: "RecoveredWebhook" }),
  status: 202,
  errors: [WebhookDisabled, WebhookNotFound]
})
