/** The engine of a process with vectors made in front of it, whichever it is, and what makes them. */
import { Effect, Layer } from "effect"
import { embeddingEngine } from "@dowser/engine-sdk/embedding"
import { Seal } from "../access/seal.ts"
import { CurrentEmbedder, makeEmbeddings } from "../ports/embedder/embedder.ts"
import { Engine } from "../ports/engine/engine.ts"

export const layerEmbedding = Layer.unwrap(
  Effect.gen(function* () {
    const embedder = yield* makeEmbeddings(yield* Seal)
    return Layer.mergeAll(
      Layer.succeed(CurrentEmbedder, embedder),
      Layer.succeed(Engine, embeddingEngine(yield* Engine, embedder))
    )
  })
)
