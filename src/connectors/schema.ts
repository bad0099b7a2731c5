/** Connectors, their journal, and the response to a push. */
import { Schema } from "effect"
import { refusing } from "../http/checks.ts"
import { cronRefusal } from "../job-rows/cron.ts"
import { urlRefusal } from "../webhooks/endpoint-input.ts"
import { PROVIDER_NAMES } from "./mapping/providers.ts"
import { MappingFields } from "./mapping/source.ts"

/** Decision: a limit, because every process keeps every connector in memory. */
export const CONNECTORS_MAX = 100
const NAME_CHARACTERS_MAX = 120

const nameRefusal = (text: string): string | undefined =>
  text.trim() === "" || [...text].length > NAME_CHARACTERS_MAX ? `1 to ${NAME_CHARACTERS_MAX} characters` : undefined
const Name = Schema.String.check(refusing(nameRefusal))
export const SYNC_MODES = ["push", "pull"] as const
const SyncMode = Schema.Literals(SYNC_MODES).annotate({
  description: "`push`: the shop system sends; `pull`: its catalogue is fetched from `pull_url`."
})
const ScheduleCron = Schema.String.check(refusing(cronRefusal)).annotate({
  description: "Five fields of cron in UTC; without it a pull is started by `POST …/sync` alone."
})
const PullUrl = Schema.String.check(refusing(urlRefusal))
const TOKEN_CHARACTERS_MAX = 4_096
/** Sent as a header. */
const PullToken = Schema.String.check(
  refusing((text: string) =>
    /^[\x21-\x7e]+$/.test(text) && text.length <= TOKEN_CHARACTERS_MAX
      ? undefined
      : `1 to ${TOKEN_CHARACTERS_MAX} visible characters of ASCII`
  )
)

export const CreateConnector = Schema.Struct({
  name: Name,
  collection: Schema.String.check(refusing((text: string) => (text === "" ? "The name of a collection" : undefined))),
  provider: Schema.Literals(PROVIDER_NAMES),
  sync_mode: SyncMode,
  schedule_cron: Schema.optionalKey(ScheduleCron),
  pull_url: Schema.optionalKey(PullUrl),
  pull_token: Schema.optionalKey(PullToken),
  mapping: Schema.optionalKey(MappingFields),
  enabled: Schema.optionalKey(Schema.Boolean)
}).annotate({ identifier: "CreateConnector" })
export type CreateConnector = typeof CreateConnector.Type
/** An omitted field keeps its value; `null` removes it. */
export const UpdateConnector = Schema.Struct({
  name: Schema.optionalKey(Name),
  schedule_cron: Schema.optionalKey(Schema.NullOr(ScheduleCron)),
  pull_url: Schema.optionalKey(PullUrl),
  pull_token: Schema.optionalKey(Schema.NullOr(PullToken)),
  mapping: Schema.optionalKey(Schema.NullOr(MappingFields)),
  enabled: Schema.optionalKey(Schema.Boolean)
}).annotate({ identifier: "UpdateConnector" })
export type UpdateConnector = typeof UpdateConnector.Type

export const SyncConnector = Schema.Struct({
  full: Schema.optionalKey(Schema.Boolean).annotate({
    description: "Read every page, and delete what the connector wrote and no page contains."
  }),
  confirm_deletes: Schema.optionalKey(Schema.Boolean).annotate({
    description: "Delete even if that is more than 30 % of what the connector wrote."
  })
}).annotate({ identifier: "SyncConnector" })
export type SyncConnector = typeof SyncConnector.Type

const connectorFields = {
  id: Schema.String,
  name: Schema.String,
  collection: Schema.String,
  provider: Schema.Literals(PROVIDER_NAMES),
  sync_mode: Schema.Literals(SYNC_MODES),
  schedule_cron: Schema.optionalKey(Schema.String),
  pull_url: Schema.optionalKey(Schema.String),
  pull_token_set: Schema.Boolean,
  mapping: Schema.optionalKey(MappingFields),
  status: Schema.Literals(["idle", "failed", "disabled"]),
  /** Unix milliseconds of the last applied push, or of the last pull. */ last_sync_at: Schema.optionalKey(Schema.Int),
  last_error: Schema.optionalKey(Schema.String),
  enabled: Schema.Boolean,
  /** The secret's first and last letters. */ secret_preview: Schema.String,
  /** Until then, the secret before the last rotation is also valid. */ previous_secret_valid_until: Schema.optionalKey(
    Schema.Int
  ),
  created_at: Schema.Int,
  updated_at: Schema.Int
}
export const Connector = Schema.Struct(connectorFields).annotate({ identifier: "Connector" })
export type Connector = typeof Connector.Type
/** The response to creation and rotation, the only two moments at which the secret is shown. */
export const ConnectorWithSecret = Schema.Struct({ ...connectorFields, secret: Schema.String }).annotate({
  identifier: "ConnectorWithSecret"
})
export type ConnectorWithSecret = typeof ConnectorWithSecret.Type

export const PushAnswer = Schema.Struct({
  /** Number of events in the push. */ received: Schema.Int,
  upserts: Schema.Int,
  deletes: Schema.Int,
  rejected: Schema.Array(Schema.Struct({ index: Schema.Int, reason: Schema.String })),
  /** The job that shows the outcome: `GET /v1/jobs/{id}`. */ job_id: Schema.String
}).annotate({ identifier: "PushAnswer" })
export type PushAnswer = typeof PushAnswer.Type

export const JOURNAL_STATUSES = ["applied", "ignored", "failed"] as const
export const JournalEntry = Schema.Struct({
  id: Schema.String,
  external_id: Schema.String,
  op: Schema.Literals(["upsert", "delete"]),
  version: Schema.optionalKey(Schema.Int),
  status: Schema.Literals(JOURNAL_STATUSES),
  /** How its document was made: by the provider's table or the connector's own mapping. */ mapping: Schema.optionalKey(
    Schema.String
  ),
  /** Why it was ignored or failed. */ error: Schema.optionalKey(Schema.String),
  attempts: Schema.Int,
  /** Unix milliseconds. */ at: Schema.Int
}).annotate({ identifier: "ConnectorJournalEntry" })
export type JournalEntry = typeof JournalEntry.Type

/** The result of a mapping for an event, or what is wrong with it. */
export const TriedMapping = Schema.Struct({
  external_id: Schema.optionalKey(Schema.String),
  op: Schema.optionalKey(Schema.Literals(["upsert", "delete"])),
  version: Schema.optionalKey(Schema.Int),
  document: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  problem: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "TriedMapping" })
