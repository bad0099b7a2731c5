/**
 * Taking a push: who it is from, what it says, and putting it where it cannot be lost. What becomes of it is told by
 * its job and the journal (`applying/`).
 */
import { parseDocument, stringifyJson } from "@dowser/engine-sdk/documents"
import { EventLog } from "@dowser/log/event-log/event-log"
import { Identifiers } from "@dowser/log/identifiers"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
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
import { Installation } from "../installation.ts"
import { makeJobsRepository } from "../jobs/jobs-repository.ts"
import { Organizations } from "../organizations/organizations.ts"
import type { StoredConnector } from "./connectors-repository.ts"
import { Connectors, noConnector } from "./connectors.ts"
import { ConnectorDisabled, type ConnectorNotFound, PushNotSigned, PushesUnavailable } from "./errors.ts"
import { PROVIDERS } from "./mapping/providers.ts"
import { recordsOf } from "./push.ts"
import { eventsOf, type PushRead, readPush } from "./read-push.ts"
import { mappingName, readingOf } from "./reading.ts"
import type { PushAnswer } from "./schema.ts"
import { signatureRefusal } from "./signature.ts"

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

/** What a shop system's header says of the whole push; undefined: nothing of products. */
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
const countOf = ({ changes }: PushRead, op: "upsert" | "delete"): number =>
  changes.reduce((n, change) => (change.op === op ? n + 1 : n), 0)

const make = Effect.gen(function* () {
  const configuration = yield* Configuration
  const connectors = yield* Connectors
  const identifiers = yield* Identifiers
  const jobs = yield* makeJobsRepository
  const log = yield* EventLog
  const organizations = yield* Organizations
  const sql = yield* SqlClient.SqlClient
  const { visitorPartitions } = yield* Installation

  /** The connector that a push is signed for, which may take pushes. */
  const sender = Effect.fnUntraced(function* ({ body, connectorId, headers }: Received) {
    if (!configuration.isCurrent()) yield* configuration.current
    const connector = connectors.byId(connectorId)
    if (connector === undefined) return yield* noConnector(connectorId)
    const now = yield* Clock.currentTimeMillis
    const secrets = connectors.secretsOf(connector, now)
    const refusal = signatureRefusal(
      { headers, body, now_s: Math.floor(now / 1_000) },
      secrets,
      PROVIDERS.get(connector.provider)
    )
    if (refusal !== undefined) return yield* new PushNotSigned({ message: refusal })
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
    return { connector, now }
  })
  /** The job first: of a push that is in the log there always is one. */
  const stored = Effect.fnUntraced(function* (connector: StoredConnector, read: PushRead, now: number) {
    const job_id = yield* identifiers.make("job")
    const mapping = mappingName(connector)
    const records = recordsOf(
      connector.organization_id,
      {
        connector_id: connector.id,
        collection: connector.collection,
        job_id,
        ...(mapping === undefined ? {} : { mapping })
      },
      read.changes,
      { now, partitions: visitorPartitions, stringify: stringifyJson }
    )
    const isEmpty = records.length === 0
    yield* Effect.orDie(
      jobs.insert(connector.organization_id, {
        id: job_id,
        type: "catalog_push",
        status: "queued",
        progress: 0,
        config: {
          connector_id: connector.id,
          collection: connector.collection,
          changes: read.changes.length,
          records: records.length
        },
        created_at: now,
        updated_at: now
      })
    )
    if (isEmpty) {
      const result = JSON.stringify({ applied: 0, ignored: 0, failed: 0 })
      yield* Effect.orDie(
        sql`UPDATE jobs SET status = 'ready', progress = 1, result = ${result}::text::jsonb, finished_at = updated_at WHERE id = ${job_id}`
      )
      return job_id
    }
    yield* Effect.onError(log.append(records), () => Effect.ignore(sql`DELETE FROM jobs WHERE id = ${job_id}`))
    return job_id
  })
  return Pushes.of({
    take: Effect.fn("Pushes.take")(function* (received) {
      const { connector, now } = yield* sender(received)
      const topic = topicOf(connector, received.headers)
      // A shop system tells of orders and customers too, and greets a new address: nothing of that is a product.
      const events = topic === "other" ? [] : yield* bodyEvents(received.body)
      const read = readPush(events, { ...readingOf(connector), topic: topic === "other" ? undefined : topic })
      const job_id = yield* stored(connector, read, now).pipe(
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
      return {
        received: read.received,
        upserts: countOf(read, "upsert"),
        deletes: countOf(read, "delete"),
        rejected: read.rejected,
        job_id
      }
    })
  })
})

export class Pushes extends Context.Service<
  Pushes,
  {
    /** Durable when it answers; in the order of the answers where one waits for the other. */
    readonly take: (received: Received) => Effect.Effect<PushAnswer, PushFailure>
  }
>()("dowser/connectors/Pushes") {
  static readonly layer: Layer.Layer<
    Pushes,
    never,
    Configuration | Connectors | EventLog | Identifiers | Installation | Organizations | SqlClient.SqlClient
  > = Layer.effect(Pushes, make)
}
