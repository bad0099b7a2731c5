/**
 * Failures that any operation can return in addition to its own: the ordered refusals
 * (`docs/contract/errors.md#order-of-refusals`) and failures of the engine or of this program. Failures of a single
 * room are in that room's `errors.ts`. Each class contains its facts; only `render.ts` decides how they are sent.
 */
import { Schema } from "effect"

/** No key, or a key that is unknown, expired, revoked or wrongly signed. */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()(
  "Unauthorized",
  {
    message: Schema.String,
    reason: Schema.Literals(["missing", "rejected", "scoped_token"])
  },
  { httpApiStatus: 401 }
) {}

export class OrganizationPaused extends Schema.TaggedError<OrganizationPaused>()(
  "OrganizationPaused",
  {
    message: Schema.String,
    reason: Schema.Literals(["payment", "manual"])
  },
  { httpApiStatus: 402 }
) {}

/** Stored data of the organization is unreadable; only its requests are refused. `reason` informs the operator. */
export class OrganizationUnavailable extends Schema.TaggedError<OrganizationUnavailable>()(
  "OrganizationUnavailable",
  { message: Schema.String, reason: Schema.String, retry_after_s: Schema.Int },
  { httpApiStatus: 503 }
) {}
/** The data is read again at the next start, or when it is written. */
const DAMAGED_AGAIN_S = 60
export const organizationUnavailable = (reason: string) =>
  new OrganizationUnavailable({
    message: "Stored data of this organization cannot be read; the operator of this service can see why.",
    reason,
    retry_after_s: DAMAGED_AGAIN_S
  })

/** This process can neither read the configuration nor vouch for its copy. */
export class ConfigurationUnavailable extends Schema.TaggedError<ConfigurationUnavailable>()(
  "ConfigurationUnavailable",
  { message: Schema.String, retry_after_s: Schema.Int },
  { httpApiStatus: 503 }
) {}
export class AddressNotAllowed extends Schema.TaggedError<AddressNotAllowed>()(
  "AddressNotAllowed",
  { message: Schema.String },
  { httpApiStatus: 403 }
) {}
export class OriginNotAllowed extends Schema.TaggedError<OriginNotAllowed>()(
  "OriginNotAllowed",
  { message: Schema.String },
  { httpApiStatus: 403 }
) {}
export class ScopeDenied extends Schema.TaggedError<ScopeDenied>()(
  "ScopeDenied",
  { message: Schema.String },
  { httpApiStatus: 403 }
) {}
export class CollectionNotAllowed extends Schema.TaggedError<CollectionNotAllowed>()(
  "CollectionNotAllowed",
  { message: Schema.String },
  { httpApiStatus: 403 }
) {}
/** The role of a member of the console does not include this operation. */
export class RoleDenied extends Schema.TaggedError<RoleDenied>()(
  "RoleDenied",
  { message: Schema.String },
  { httpApiStatus: 403 }
) {}
/** A restriction of the key cannot be applied to this request, so it is refused instead of answered unfiltered. */
export class RestrictionNotApplicable extends Schema.TaggedError<RestrictionNotApplicable>()(
  "RestrictionNotApplicable",
  { message: Schema.String },
  { httpApiStatus: 403 }
) {}

/** Per-key rate, backpressure, quota: refusals to be retried later. `retry_after_s` also becomes the header. */
export class Throttled extends Schema.TaggedError<Throttled>()(
  "Throttled",
  {
    message: Schema.String,
    kind: Schema.Literals(["rate", "backpressure", "quota"]),
    retry_after_s: Schema.Int,
    /** Unix milliseconds, for the monthly quota. */ resets_at: Schema.optionalKey(Schema.Int),
    limit: Schema.optionalKey(Schema.Int)
  },
  { httpApiStatus: 429 }
) {}

/** A resource that does not exist. */
export class NotFound extends Schema.TaggedError<NotFound>()(
  "NotFound",
  { message: Schema.String },
  { httpApiStatus: 404 }
) {}
export class Conflict extends Schema.TaggedError<Conflict>()(
  "Conflict",
  { message: Schema.String },
  { httpApiStatus: 409 }
) {}
/** An AI operation called with a search key and without X-SVC-SESSION-ID. */
export class SessionRequired extends Schema.TaggedError<SessionRequired>()(
  "SessionRequired",
  { message: Schema.String },
  { httpApiStatus: 400 }
) {}

/** A body or parameter that does not match its schema; one issue per field. */
export class InputInvalid extends Schema.TaggedError<InputInvalid>()(
  "InputInvalid",
  {
    message: Schema.String,
    issues: Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String }))
  },
  { httpApiStatus: 400 }
) {}
export const inputInvalid = (path: string, message: string): InputInvalid =>
  new InputInvalid({ message: "Input validation failed", issues: [{ path, message }] })

/** A body of the engine plane that does not parse, with the engine's own message. */
export class BodyNotJson extends Schema.TaggedError<BodyNotJson>()(
  "BodyNotJson",
  { message: Schema.String },
  { httpApiStatus: 400 }
) {}
/** A refusal of the engine plane, with the engine's own message (`docs/contract/errors.md#engine-messages`). */
export class EngineRefusal extends Schema.TaggedError<EngineRefusal>()("EngineRefusal", {
  message: Schema.String,
  status: Schema.Int
}) {}
/** For an operation's list of errors: it refuses with the engine's messages and these statuses. */
export const engineRefusal = (...statuses: ReadonlyArray<400 | 404 | 409>) => ({ of: EngineRefusal, statuses })
export class EngineUnavailable extends Schema.TaggedError<EngineUnavailable>()(
  "EngineUnavailable",
  { message: Schema.String },
  { httpApiStatus: 502 }
) {}
/** The breaker is open, or the engine asks to retry later. */
export class EngineOverloaded extends Schema.TaggedError<EngineOverloaded>()(
  "EngineOverloaded",
  { message: Schema.String, retry_after_s: Schema.Int },
  { httpApiStatus: 503 }
) {}
/** The gateway's 504; on /v1 a search that is cut off is a 200 with a mark. */
export class SearchTimedOut extends Schema.TaggedError<SearchTimedOut>()(
  "SearchTimedOut",
  { message: Schema.String },
  { httpApiStatus: 504 }
) {}
/** A defect; its details are only in the log, under the request id. */
export class InternalError extends Schema.TaggedError<InternalError>()(
  "InternalError",
  { message: Schema.String, requestId: Schema.String },
  { httpApiStatus: 500 }
) {}

/** The operation is a WebSocket, and the request does not ask for an upgrade. */
export class UpgradeRequired extends Schema.TaggedError<UpgradeRequired>()(
  "UpgradeRequired",
  { message: Schema.String },
  { httpApiStatus: 426 }
) {}
export const upgradeRequired = () =>
  new UpgradeRequired({ message: "This is a WebSocket: ask for it with `Upgrade: websocket`." })
