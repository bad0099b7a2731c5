/** Whose vectors may be asked, and in which language. */
import type { CollectionInfo } from "@dowser/engine-sdk"
import { type EmbeddingField, OWN_VECTORS } from "@dowser/engine-sdk/embedding"
import { covers, type FieldList } from "@dowser/engine-sdk/query"
import type { Embeddings } from "../ports/embedder/embedder.ts"
import { readsLanguage } from "../ports/text-embedder/text-embedder.ts"
import { languageOf } from "../understanding/language.ts"

/**
 * What is near tells of everything that vectors are made of, so it is for those who see all of it. `fields`: what the
 * caller sees; undefined is everything.
 */
export const seesVectors = (fields: FieldList | undefined, { field, from }: EmbeddingField): boolean =>
  fields === undefined ||
  (from.every((name) => covers(fields, name)) && (field.name === OWN_VECTORS || covers(fields, field.name)))

export const words = (q: string): ReadonlyArray<string> => q.split(/\s+/).filter((word) => word !== "")
/**
 * A model reads what it was trained on; a query that nothing tells the language of is read, and so is all by models of
 * servers, which do not say.
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
