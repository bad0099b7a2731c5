/** Handlers of `/webhooks`. */
import { Effect } from "effect"
import { Entitlements } from "../metering/entitlements.ts"
import { capOf } from "../metering/plans.ts"
import { InputInvalid, inputInvalid } from "../wire/errors.ts"
import { implement } from "../wire/route.ts"
import * as contract from "./contract.ts"
import { endpointFields } from "./endpoint-input.ts"
import { deliveriesListed, endpointsMax, type WebhookBody } from "./schema.ts"
import { Webhooks } from "./webhooks.ts"

const limitOf = (text: string | undefined, limitDefault: number) => {
  if (text === undefined) return Effect.succeed(limitDefault)
  const value = Number(text)
  return /^\d{1,3}$/.test(text) && value >= 1 && value <= 250 ? Effect.succeed(value) : Effect.fail(inputInvalid("limit", "A whole number from 1 to 250"))
}
const fieldsOf = (body: WebhookBody) => {
  const fields = endpointFields(body)
  return fields instanceof InputInvalid ? Effect.fail(fields) : Effect.succeed(fields)
}
/** One more than asked for was read: whether there is a next page. */
const pageOf = <A extends { readonly id: string }>(data: ReadonlyArray<A>, limit: number) => ({ data: data.slice(0, limit), ...(data.length > limit ? { next_cursor: data[limit - 1].id } : {}) })

export const routes = Effect.gen(function*() {
  const webhooks = yield* Webhooks
  const entitlements = yield* Entitlements
  return [
    implement(contract.listWebhooks, Effect.fnUntraced(function*({ caller, query }) {
      const { cursor, limit: given } = yield* query
      const limit = yield* limitOf(given, 50)
      return pageOf(yield* webhooks.list(caller.organizationId, { cursor, limit: limit + 1 }), limit)
    })),
    implement(contract.createWebhook, Effect.fnUntraced(function*({ caller, payload }) {
      const { organizationId } = caller
      const cap = capOf(entitlements.of(organizationId).plan, "webhooks")
      return yield* Effect.catchTag(webhooks.create(organizationId, yield* fieldsOf(yield* payload), cap), "WebhooksExhausted", (error) =>
        Effect.andThen(entitlements.requireRoom(organizationId, "webhooks", Math.min(cap + 1, endpointsMax)), Effect.fail(error)))
    })),
    implement(contract.getWebhook, Effect.fnUntraced(function*({ caller, params }) {
      const endpoint = yield* webhooks.get(caller.organizationId, params.webhookId)
      return { ...endpoint, deliveries: yield* webhooks.newestDeliveries(endpoint.id) }
    })),
    implement(contract.updateWebhook, Effect.fnUntraced(function*({ caller, params, payload }) {
      yield* webhooks.get(caller.organizationId, params.webhookId)
      return yield* webhooks.replace(caller.organizationId, params.webhookId, yield* fieldsOf(yield* payload))
    })),
    implement(contract.deleteWebhook, ({ caller, params }) => webhooks.remove(caller.organizationId, params.webhookId)),
    implement(contract.rotateWebhookSecret, ({ caller, params }) => webhooks.rotateSecret(caller.organizationId, params.webhookId)),
    implement(contract.testWebhook, ({ caller, params }) => webhooks.sendTest(caller.organizationId, params.webhookId)),
    implement(contract.listWebhookDeliveries, Effect.fnUntraced(function*({ caller, params, query }) {
      yield* webhooks.get(caller.organizationId, params.webhookId)
      const { cursor, limit: given } = yield* query
      const limit = yield* limitOf(given, deliveriesListed)
      return pageOf(yield* webhooks.deliveries(caller.organizationId, params.webhookId, { cursor, limit: limit + 1 }), limit)
    })),
    implement(contract.getWebhookDelivery, ({ caller, params }) => webhooks.delivery(caller.organizationId, params.webhookId, params.deliveryId)),
    implement(contract.redeliverWebhookDelivery, ({ caller, params }) => webhooks.redeliver(caller.organizationId, params.webhookId, params.deliveryId)),
    implement(contract.recoverWebhook, Effect.fnUntraced(function*({ caller, params, payload }) {
      yield* webhooks.get(caller.organizationId, params.webhookId)
      const { since } = yield* payload
      if (since < 0) return yield* inputInvalid("since", "Unix milliseconds, 0 or more")
      return yield* webhooks.recover(caller.organizationId, params.webhookId, since)
    }))
  ]
})
