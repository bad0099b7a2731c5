/** Embeds query texts into one vector: averaged, or weighted by the caller (`docs/contract/vectors.md`, `queries`). */
import { fail, invalid, ok, type Result } from "../errors.ts"
import type { Namespace } from "../engine.ts"
import type { QueryEmbedding } from "../plan.ts"
import type { CollectionInfo, Field } from "../schema.ts"
import type { Embedder } from "./embedder.ts"
import { embeddingFieldsOf, prefixed } from "./embedding-fields.ts"

const lengthOf = (vector: ReadonlyArray<number>): number => Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0))
/** Each vector is first scaled to length one, so that none counts more than its weight. */
const meanOf = (vectors: ReadonlyArray<ReadonlyArray<number>>, weights: ReadonlyArray<number>): number[] => {
  const mean = new Array<number>(vectors[0]!.length).fill(0)
  vectors.forEach((vector, i) => {
    const scale = (weights[i] ?? 1 / vectors.length) / (lengthOf(vector) || 1)
    for (let at = 0; at < mean.length; at++) mean[at]! += vector[at]! * scale
  })
  return mean
}

export const embedQuery = async (
  embedder: Embedder,
  namespace: Namespace,
  collection: CollectionInfo,
  field: Field,
  { texts, tries, timeout_ms, weights }: QueryEmbedding
): Promise<Result<ReadonlyArray<number>>> => {
  const embedding = embeddingFieldsOf(collection.schema).find((known) => known.field.name === field.name)
  if (embedding === undefined)
    return fail(invalid(`Field \`${field.name}\` is not an auto-embedding field.`, "vector_query"))
  const { model, pin } = embedding
  if (pin !== undefined && embedder.pinOf(model) !== pin)
    return fail(
      invalid(
        `The model \`${String(model.model_name)}\` is another one than the vectors of \`${field.name}\` were made with: drop the field and add it again.`,
        "query_by"
      )
    )
  if (embedder.kindOf(model) === "image")
    return fail(
      invalid(
        `The vectors of \`${field.name}\` are made of pictures: search it with a picture, or with \`vector_query=${field.name}:([], id: …)\` for what looks like a document's.`,
        "query_by"
      )
    )
  const made = await embedder.embed({
    namespace,
    model,
    purpose: "query",
    kind: "text",
    inputs: texts.map((text) => prefixed(model, "query", text)),
    timeout_ms,
    tries
  })
  const vectors: Array<ReadonlyArray<number>> = []
  for (const vector of made) {
    if (!vector.ok) return vector
    vectors.push(vector.value)
  }
  return ok(vectors.length === 1 ? vectors[0]! : meanOf(vectors, weights))
}
