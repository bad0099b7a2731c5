import type { ErrorSample } from "../room.ts"
import { INSTALL, ModelBusy, ModelFailed, ModelNotInstalled } from "./errors.ts"

export const errorSamples: ReadonlyArray<ErrorSample> = [
  [
    "ModelNotInstalled",
    new ModelNotInstalled({ message: "The model `dowser/minilm-l6-v2` is not installed.", setting: INSTALL })
  ],
  ["ModelBusy", new ModelBusy({ message: "The model is being installed.", retry_after_s: 5 })],
  ["ModelFailed", new ModelFailed({ message: "The server of the model `openai/small` answered 500." })]
]
