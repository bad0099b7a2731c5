/** Fields whose vectors are made of texts and images: give `embeddingEngine` an engine and what embeds. */
export { type EmbeddedInput, type Embedder, type EmbedOrder, type ModelConfig } from "./embedder.ts"
export { embeddingEngine } from "./embedding-engine.ts"
export { type EmbeddingField, embeddingFieldsOf, hasOwnVectors, OWN_VECTORS, sourceOf } from "./embedding-fields.ts"
export { embedQuery } from "./embed-query.ts"
