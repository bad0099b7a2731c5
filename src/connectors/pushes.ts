/**
 * Accepts a push: identifies the sender, reads it, and stores it durably. Its job and the journal show its progress
 * (`applying/`).
 */
import { parseDocument } from "@dowser/engine-sdk/documents"
import type { EventLog } from "@dowser/log/event-log/event-log"
import { Identifiers } from "@dowser/log/identifiers"
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { Configuration } from "../configuration/configuration.ts"
import {
  type ConfigurationUnavailable,
  type InputInvalid,
  inputInvalid,
  OrganizationPaused,
  type OrganizationUnavailable,
  organizationUnavailable,
  Throttled
} from "../http/errors.ts"
import type { Installation } from "../installation.ts"
import { Organizations } from "../organizations/organizations.ts"
import type { StoredConnector } from "./connectors-repository.ts"
import { Connectors, noConnector } from "./connectors.ts"
import { ConnectorDisabled, type ConnectorNotFound, PushNotSigned, PushesUnavailable } from "./errors.ts"
import { PROVIDERS } from "./mapping/providers.ts"
import { eventsOf, readPush } from "./read-push.ts"
import { readingOf } from "./reading.ts"
import type { PushAnswer } from "./schema.ts"
import { checkSignature } from "./signature.ts"
import { makeStorePush } from "./store-push.ts"

interface Received {
  readonly connectorId: string
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  readonly body: Uint8Array
}
type PushFailure =
  | ConfigurationUnavailable
  | ConnectorDisabled
  | ConnectorNotFound
  | InputInvalid
  | OrganizationPaused
  | OrganizationUnavailable
  | PushNotSigned
  | PushesUnavailable
  | Throttled

/** The meaning of a shop system's header for the entire push; undefined if it does not concern products. */
const topicOf = (
  { provider }: StoredConnector,
  headers: Received["headers"]
): "upsert" | "delete" | "other" | undefined => {
  const own = PROVIDERS.get(provider)?.headers
  const topic = own === undefined ? undefined : headers[own.topic]
  return typeof topic === "string" ? (own!.topics.get(topic) ?? "other") : undefined
}
/** The events of a body, or 400. */
const bodyEvents = (body: Uint8Array): Effect.Effect<ReadonlyArray<unknown>, InputInvalid> => {
  const parsed = parseDocument(body)
  if (!parsed.ok) return Effect.fail(inputInvalid("body", parsed.error.message))
  const events = eventsOf(parsed.value)
  return typeof events === "string" ? Effect.fail(inputInvalid("events", events)) : Effect.succeed(events)
}
/** The connector that signed a push, if it may push. */
const makeSender = Effect.gen(function* () {
  const configuration = yield* Configuration
  const connectors = yield* Connectors
  const organizations = yield* Organizations
  return Effect.fnUntraced(function* ({ body, connectorId, headers }: Received) {
    if (!configuration.isCurrent()) yield* configuration.current
    const connector = connectors.byId(connectorId)
    if (connector === undefined) return yield* noConnector(connectorId)
    const now = yield* Clock.currentTimeMillis
    const signed = { headers, body, now_s: Math.floor(now / 1_000) }
    const checked = checkSignature(signed, connectors.secretsOf(connector, now), PROVIDERS.get(connector.provider))
    if ("refusal" in checked) return yield* new PushNotSigned({ message: checked.refusal })
    const organization = organizations.find(connector.organization_id)
    if (organization?.status === "paused")
      return yield* new OrganizationPaused({
        message: "The organization is paused.",
        reason: organization.paused_reason ?? "manual"
      })
    const damage = configuration.damages.of(connector.organization_id)
    if (damage !== undefined) return yield* organizationUnavailable(damage)
    if (!connector.enabled)
      return yield* new ConnectorDisabled({ message: `Connector ${connectorId} is disabled; enable it first.` })
    return { connector, now, signature: checked.signature }
  })
})

const make = Effect.gen(function* () {
  const sender = yield* makeSender
  const identifiers = yield* Identifiers
  const { before, store } = yield* makeStorePush
  const stored = (...[sent, read]: Parameters<typeof store>) =>
    store(sent, read).pipe(
      Effect.catchTag("EventLogOverloaded", ({ retry_after_s }) =>
        Effect.fail(
          new Throttled({
            message: "Too many changes are waiting to be stored; send the push again later.",
            kind: "backpressure",
            retry_after_s: Math.ceil(retry_after_s)
          })
        )
      ),
      Effect.catchTag("EventLogUnavailable", () =>
        Effect.fail(
          new PushesUnavailable({ message: "The push could not be stored; send it again.", retry_after_s: 5 })
        )
      )
    )
  return Pushes.of({
    takeOf: Effect.fn("Pushes.takeOf")(function* (connector, body) {
      if (!connector.enabled)
        return yield* new ConnectorDisabled({ message: `Connector ${connector.id} is disabled; enable it first.` })
      const events = eventsOf(body)
      if (typeof events === "string") return yield* inputInvalid("events", events)
      // Without a signature, a repetition cannot be recognized: changes are ordered by version and arrival.
      const signature = `of ${yield* identifiers.make("psh")}`
      const sent = { connector, signature, now: yield* Clock.currentTimeMillis }
      return yield* stored(sent, readPush(events, readingOf(connector)))
    }),
    take: Effect.fn("Pushes.take")(function* (received) {
      const sent = yield* sender(received)
      const answered = yield* before(sent)
      if (answered !== undefined) return answered
      const { connector } = sent
      const topic = topicOf(connector, received.headers)
      // A shop system also reports orders and customers, and greets a new address: none of these is a product.
      const events = topic === "other" ? [] : yield* bodyEvents(received.body)
      const read = readPush(events, { ...readingOf(connector), topic: topic === "other" ? undefined : topic })
      return yield* stored(sent, read)
    })
  })
})

export class Pushes extends Context.Service<
  Pushes,
  {
    /** Returns once the push is durable; pushes sent one after the other keep their order. */
    readonly take: (received: Received) => Effect.Effect<PushAnswer, PushFailure>
    /** The same for a caller identified in another way, with a `body` that is already parsed. */
    readonly takeOf: (
      connector: StoredConnector,
      body: unknown
    ) => Effect.Effect<PushAnswer, ConnectorDisabled | InputInvalid | PushesUnavailable | Throttled>
  }
>()("dowser/connectors/Pushes") {
  static readonly layer: Layer.Layer<
    Pushes,
    never,
    Configuration | Connectors | EventLog | Identifiers | Installation | Organizations | SqlClient.SqlClient
  > = Layer.effect(Pushes, make)
}
