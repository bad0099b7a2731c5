/** Connectors, their journal and what a push is answered with. */
import { Schema } from "effect"
import { refusing } from "../http/checks.ts"
import { PROVIDER_NAMES } from "./mapping/providers.ts"
import { MappingFields } from "./mapping/source.ts"

/** Decision: the specification names no limit; each stands in the memory of every process. */
export const CONNECTORS_MAX = 100
const NAME_CHARACTERS_MAX = 120

const nameRefusal = (text: string): string | undefined =>
  text.trim() === "" || [...text].length > NAME_CHARACTERS_MAX ? `1 to ${NAME_CHARACTERS_MAX} characters` : undefined
const Name = Schema.String.check(refusing(nameRefusal))
/** Nothing is fetched from a shop system yet, so a connector that waits to be fetched from would stay empty. */
const SyncMode = Schema.Literal("push").annotate({ description: "`push`: the shop system sends; `pull` is refused." })

export const CreateConnector = Schema.Struct({
  name: Name,
  collection: Schema.String.check(refusing((text: string) => (text === "" ? "The name of a collection" : undefined))),
  provider: Schema.Literals(PROVIDER_NAMES),
  sync_mode: SyncMode,
  mapping: Schema.optionalKey(MappingFields),
  enabled: Schema.optionalKey(Schema.Boolean)
}).annotate({ identifier: "CreateConnector" })
export type CreateConnector = typeof CreateConnector.Type
/** What is left out stays; `null` takes it away. */
export const UpdateConnector = Schema.Struct({
  name: Schema.optionalKey(Name),
  mapping: Schema.optionalKey(Schema.NullOr(MappingFields)),
  enabled: Schema.optionalKey(Schema.Boolean)
}).annotate({ identifier: "UpdateConnector" })
export type UpdateConnector = typeof UpdateConnector.Type

const connectorFields = {
  id: Schema.String,
  name: Schema.String,
  collection: Schema.String,
  provider: Schema.Literals(PROVIDER_NAMES),
  sync_mode: Schema.Literal("push"),
  mapping: Schema.optionalKey(MappingFields),
  status: Schema.Literals(["idle", "failed", "disabled"]),
  /** Unix milliseconds of the last push that was applied. */ last_sync_at: Schema.optionalKey(Schema.Int),
  last_error: Schema.optionalKey(Schema.String),
  enabled: Schema.Boolean,
  /** The secret's first and last letters. */ secret_preview: Schema.String,
  /** Until then the secret before the last rotation signs as well. */ previous_secret_valid_until: Schema.optionalKey(
    Schema.Int
  ),
  created_at: Schema.Int,
  updated_at: Schema.Int
}
export const Connector = Schema.Struct(connectorFields).annotate({ identifier: "Connector" })
export type Connector = typeof Connector.Type
/** The answer to creation and rotation: the only two moments at which the secret is shown. */
export const ConnectorWithSecret = Schema.Struct({ ...connectorFields, secret: Schema.String }).annotate({
  identifier: "ConnectorWithSecret"
})
export type ConnectorWithSecret = typeof ConnectorWithSecret.Type

export const PushAnswer = Schema.Struct({
  /** Events of the push. */ received: Schema.Int,
  upserts: Schema.Int,
  deletes: Schema.Int,
  rejected: Schema.Array(Schema.Struct({ index: Schema.Int, reason: Schema.String })),
  /** What becomes of it: `GET /v1/jobs/{id}`. */ job_id: Schema.String
}).annotate({ identifier: "PushAnswer" })
export type PushAnswer = typeof PushAnswer.Type

export const JOURNAL_STATUSES = ["applied", "ignored", "failed"] as const
export const JournalEntry = Schema.Struct({
  id: Schema.String,
  external_id: Schema.String,
  op: Schema.Literals(["upsert", "delete"]),
  version: Schema.optionalKey(Schema.Int),
  status: Schema.Literals(JOURNAL_STATUSES),
  /** How its document was made: the provider's table or the connector's own mapping. */ mapping: Schema.optionalKey(
    Schema.String
  ),
  /** Why it was ignored or failed. */ error: Schema.optionalKey(Schema.String),
  attempts: Schema.Int,
  /** Unix milliseconds. */ at: Schema.Int
}).annotate({ identifier: "ConnectorJournalEntry" })
export type JournalEntry = typeof JournalEntry.Type

/** What the mapping makes of an event, or what is wrong. */
export const TriedMapping = Schema.Struct({
  external_id: Schema.optionalKey(Schema.String),
  op: Schema.optionalKey(Schema.Literals(["upsert", "delete"])),
  version: Schema.optionalKey(Schema.Int),
  document: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  problem: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "TriedMapping" })
