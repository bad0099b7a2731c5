/** One endpoint of an organization: how its operations find, lock and show it. */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/record.ts"
import { makeEndpointsRepository, type StoredEndpoint } from "./endpoints-repository.ts"
import { WebhookDisabled, WebhookNotFound } from "./errors.ts"
import type { WebhookEndpoint } from "./schema.ts"
import { previousValidUntil } from "./secrets.ts"

/** One page of a list, after its cursor. */
export interface Page {
  readonly cursor: string | undefined
  readonly limit: number
}
export const shownAt =
  (now: number) =>
  ({
    created_at,
    disabled_at,
    disabled_reason,
    enabled,
    events,
    failing_since,
    id,
    name,
    secrets,
    updated_at,
    url
  }: StoredEndpoint): WebhookEndpoint => {
    const previous_secret_valid_until = previousValidUntil(secrets, now)
    return {
      id,
      name,
      url,
      events,
      enabled,
      created_at,
      updated_at,
      ...(failing_since === undefined ? {} : { failing_since }),
      ...(disabled_at === undefined ? {} : { disabled_at }),
      ...(disabled_reason === undefined ? {} : { disabled_reason }),
      ...(previous_secret_valid_until === undefined ? {} : { previous_secret_valid_until })
    }
  }

export const sendable = (endpoint: StoredEndpoint) =>
  endpoint.enabled
    ? Effect.succeed(endpoint)
    : Effect.fail(
        new WebhookDisabled({
          message: `Webhook ${endpoint.id} is disabled; replace it with \`enabled\`: true first.`
        })
      )

export const makeFoundEndpoint = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder
  const endpoints = yield* makeEndpointsRepository
  const present = (id: string) => (endpoint: StoredEndpoint | undefined) =>
    endpoint === undefined
      ? Effect.fail(new WebhookNotFound({ message: `Webhook ${id} does not exist.` }))
      : Effect.succeed(endpoint)
  const found = (organizationId: string, id: string) =>
    Effect.flatMap(Effect.orDie(endpoints.get(organizationId, id)), present(id))
  const locked = (organizationId: string, id: string) =>
    Effect.flatMap(Effect.orDie(endpoints.lock(organizationId, id)), present(id))
  /** Changes one endpoint with its row locked; failing statements are defects, failures of the change are returned. */
  const changing = <A, E extends { readonly _tag: string }>(
    organizationId: string,
    id: string,
    change: (endpoint: StoredEndpoint, now: number) => Effect.Effect<A, E>
  ) =>
    sql
      .withTransaction(
        Effect.gen(function* () {
          const endpoint = yield* locked(organizationId, id)
          return yield* audit.recorded(
            { kind: "webhook", organizationId, id },
            change(endpoint, yield* Clock.currentTimeMillis)
          )
        })
      )
      .pipe(Effect.catchTag("SqlError", Effect.die))
  return { changing, found, locked }
})
