/** Endpoints and deliveries as the API returns them, and their limits. */
import { Schema } from "effect"
import { refusing } from "../http/checks.ts"
import { nameRefusal, urlRefusal } from "./endpoint-input.ts"
import { subscriptionRefusal } from "./subscribable-events.ts"

/** Decision: without a limit, one event could become any number of deliveries. */
export const ENDPOINTS_MAX = 100
/** Returned with their endpoint, newest first. */
export const DELIVERIES_LISTED = 100

const strings = Schema.Array(Schema.String)
export const WebhookBody = Schema.Struct({
  name: Schema.String.check(refusing(nameRefusal)),
  url: Schema.String.check(refusing(urlRefusal)),
  /** Names from the event table, or `*`. */ events: Schema.Array(
    Schema.String.check(refusing(subscriptionRefusal))
  ).check(
    refusing((events: ReadonlyArray<string>) =>
      events.length === 0 ? "Name at least one event, or `*` for all" : undefined
    )
  ),
  enabled: Schema.optionalKey(Schema.Boolean)
}).annotate({ identifier: "WebhookBody" })
export type WebhookBody = typeof WebhookBody.Type

const endpointFields = {
  id: Schema.String,
  name: Schema.String,
  url: Schema.String,
  events: strings,
  enabled: Schema.Boolean,
  /** Unix milliseconds of the first failed attempt since the last success. */ failing_since: Schema.optionalKey(
    Schema.Int
  ),
  /** Set if the program disabled the endpoint itself, with the reason. */ disabled_at: Schema.optionalKey(Schema.Int),
  disabled_reason: Schema.optionalKey(Schema.String),
  /** Until then deliveries are also signed with the secret before the last rotation. */ previous_secret_valid_until:
    Schema.optionalKey(Schema.Int),
  created_at: Schema.Int,
  updated_at: Schema.Int
}
export const WebhookEndpoint = Schema.Struct(endpointFields).annotate({ identifier: "WebhookEndpoint" })
export type WebhookEndpoint = typeof WebhookEndpoint.Type

/** The answer to creation and rotation: the only two times at which the secret is shown. */
export const WebhookEndpointWithSecret = Schema.Struct({ ...endpointFields, secret: Schema.String }).annotate({
  identifier: "WebhookEndpointWithSecret"
})

export const WebhookDelivery = Schema.Struct({
  /** Also in `X-SVC-Delivery`, `webhook-id` and the body; the same for every attempt and redelivery. */
  id: Schema.String,
  event: Schema.String,
  status: Schema.Literals(["pending", "success", "failed"]),
  /** The receiver's last status; absent if there was no answer. */ http_code: Schema.optionalKey(Schema.Int),
  /** Attempts of all rounds: a redelivery begins a new round of six. */ attempts: Schema.Int,
  error: Schema.optionalKey(Schema.String),
  /** The exact text that is sent. */ body: Schema.String,
  created_at: Schema.Int,
  last_attempt_at: Schema.optionalKey(Schema.Int),
  next_attempt_at: Schema.optionalKey(Schema.Int),
  finished_at: Schema.optionalKey(Schema.Int)
}).annotate({ identifier: "WebhookDelivery" })
export type WebhookDelivery = typeof WebhookDelivery.Type

export const WebhookEndpointDetail = Schema.Struct({
  ...endpointFields,
  deliveries: Schema.Array(WebhookDelivery)
}).annotate({ identifier: "WebhookEndpointDetail" })
