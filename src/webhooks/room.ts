/** Notifies tenants' own addresses of events. */
import { Effect, Layer } from "effect"
import { Installation } from "../installation.ts"
import { Webhooks } from "./webhooks.ts"
import { expireDeliveries } from "./deliveries-retention.ts"
import { layerDispatcher } from "./dispatcher.ts"
import { metrics } from "./metrics.ts"
import { routes } from "./routes.ts"
import { seeds } from "./seeds.ts"
import { defineRoom } from "../room.ts"
import { errorSamples } from "./error-samples.ts"

export const room = defineRoom({
  name: "webhooks",
  routes,
  metrics,
  errorSamples,
  reaches: {
    listWebhooks: "organization",
    createWebhook: "organization",
    getWebhook: "organization",
    updateWebhook: "organization",
    deleteWebhook: "organization",
    rotateWebhookSecret: "organization",
    testWebhook: "organization",
    listWebhookDeliveries: "organization",
    getWebhookDelivery: "organization",
    redeliverWebhookDelivery: "organization",
    recoverWebhook: "organization"
  },
  groups: { webhooks: "Endpoints that are told of events, and what was delivered to them." },
  seeds,
  layer: Layer.provideMerge(Layer.unwrap(Effect.map(Installation, layerDispatcher)), Webhooks.layer),
  audited: {
    webhook: (sql, { id, organizationId }) =>
      sql`SELECT row_to_json(t)::text AS row FROM webhook_endpoints t WHERE organization_id = ${organizationId} AND id = ${id}`
  },
  // Any member may read and test; everything else needs an owner or admin.
  roles: {
    listWebhooks: "member",
    getWebhook: "member",
    testWebhook: "member",
    listWebhookDeliveries: "member",
    getWebhookDelivery: "member",
    createWebhook: "admin",
    updateWebhook: "admin",
    deleteWebhook: "admin",
    rotateWebhookSecret: "admin",
    redeliverWebhookDelivery: "admin",
    recoverWebhook: "admin"
  },
  expiries: [expireDeliveries]
})
