/** A sample of every error that the room declares, or several if a fact changes the answer. */
import type { ErrorSample } from "../room.ts"
import { DeliveryNotFound, SecretsExhausted, WebhookDisabled, WebhookNotFound, WebhooksExhausted } from "./errors.ts"

export const errorSamples: ReadonlyArray<ErrorSample> = [
  ["WebhookNotFound", new WebhookNotFound({ message: "Webhook whk_1 does not exist." })],
  ["DeliveryNotFound", new DeliveryNotFound({ message: "Delivery dlv_1 does not exist." })],
  ["WebhookDisabled", new WebhookDisabled({ message: "Webhook whk_1 is disabled." })],
  ["WebhooksExhausted", new WebhooksExhausted({ message: "The organization has 100 webhooks." })],
  ["SecretsExhausted", new SecretsExhausted({ message: "4 secrets are still valid." })]
]
