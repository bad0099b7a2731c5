/** Puts the computation of vectors in front of a process's engine, whichever it is, and provides what computes them. */
import { Effect, Layer } from "effect"
import { embeddingEngine } from "@dowser/engine-sdk/embedding"
import { Seal } from "../access/seal.ts"
import { makeTrainedModels } from "../embedding/lsa/trained-models.ts"
import { makePictureBytes } from "../media/picture-bytes.ts"
import { CurrentEmbedder, makeEmbeddings } from "../ports/embedder/embedder.ts"
import { CurrentPictureBytes } from "../ports/embedder/pictures.ts"
import { Engine } from "../ports/engine/engine.ts"
import { ImageEmbedder } from "../ports/image-embedder/image-embedder.ts"

export const layerEmbedding = Layer.unwrap(
  Effect.gen(function* () {
    const bytesOf = yield* makePictureBytes
    const pictures = { model: yield* ImageEmbedder, bytesOf }
    const embedder = yield* makeEmbeddings(yield* Seal, pictures, yield* makeTrainedModels)
    return Layer.mergeAll(
      Layer.succeed(CurrentEmbedder, embedder),
      Layer.succeed(CurrentPictureBytes, bytesOf),
      Layer.succeed(Engine, embeddingEngine(yield* Engine, embedder))
    )
  })
)
