/**
 * Creates a connector. With an `Idempotency-Key`, the same request gets the same response for a day, including the
 * secret; the response is stored sealed next to the row.
 */
import { createHash } from "node:crypto"
import { Clock, Effect } from "effect"
import { Identifiers } from "@dowser/log/identifiers"
import { Seal } from "../access/seal.ts"
import { Configuration } from "../configuration/configuration.ts"
import { stored } from "../configuration/stored.ts"
import { nextRunAt } from "../job-rows/cron.ts"
import { Entitlements } from "../metering/entitlements.ts"
import { makeConnectorsRepository, type StoredConnector } from "./connectors-repository.ts"
import { IdempotencyKeyReused } from "./errors.ts"
import { makePullsRepository } from "./pulling/pulls-repository.ts"
import { CONNECTORS_MAX, type ConnectorWithSecret, type CreateConnector } from "./schema.ts"
import { newSecretOf, previewOf, shownAs } from "./shown.ts"

/** How long a creation can be repeated. */
const CREATION_KEPT_MS = 24 * 3_600_000

export interface Creation {
  readonly fields: CreateConnector
  /** The body as it was sent, which identifies a repeated request. */ readonly body: Uint8Array
  readonly idempotencyKey: string | undefined
}
const hashOf = (body: Uint8Array): string => createHash("sha256").update(body).digest("hex")

export const makeCreate = Effect.gen(function* () {
  const configuration = yield* Configuration
  const repository = yield* makeConnectorsRepository
  const pulls = yield* makePullsRepository
  const entitlements = yield* Entitlements
  const identifiers = yield* Identifiers
  const seal = yield* Seal
  const sealed = (text: string): string => seal.seal(Buffer.from(text))
  const newSecret = newSecretOf(identifiers)
  const insert = Effect.fnUntraced(function* (own: StoredConnector) {
    yield* repository.lock(own.organization_id)
    const count = yield* repository.count(own.organization_id)
    yield* entitlements.requireRoom(own.organization_id, "connectors", Math.min(count + 1, CONNECTORS_MAX + 1))
    yield* repository.insert(own)
    if (own.sync_mode === "pull") yield* pulls.schedule(own.id, nextRunAt(own.schedule_cron, own.created_at))
  })
  const creating = Effect.fnUntraced(function* (organizationId: string, { fields }: Creation) {
    const now = yield* Clock.currentTimeMillis
    const secret = yield* newSecret
    const own: StoredConnector = {
      id: yield* identifiers.make("con"),
      organization_id: organizationId,
      name: fields.name.trim(),
      collection: fields.collection,
      provider: fields.provider,
      sync_mode: fields.sync_mode,
      schedule_cron: fields.schedule_cron,
      pull_url: fields.pull_url,
      pull_token: fields.pull_token === undefined ? undefined : sealed(fields.pull_token),
      mapping: fields.mapping,
      secrets: [{ sealed: sealed(secret) }],
      secret_preview: previewOf(secret),
      enabled: fields.enabled ?? true,
      created_at: now,
      updated_at: now
    }
    return { own, answer: { ...shownAs(own, undefined, now), secret } }
  })
  /** The response of at most a day ago, if the key is known; another body with that key is a conflict. */
  const answeredBefore = Effect.fnUntraced(function* (organizationId: string, { body, idempotencyKey }: Creation) {
    if (idempotencyKey === undefined) return undefined
    const since = (yield* Clock.currentTimeMillis) - CREATION_KEPT_MS
    const known = yield* repository.creation(organizationId, idempotencyKey, since)
    if (known === undefined) return undefined
    if (known.body_hash !== hashOf(body))
      return yield* new IdempotencyKeyReused({
        message: "This `Idempotency-Key` was used within the last 24 hours with another body."
      })
    return JSON.parse(seal.open(known.answer).toString()) as ConnectorWithSecret
  })
  return Effect.fn("Connectors.create")(function* (organizationId: string, creation: Creation) {
    const made = yield* creating(organizationId, creation)
    const { idempotencyKey } = creation
    return yield* stored(
      configuration.write(
        { kind: "connector", organizationId, id: made.own.id },
        Effect.gen(function* () {
          // Of two requests with one key, the second gets the first one's response.
          yield* repository.lock(organizationId)
          const before = yield* answeredBefore(organizationId, creation)
          if (before !== undefined) return before
          yield* insert(made.own)
          if (idempotencyKey !== undefined)
            yield* repository.keepCreation(
              organizationId,
              idempotencyKey,
              hashOf(creation.body),
              sealed(JSON.stringify(made.answer)),
              made.own.created_at
            )
          return made.answer
        })
      )
    )
  })
})
