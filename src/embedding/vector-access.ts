/** Which vectors may be used, and for which languages. */
import type { CollectionInfo } from "@dowser/engine-sdk"
import { type EmbeddingField, OWN_VECTORS } from "@dowser/engine-sdk/embedding"
import { covers, type FieldList } from "@dowser/engine-sdk/query"
import type { Embeddings } from "../ports/embedder/embedder.ts"
import { readsLanguage } from "../ports/text-embedder/text-embedder.ts"
import { languageOf } from "../understanding/language.ts"

/**
 * Nearness reveals something about every source of the vectors, so it requires access to all of them. `fields` are
 * those that the caller sees; undefined means all.
 */
export const seesVectors = (fields: FieldList | undefined, { field, from }: EmbeddingField): boolean =>
  fields === undefined ||
  (from.every((name) => covers(fields, name)) && (field.name === OWN_VECTORS || covers(fields, field.name)))

export const words = (q: string): ReadonlyArray<string> => q.split(/\s+/).filter((word) => word !== "")
/**
 * A model supports the languages it was trained on. A query of unknown language is accepted, and models on servers,
 * whose languages are unknown, accept all.
 */
export const modelReads = async (
  embedder: Embeddings | undefined,
  { model }: EmbeddingField,
  { schema }: CollectionInfo,
  q: string
): Promise<boolean> => {
  const known = embedder?.models().find(({ name }) => name === model.model_name)
  if (known === undefined) return true
  const locale = schema.fields.find(({ type }) => type === "string")?.locale ?? ""
  return readsLanguage(known, await languageOf(q, words(q), locale))
}
