/** Shows a connector to its owner, and creates secrets. */
import { Effect } from "effect"
import type { Identifiers } from "@dowser/log/identifiers"
import { previousValidUntil } from "../webhooks/secrets.ts"
import type { ConnectorState, StoredConnector } from "./connectors-repository.ts"
import type { Connector } from "./schema.ts"

const SECRET_PREFIX = "cns_"
const SECRET_CHARACTERS = 40

export const newSecretOf = (identifiers: Identifiers["Service"]) =>
  Effect.map(identifiers.secret(SECRET_CHARACTERS), (letters) => SECRET_PREFIX + letters)
export const previewOf = (secret: string): string => `${secret.slice(0, 8)}…${secret.slice(-4)}`
export const shownAs = (own: StoredConnector, state: ConnectorState | undefined, now: number): Connector => {
  const previous = previousValidUntil(own.secrets, now)
  const last_error = state?.last_error ?? undefined,
    last_sync_at = state?.last_sync_at ?? undefined
  return {
    id: own.id,
    name: own.name,
    collection: own.collection,
    provider: own.provider,
    sync_mode: own.sync_mode,
    ...(own.schedule_cron === undefined ? {} : { schedule_cron: own.schedule_cron }),
    ...(own.pull_url === undefined ? {} : { pull_url: own.pull_url }),
    pull_token_set: own.pull_token !== undefined,
    ...(own.mapping === undefined ? {} : { mapping: own.mapping }),
    status: !own.enabled ? "disabled" : last_error === undefined ? "idle" : "failed",
    ...(last_sync_at === undefined ? {} : { last_sync_at }),
    ...(last_error === undefined ? {} : { last_error }),
    enabled: own.enabled,
    secret_preview: own.secret_preview,
    ...(previous === undefined ? {} : { previous_secret_valid_until: previous }),
    created_at: own.created_at,
    updated_at: own.updated_at
  }
}
