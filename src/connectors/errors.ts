/** Errors of the connectors room. */
import { Schema } from "effect"

export class ConnectorNotFound extends Schema.TaggedError<ConnectorNotFound>()(
  "ConnectorNotFound",
  { message: Schema.String },
  { httpApiStatus: 404 }
) {}
/** A connector that its owner disabled accepts nothing. */
export class ConnectorDisabled extends Schema.TaggedError<ConnectorDisabled>()(
  "ConnectorDisabled",
  { message: Schema.String },
  { httpApiStatus: 409 }
) {}
/** The same `Idempotency-Key` was used with another body within a day. */
export class IdempotencyKeyReused extends Schema.TaggedError<IdempotencyKeyReused>()(
  "IdempotencyKeyReused",
  { message: Schema.String },
  { httpApiStatus: 409 }
) {}
/** Another rotation while too many older secrets are still valid. */
export class ConnectorSecretsExhausted extends Schema.TaggedError<ConnectorSecretsExhausted>()(
  "ConnectorSecretsExhausted",
  { message: Schema.String },
  { httpApiStatus: 409 }
) {}
/** The push is not signed with a secret of this connector. */
export class PushNotSigned extends Schema.TaggedError<PushNotSigned>()(
  "PushNotSigned",
  { message: Schema.String },
  { httpApiStatus: 401 }
) {}
/** Only connectors with `pull` can be pulled. */
export class ConnectorNotPulled extends Schema.TaggedError<ConnectorNotPulled>()(
  "ConnectorNotPulled",
  { message: Schema.String },
  { httpApiStatus: 409 }
) {}
/** A connector has one pull at a time; the message names it. */
export class SyncInProgress extends Schema.TaggedError<SyncInProgress>()(
  "SyncInProgress",
  { message: Schema.String, job_id: Schema.String },
  { httpApiStatus: 409 }
) {}
/** The log accepts no writes at the moment. */
export class PushesUnavailable extends Schema.TaggedError<PushesUnavailable>()(
  "PushesUnavailable",
  { message: Schema.String, retry_after_s: Schema.Int },
  { httpApiStatus: 503 }
) {}
