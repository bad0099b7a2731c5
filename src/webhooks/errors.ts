/** Failures of the webhooks room. */
import { Schema } from "effect"

export class WebhookNotFound extends Schema.TaggedError<WebhookNotFound>()(
  "WebhookNotFound",
  { message: Schema.String },
  { httpApiStatus: 404 }
) {}
export class DeliveryNotFound extends Schema.TaggedError<DeliveryNotFound>()(
  "DeliveryNotFound",
  { message: Schema.String },
  { httpApiStatus: 404 }
) {}
/** A redelivery is requested while nothing may be sent to its endpoint. */
export class WebhookDisabled extends Schema.TaggedError<WebhookDisabled>()(
  "WebhookDisabled",
  { message: Schema.String },
  { httpApiStatus: 409 }
) {}
export class WebhooksExhausted extends Schema.TaggedError<WebhooksExhausted>()(
  "WebhooksExhausted",
  { message: Schema.String },
  { httpApiStatus: 409 }
) {}
export class SecretsExhausted extends Schema.TaggedError<SecretsExhausted>()(
  "SecretsExhausted",
  { message: Schema.String },
  { httpApiStatus: 409 }
) {}
