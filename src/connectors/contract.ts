/** Connectors: a catalogue that a shop system pushes, or that is pulled from it. */
import { Schema } from "effect"
import { optionalText } from "../http/checks.ts"
import { ConfigurationUnavailable, OrganizationPaused, OrganizationUnavailable, Throttled } from "../http/errors.ts"
import { operation } from "../http/operation.ts"
import { pageFields } from "../http/page.ts"
import { FeatureNotInPlan } from "../metering/errors.ts"
import {
  ConnectorDisabled,
  ConnectorNotFound,
  ConnectorNotPulled,
  ConnectorSecretsExhausted,
  IdempotencyKeyReused,
  PushesUnavailable,
  PushNotSigned,
  SyncInProgress
} from "./errors.ts"
import { Job } from "../jobs/schema.ts"
import { described } from "./examples.ts"
import {
  Connector,
  ConnectorWithSecret,
  CreateConnector,
  JOURNAL_STATUSES,
  JournalEntry,
  PushAnswer,
  SyncConnector,
  TriedMapping,
  UpdateConnector
} from "./schema.ts"

const at = { group: "connectors", plane: "control", scope: "full" } as const
const connectorId = Schema.String.annotate({ description: "The id of a connector, `con_…`." })
const one = { ...at, params: { connectorId } } as const
const listOf = <S extends Schema.Codec<unknown, unknown, never, never>>(item: S, identifier: string) =>
  Schema.Struct({ data: Schema.Array(item), next_cursor: Schema.optionalKey(Schema.String) }).annotate({ identifier })

export const listConnectors = operation({
  ...at,
  ...described.listConnectors,
  id: "listConnectors",
  summary: "List connectors",
  method: "GET",
  path: "/v1/connectors",
  query: Schema.Struct(pageFields({ max: 250, byDefault: 50 })),
  success: listOf(Connector, "ConnectorList")
})
export const createConnector = operation({
  ...at,
  ...described.createConnector,
  id: "createConnector",
  summary: "Create a connector; its secret is shown once",
  method: "POST",
  path: "/v1/connectors",
  payload: CreateConnector,
  success: ConnectorWithSecret,
  status: 201,
  errors: [FeatureNotInPlan, IdempotencyKeyReused]
})
export const getConnector = operation({
  ...one,
  ...described.getConnector,
  id: "getConnector",
  summary: "Get a connector",
  method: "GET",
  path: "/v1/connectors/:connectorId",
  success: Connector,
  errors: [ConnectorNotFound]
})
export const updateConnector = operation({
  ...one,
  ...described.updateConnector,
  id: "updateConnector",
  summary: "Change a connector; the secret stays",
  method: "PUT",
  path: "/v1/connectors/:connectorId",
  payload: UpdateConnector,
  success: Connector,
  errors: [ConnectorNotFound]
})
export const deleteConnector = operation({
  ...one,
  ...described.deleteConnector,
  id: "deleteConnector",
  summary: "Delete a connector, its journal and jobs; documents stay",
  method: "DELETE",
  path: "/v1/connectors/:connectorId",
  success: Schema.Struct({ id: Schema.String }).annotate({ identifier: "DeletedConnector" }),
  errors: [ConnectorNotFound]
})
export const rotateConnectorSecret = operation({
  ...one,
  ...described.rotateConnectorSecret,
  id: "rotateConnectorSecret",
  summary: "Rotate the secret; the old one stays valid for 24 hours",
  method: "POST",
  path: "/v1/connectors/:connectorId/secret",
  success: ConnectorWithSecret,
  errors: [ConnectorNotFound, ConnectorSecretsExhausted]
})
export const listConnectorJournal = operation({
  ...one,
  ...described.listConnectorJournal,
  id: "listConnectorJournal",
  summary: "List the outcome of pushed documents, newest first",
  method: "GET",
  path: "/v1/connectors/:connectorId/journal",
  query: Schema.Struct({
    ...pageFields({ max: 250, byDefault: 50 }),
    status: optionalText((text) =>
      (JOURNAL_STATUSES as ReadonlyArray<string>).includes(text) ? undefined : `One of ${JOURNAL_STATUSES.join(", ")}`
    ),
    external_id: Schema.optionalKey(Schema.String)
  }),
  success: listOf(JournalEntry, "ConnectorJournal"),
  errors: [ConnectorNotFound]
})
export const testConnectorMapping = operation({
  ...one,
  ...described.testConnectorMapping,
  id: "testConnectorMapping",
  summary: "Try the mapping on an event; nothing is written",
  method: "POST",
  path: "/v1/connectors/:connectorId/test-mapping",
  payload: Schema.Struct({ event: Schema.Record(Schema.String, Schema.Unknown) }).annotate({
    identifier: "TestMapping"
  }),
  success: TriedMapping,
  errors: [ConnectorNotFound]
})
export const syncConnector = operation({
  ...one,
  ...described.syncConnector,
  id: "syncConnector",
  summary: "Pull the shop system's catalogue now",
  method: "POST",
  path: "/v1/connectors/:connectorId/sync",
  payload: SyncConnector,
  success: Job,
  status: 202,
  errors: [ConnectorDisabled, ConnectorNotFound, ConnectorNotPulled, SyncInProgress]
})
/** Takes no key: the signature identifies the connector. */
export const pushConnectorEvents = operation({
  ...one,
  ...described.pushConnectorEvents,
  id: "pushConnectorEvents",
  summary: "Push catalogue events, signed",
  method: "POST",
  path: "/v1/connectors/:connectorId/webhook",
  scope: "public",
  payload: Schema.Unknown,
  payloadIsChecked: false,
  success: PushAnswer,
  status: 202,
  errors: [
    ConfigurationUnavailable,
    ConnectorDisabled,
    ConnectorNotFound,
    ConnectorNotPulled,
    OrganizationPaused,
    OrganizationUnavailable,
    PushesUnavailable,
    PushNotSigned,
    Throttled
  ]
})
