/**
 * Endpoints and their deliveries as a caller manages them. `dispatcher.ts` sends; the two share the tables and the
 * signal that something is due.
 */
import { Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import type { Seal } from "../access/seal.ts"
import type { Identifiers } from "@dowser/log/identifiers"
import type { RowReaders } from "../identity/row-readers.ts"
import { makeDeliveryCases } from "./delivery-cases.ts"
import { makeEndpointCases } from "./endpoint-cases.ts"
import type { EndpointFields } from "./endpoint-input.ts"
import type {
  DeliveryNotFound,
  SecretsExhausted,
  WebhookDisabled,
  WebhookNotFound,
  WebhooksExhausted
} from "./errors.ts"
import type { Page } from "./found-endpoint.ts"
import type { WebhookDelivery, WebhookEndpoint } from "./schema.ts"

type Shown<T, E = never> = Effect.Effect<T, E | WebhookNotFound>

export class Webhooks extends Context.Service<
  Webhooks,
  {
    readonly list: (organizationId: string, page: Page) => Effect.Effect<ReadonlyArray<WebhookEndpoint>>
    readonly get: (organizationId: string, id: string) => Shown<WebhookEndpoint>
    /** Apart from a rotation, the only time at which the secret exists in plain text. */
    readonly create: (
      organizationId: string,
      fields: EndpointFields,
      atMost?: number
    ) => Effect.Effect<WebhookEndpoint & { readonly secret: string }, WebhooksExhausted>
    readonly replace: (organizationId: string, id: string, fields: EndpointFields) => Shown<WebhookEndpoint>
    readonly remove: (organizationId: string, id: string) => Shown<{ readonly id: string }>
    /** The old and the new secret both sign for 24 h. */
    readonly rotateSecret: (
      organizationId: string,
      id: string
    ) => Shown<WebhookEndpoint & { readonly secret: string }, SecretsExhausted>
    readonly sendTest: (organizationId: string, id: string) => Shown<WebhookDelivery>
    /** Newest first. */
    readonly deliveries: (organizationId: string, id: string, page: Page) => Shown<ReadonlyArray<WebhookDelivery>>
    /** The 100 newest of an existing endpoint. */
    readonly newestDeliveries: (endpointId: string) => Effect.Effect<ReadonlyArray<WebhookDelivery>>
    readonly delivery: (
      organizationId: string,
      id: string,
      deliveryId: string
    ) => Shown<WebhookDelivery, DeliveryNotFound>
    /** Due immediately under its id, in a new round of attempts; one that is in progress is not changed. */
    readonly redeliver: (
      organizationId: string,
      id: string,
      deliveryId: string
    ) => Shown<WebhookDelivery, DeliveryNotFound | WebhookDisabled>
    /** Everything that failed at `since` (Unix milliseconds) or later becomes due immediately. */
    readonly recover: (
      organizationId: string,
      id: string,
      since: number
    ) => Shown<{ readonly recovered: number }, WebhookDisabled>
  }
>()("dowser/webhooks/Webhooks") {
  static readonly layer: Layer.Layer<Webhooks, never, SqlClient.SqlClient | Identifiers | RowReaders | Seal> =
    Layer.effect(
      Webhooks,
      Effect.gen(function* () {
        return Webhooks.of({ ...(yield* makeEndpointCases), ...(yield* makeDeliveryCases) })
      })
    )
}
