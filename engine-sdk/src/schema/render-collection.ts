/**
 * A collection as the wire shows it (`docs/contract/collections.md#shape`). Keys are in alphabetical order as in the
 * reference engine; secrets are masked.
 */
import { OWN_VECTORS } from "../embedding/embedding-fields.ts"
import type { CollectionInfo, Field } from "../schema.ts"

const MASK_KEPT = 5
const SECRETS: ReadonlySet<string> = new Set([
  "api_key",
  "access_token",
  "refresh_token",
  "client_secret",
  "private_key"
])
/** Keeps the first five characters and masks the rest; a value of five or fewer becomes eleven stars. */
export const maskSecret = (secret: string): string =>
  secret.length <= MASK_KEPT ? "*".repeat(11) : secret.slice(0, MASK_KEPT) + "*".repeat(secret.length - MASK_KEPT)
const masked = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(masked)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      SECRETS.has(key) && typeof item === "string" ? maskSecret(item) : masked(item)
    ])
  )
}

const renderField = (field: Field): Record<string, unknown> => ({
  ...(field.reference === "" ? {} : { async_reference: field.async_reference }),
  ...(field.reference !== "" && !field.cascade_delete ? { cascade_delete: false } : {}),
  ...(field.embed === undefined ? {} : { embed: masked(field.embed) }),
  facet: field.facet,
  ...(field.num_dim > 0 ? { hnsw_params: field.hnsw_params } : {}),
  index: field.index,
  infix: field.infix,
  locale: field.locale,
  name: field.name,
  ...(field.num_dim > 0 ? { num_dim: field.num_dim } : {}),
  optional: field.optional,
  ...(field.range_index ? { range_index: true } : {}),
  ...(field.reference === "" ? {} : { reference: field.reference }),
  sort: field.sort,
  stem: field.stem,
  stem_dictionary: field.stem_dictionary,
  store: field.store,
  ...(field.symbols_to_index.length > 0 ? { symbols_to_index: field.symbols_to_index } : {}),
  ...(field.token_separators.length > 0 ? { token_separators: field.token_separators } : {}),
  type: field.type,
  ...(field.num_dim > 0 ? { vec_dist: field.vec_dist } : {})
})

/** `exclude` drops top-level keys. O(fields). */
export const renderCollection = (
  info: CollectionInfo,
  exclude: ReadonlyArray<string> = []
): Record<string, unknown> => {
  const { schema } = info
  const out: Record<string, unknown> = {
    created_at: info.created_at,
    curation_sets: schema.curation_sets,
    default_sorting_field: schema.default_sorting_field,
    enable_nested_fields: schema.enable_nested_fields,
    fields: schema.fields.filter(({ name }) => name !== OWN_VECTORS).map(renderField),
    ...(schema.metadata === undefined || Object.keys(schema.metadata).length === 0
      ? {}
      : { metadata: schema.metadata }),
    name: schema.name,
    num_documents: info.num_documents,
    symbols_to_index: schema.symbols_to_index,
    synonym_sets: schema.synonym_sets,
    token_separators: schema.token_separators,
    ...(schema.voice_query_model === undefined ? {} : { voice_query_model: schema.voice_query_model })
  }
  for (const key of exclude) delete out[key]
  return out
}
