/** A sample of every error that the room declares; several if a fact changes the response. */
import type { ErrorSample } from "../room.ts"
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

export const errorSamples: ReadonlyArray<ErrorSample> = [
  ["ConnectorNotFound", new ConnectorNotFound({ message: "Connector con_1 does not exist." })],
  ["ConnectorDisabled", new ConnectorDisabled({ message: "Connector con_1 is disabled." })],
  [
    "IdempotencyKeyReused",
    new IdempotencyKeyReused({
      message: "This `Idempotency-Key` was used within the last 24 hours with another body."
    })
  ],
  [
    "ConnectorSecretsExhausted",
    new ConnectorSecretsExhausted({
      message: "4 secrets of this connector are valid; an older one ends 24 hours after its rotation."
    })
  ],
  ["ConnectorNotPulled", new ConnectorNotPulled({ message: "Connector con_1 receives pushes; it has no `pull_url`." })],
  ["SyncInProgress", new SyncInProgress({ message: "A pull of con_1 is queued or running: job_1.", job_id: "job_1" })],
  [
    "PushNotSigned",
    new PushNotSigned({ message: "A push has `X-Signature-Timestamp` and `X-Signature`, one of each." })
  ],
  [
    "PushesUnavailable",
    new PushesUnavailable({ message: "The push could not be stored; send it again.", retry_after_s: 5 })
  ]
]
