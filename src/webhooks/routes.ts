/** Handlers of `/webhooks`. */
import { Effect } from "effect"
import { Entitlements } from "../metering/entitlements.ts"
import { capOf } from "../metering/plans.ts"
import { byId, pageOf } from "../http/page.ts"
import { implement } from "../api/implement.ts"
import * as contract from "./contract.ts"
import { endpointFields } from "./endpoint-input.ts"
import { ENDPOINTS_MAX } from "./schema.ts"
import { Webhooks } from "./webhooks.ts"

export const routes = Effect.gen(function* () {
  const webhooks = yield* Webhooks
  const entitlements = yield* Entitlements
  return [
    implement(
      contract.listWebhooks,
      Effect.fnUntraced(function* ({ caller, query }) {
        const { cursor, limit } = yield* query
        return pageOf(yield* webhooks.list(caller.organizationId, { cursor, limit: limit + 1 }), limit, byId)
      })
    ),
    implement(
      contract.createWebhook,
      Effect.fnUntraced(function* ({ caller, payload }) {
        const { organizationId } = caller
        const cap = capOf(entitlements.of(organizationId).plan, "webhooks")
        return yield* Effect.catchTag(
          webhooks.create(organizationId, endpointFields(yield* payload), cap),
          "WebhooksExhausted",
          (error) =>
            Effect.andThen(
              entitlements.requireRoom(organizationId, "webhooks", Math.min(cap + 1, ENDPOINTS_MAX)),
              Effect.fail(error)
            )
        )
      })
    ),
    implement(
      contract.getWebhook,
      Effect.fnUntraced(function* ({ caller, params }) {
        const endpoint = yield* webhooks.get(caller.organizationId, params.webhookId)
        return { ...endpoint, deliveries: yield* webhooks.newestDeliveries(endpoint.id) }
      })
    ),
    implement(
      contract.updateWebhook,
      Effect.fnUntraced(function* ({ caller, params, payload }) {
        yield* webhooks.get(caller.organizationId, params.webhookId)
        return yield* webhooks.replace(caller.organizationId, params.webhookId, endpointFields(yield* payload))
      })
    ),
    implement(contract.deleteWebhook, ({ caller, params }) => webhooks.remove(caller.organizationId, params.webhookId)),
    implement(contract.rotateWebhookSecret, ({ caller, params }) =>
      webhooks.rotateSecret(caller.organizationId, params.webhookId)
    ),
    implement(contract.testWebhook, ({ caller, params }) => webhooks.sendTest(caller.organizationId, params.webhookId)),
    implement(
      contract.listWebhookDeliveries,
      Effect.fnUntraced(function* ({ caller, params, query }) {
        yield* webhooks.get(caller.organizationId, params.webhookId)
        const { cursor, limit } = yield* query
        return pageOf(
          yield* webhooks.deliveries(caller.organizationId, params.webhookId, { cursor, limit: limit + 1 }),
          limit,
          byId
        )
      })
    ),
    implement(contract.getWebhookDelivery, ({ caller, params }) =>
      webhooks.delivery(caller.organizationId, params.webhookId, params.deliveryId)
    ),
    implement(contract.redeliverWebhookDelivery, ({ caller, params }) =>
      webhooks.redeliver(caller.organizationId, params.webhookId, params.deliveryId)
    ),
    implement(
      contract.recoverWebhook,
      Effect.fnUntraced(function* ({ caller, params, payload }) {
        yield* webhooks.get(caller.organizationId, params.webhookId)
        const { since } = yield* payload
        return yield* webhooks.recover(caller.organizationId, params.webhookId, since)
      })
    )
  ]
})
