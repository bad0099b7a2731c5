/** Who embeds texts: the model of this program, once it is installed. */
import { Effect, Layer } from "effect"
import { Models } from "../models/models.ts"
import { layerMiniLm } from "../ports/text-embedder/minilm/embedder.ts"

export const layerTextEmbedder = Layer.unwrap(Effect.map(Models, ({ installed }) => layerMiniLm({ installed })))
