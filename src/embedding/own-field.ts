/** The vectors that a collection has outside its schema: their source fields, and the field that holds them. */
import { Effect } from "effect"
import type { CollectionSchema } from "@dowser/engine-sdk"
import { type EmbeddingField, embeddingFieldsOf, type ModelConfig, OWN_VECTORS } from "@dowser/engine-sdk/embedding"
import { updateCollection } from "@dowser/engine-sdk/operations"
import { makeContexts } from "../engine-plane/engine-plane.ts"

/** Limit of source fields; a model would not read the text of further ones. */
const SOURCES_MAX = 20

/** Searched texts first, then facets, because the first text read should be a document's title. */
export const sourcesOf = ({ fields }: CollectionSchema): ReadonlyArray<string> => {
  const texts = fields.filter(
    ({ index, name, type }) => index && name !== "id" && (type === "string" || type === "string[]")
  )
  return [...texts.filter(({ facet }) => !facet), ...texts.filter(({ facet }) => facet)]
    .slice(0, SOURCES_MAX)
    .map(({ name }) => name)
}
export const isOwn = ({ field }: EmbeddingField): boolean => field.name === OWN_VECTORS
export const ownFieldOf = (schema: CollectionSchema) => embeddingFieldsOf(schema).find(isOwn)

/** Adds the field, or replaces it by that of another model; returns why it cannot. Does not compute vectors. */
export const makeOwnField = Effect.map(
  makeContexts,
  (contextOf) =>
    (organizationId: string, schema: CollectionSchema, model: ModelConfig): Effect.Effect<string | undefined> => {
      const fields = [
        ...(ownFieldOf(schema) === undefined ? [] : [{ name: OWN_VECTORS, drop: true }]),
        { name: OWN_VECTORS, type: "float[]", optional: true, embed: { from: sourcesOf(schema), model_config: model } }
      ]
      const body = JSON.stringify({ fields })
      return Effect.map(
        Effect.promise(() => updateCollection(contextOf(organizationId), schema.name, body)),
        (altered) => (altered.ok ? undefined : altered.error.message)
      )
    }
)
