/** The models that this program runs itself, for organizations that configure none of their own. Pure. */
import { DEFAULT_MODEL, type Embeddings } from "../ports/embedder/embedder.ts"
import type { TranscriberInUse } from "../ports/transcriber/transcriber.ts"
import type { ProvidersInUse } from "./schema.ts"

/** The model that embeds texts. */
export const ownModel = (embedder: Embeddings | undefined, named: string): ProvidersInUse["text_embedder"] => {
  const text = embedder?.models().find(({ name }) => name === named)
  return text === undefined
    ? { name: null, embedded: true, state: "absent" }
    : {
        name: text.name,
        embedded: true,
        dimensions: text.dimensions,
        ...(text.languages.length === 0 ? {} : { languages: text.languages }),
        state: embedder!.state(text.name)
      }
}

/** Extracts sentences from documents and generates nothing. */
const EXTRACTIVE = "dowser/extractive"
export const ownModels = (embedder: Embeddings | undefined, transcriber: TranscriberInUse): ProvidersInUse => {
  const image = embedder?.imageModel()
  return {
    text_embedder: ownModel(embedder, DEFAULT_MODEL),
    generator: { name: EXTRACTIVE, embedded: true },
    image_embedder:
      image === undefined
        ? { name: null, embedded: true, state: "absent" }
        : { name: image.name, embedded: image.embedded, dimensions: image.dimensions, state: "ready" },
    reranker: { name: "linear", embedded: true },
    transcriber
  }
}
