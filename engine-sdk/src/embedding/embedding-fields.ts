/** Fields whose vectors are computed from other fields, and how a document's text for one is built. */
import { valueAt } from "../documents/mod.ts"
import type { CollectionSchema, Document, Field } from "../schema.ts"
import type { ModelConfig } from "./embedder.ts"

export interface EmbeddingField {
  readonly field: Field
  readonly from: ReadonlyArray<string>
  readonly model: ModelConfig
  /** Identifies the weights with which its vectors were computed; undefined if none were named. */ readonly pin:
    | string
    | undefined
}

/**
 * The vector field that a collection has in addition to its schema (`POST …/semantic_search`): nobody declared it and
 * no answer shows it.
 */
export const OWN_VECTORS = "$meaning"
export const hasOwnVectors = (schema: CollectionSchema): boolean =>
  schema.fields.some(({ name }) => name === OWN_VECTORS)

const known = new WeakMap<CollectionSchema, ReadonlyArray<EmbeddingField>>()
const NONE: ReadonlyArray<EmbeddingField> = []

/** The embedding fields of a schema, computed once. */
export const embeddingFieldsOf = (schema: CollectionSchema): ReadonlyArray<EmbeddingField> => {
  const before = known.get(schema)
  if (before !== undefined) return before
  const found = schema.fields.flatMap((field): EmbeddingField[] => {
    const { embed } = field
    if (embed === undefined) return []
    return [
      {
        field,
        from: Array.isArray(embed.from) ? (embed.from as string[]) : [],
        model: (embed.model_config ?? {}) as ModelConfig,
        pin: typeof embed.model_hash === "string" ? embed.model_hash : undefined
      }
    ]
  })
  const fields = found.length === 0 ? NONE : found
  known.set(schema, fields)
  return fields
}

/**
 * The input of the field's vector for a document: its sources' texts joined by spaces. undefined if all are missing.
 */
export const sourceOf = ({ from }: Pick<EmbeddingField, "from">, document: Document): string | undefined => {
  const texts: string[] = []
  for (const name of from) {
    const { found, value } = valueAt(document, name, name.split("."))
    if (!found) continue
    for (const item of Array.isArray(value) ? (value as unknown[]) : [value])
      if (typeof item === "string") texts.push(item)
      else if (typeof item === "number" || typeof item === "boolean") texts.push(String(item))
  }
  return texts.length === 0 ? undefined : texts.join(" ")
}

/** A model's text for a document, or for a query: the prefix chosen by its owner, and the input. */
export const prefixed = (model: ModelConfig, purpose: "query" | "document", text: string): string => {
  const prefix = purpose === "query" ? model.query_prefix : model.indexing_prefix
  return typeof prefix === "string" && prefix !== "" ? `${prefix} ${text}` : text
}
