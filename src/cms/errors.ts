/** Errors of the CMS room. */
import { Schema } from "effect"

export class InstallationNotFound extends Schema.TaggedError<InstallationNotFound>()(
  "InstallationNotFound",
  { message: Schema.String },
  { httpApiStatus: 404 }
) {}
/** The configuration was published since it was read, or a module reports a revision that does not exist yet. */
export class ConfigRevisionMismatch extends Schema.TaggedError<ConfigRevisionMismatch>()(
  "ConfigRevisionMismatch",
  { message: Schema.String, current_revision: Schema.Int },
  { httpApiStatus: 409 }
) {}
/** An installation without a key could not read what is published for it. */
export class InstallationRevoked extends Schema.TaggedError<InstallationRevoked>()(
  "InstallationRevoked",
  { message: Schema.String },
  { httpApiStatus: 409 }
) {}
