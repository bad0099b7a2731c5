/** The models that this program runs itself, as every organization has them that names none of its own. Pure. */
import { DEFAULT_MODEL, type Embeddings } from "../ports/embedder/embedder.ts"
import type { ProvidersInUse } from "./schema.ts"

export const ownModels = (embedder: Embeddings | undefined): ProvidersInUse => {
  const text = embedder?.models().find(({ name }) => name === DEFAULT_MODEL)
  const image = embedder?.imageModel()
  return {
    text_embedder:
      text === undefined
        ? { name: null, embedded: true, state: "absent" }
        : {
            name: text.name,
            embedded: true,
            dimensions: text.dimensions,
            languages: text.languages,
            state: embedder!.state(text.name)
          },
    image_embedder:
      image === undefined
        ? { name: null, embedded: true, state: "absent" }
        : { name: image.name, embedded: image.embedded, dimensions: image.dimensions, state: "ready" },
    reranker: { name: "linear", embedded: true }
  }
}
