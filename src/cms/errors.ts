/** Failures of the CMS room. */
import { Schema } from "effect"

export class InstallationNotFound extends Schema.TaggedError<InstallationNotFound>()(
  "InstallationNotFound",
  { message: Schema.String },
  { httpApiStatus: 404 }
) {}
/** The configuration was published since it was looked at, or a module says it runs by one that is not there yet. */
export class ConfigRevisionMismatch extends Schema.TaggedError<ConfigRevisionMismatch>()(
  "ConfigRevisionMismatch",
  { message: Schema.String, current_revision: Schema.Int },
  { httpApiStatus: 409 }
) {}
/** Nobody could read what is published for an installation without a key. */
export class InstallationRevoked extends Schema.TaggedError<InstallationRevoked>()(
  "InstallationRevoked",
  { message: Schema.String },
  { httpApiStatus: 409 }
) {}
