/** A sample of every error that the room declares. */
import type { ErrorSample } from "../room.ts"
import { ConfigRevisionMismatch, InstallationNotFound, InstallationRevoked } from "./errors.ts"

export const errorSamples: ReadonlyArray<ErrorSample> = [
  ["InstallationNotFound", new InstallationNotFound({ message: "CMS installation cms_1 does not exist." })],
  [
    "ConfigRevisionMismatch",
    new ConfigRevisionMismatch({ message: "The installation has the revision 4.", current_revision: 4 })
  ],
  ["InstallationRevoked", new InstallationRevoked({ message: "The key of CMS installation cms_1 is revoked." })]
]
