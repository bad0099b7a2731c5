/** Fields whose vectors are computed from texts and images: pass `embeddingEngine` an engine and an embedder. */
export { type EmbeddedInput, type Embedder, type EmbedOrder, type ModelConfig } from "./embedder.ts"
export { embeddingEngine } from "./embedding-engine.ts"
export { type EmbeddingField, embeddingFieldsOf, hasOwnVectors, OWN_VECTORS, sourceOf } from "./embedding-fields.ts"
export { embedQuery } from "./embed-query.ts"
