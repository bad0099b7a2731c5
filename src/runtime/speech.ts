/** What decodes audio, and what recognizes words in it: the model of this program, once somebody has installed one. */
import { Effect, Layer } from "effect"
import { Models } from "../models/models.ts"
import { layerDecoderThread } from "../ports/audio-decoder/thread.ts"
import { layerLocalTranscriber } from "../ports/transcriber/local/local-transcriber.ts"

export const layerTranscriber = Layer.unwrap(
  Effect.map(Models, ({ transcriber }) => layerLocalTranscriber({ installed: transcriber }))
)
export const layerDecoder = layerDecoderThread()
