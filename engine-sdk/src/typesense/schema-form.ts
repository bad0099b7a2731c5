/**
 * Converts a collection to the form that its server stores, and back. The server gets what it needs for documents and
 * searches. The schema as declared by the tenant, with what only the host uses (synonym sets, curations, embedding), is
 * stored in the collection's metadata, so that every process reads the same.
 */
import { isObject, parseBounded } from "../documents/json.ts"
import type { Namespace } from "../engine.ts"
import { parseField } from "../schema/mod.ts"
import type { CollectionInfo, CollectionSchema, Field } from "../schema.ts"
import type { ServerNames } from "./names.ts"

const OWN = "dowser"

type Json = { readonly [key: string]: unknown }
interface SchemaRecord {
  readonly created_at: number
  /** JSON text, because the server need not know its content. */ readonly schema: string
}

/** `Collection.field` with the collection's server name; `isCollection` decides which dot separates the two. */
const placedReference = (
  reference: string,
  names: ServerNames,
  namespace: Namespace,
  isCollection: (name: string) => boolean
): string => {
  const dots = [reference.lastIndexOf("."), reference.indexOf(".")]
  const dot = dots.find((at) => isCollection(reference.slice(0, at))) ?? dots[0]!
  return `${names.of(namespace, reference.slice(0, dot))}${reference.slice(dot)}`
}

export interface Placing {
  readonly names: ServerNames
  readonly namespace: Namespace
  readonly isCollection: (name: string) => boolean
}
export const serverField = (field: Field, { isCollection, names, namespace }: Placing): Json => {
  // The host does the embedding, so documents and queries contain their vectors.
  const { detected: _detected, embed, nested: _nested, nested_array: _array, ...rest } = field
  const { async_reference, cascade_delete, hnsw_params, num_dim, reference, stem_dictionary, vec_dist, ...plain } = rest
  return {
    ...plain,
    ...(embed === undefined ? {} : { optional: true }),
    ...(stem_dictionary === "" ? {} : { stem_dictionary: names.of(namespace, stem_dictionary) }),
    ...(num_dim === 0 ? {} : { num_dim, vec_dist, hnsw_params }),
    ...(reference === ""
      ? {}
      : {
          reference: placedReference(reference, names, namespace, isCollection),
          async_reference,
          cascade_delete
        })
  }
}
const declared = (schema: CollectionSchema): CollectionSchema => ({
  ...schema,
  fields: schema.fields.filter(({ detected }) => detected !== true)
})
export const serverMetadata = (schema: CollectionSchema, createdAt_s: number): Json => ({
  [OWN]: { created_at: createdAt_s, schema: JSON.stringify(declared(schema)) } satisfies SchemaRecord
})
export const serverSchema = (schema: CollectionSchema, createdAt_s: number, placing: Placing): Json => ({
  name: placing.names.of(placing.namespace, schema.name),
  fields: schema.fields.map((field) => serverField(field, placing)),
  ...(schema.default_sorting_field === "" ? {} : { default_sorting_field: schema.default_sorting_field }),
  enable_nested_fields: schema.enable_nested_fields,
  token_separators: schema.token_separators,
  symbols_to_index: schema.symbols_to_index,
  metadata: serverMetadata(schema, createdAt_s)
})

export interface ReadCollection {
  readonly namespace: Namespace
  readonly info: CollectionInfo
}
/** undefined for a collection that belongs to somebody else, or that was not created by this module. */
export const readCollection = (raw: unknown, names: ServerNames): ReadCollection | undefined => {
  if (!isObject(raw) || typeof raw.name !== "string") return undefined
  const placed = names.read(raw.name)
  const kept = isObject(raw.metadata) && isObject(raw.metadata[OWN]) ? raw.metadata[OWN] : undefined
  if (placed === undefined || kept === undefined || typeof kept.schema !== "string") return undefined
  const { num_documents } = raw
  const parsed = parseBounded(kept.schema)
  const schema = typeof parsed === "object" ? schemaOf(parsed.value, placed.name) : undefined
  if (schema === undefined || typeof num_documents !== "number" || !Array.isArray(raw.fields)) return undefined
  const fields = fieldsInOrder(raw.fields as ReadonlyArray<unknown>, schema)
  if (fields === undefined) return undefined
  return {
    namespace: placed.namespace,
    info: {
      schema: { ...schema, fields },
      num_documents,
      created_at: typeof kept.created_at === "number" ? kept.created_at : 0
    }
  }
}

const strings = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : []
const schemaOf = (raw: unknown, name: string): CollectionSchema | undefined => {
  if (!isObject(raw) || raw.name !== name || !Array.isArray(raw.fields)) return undefined
  const fields = fieldsOf(raw.fields as ReadonlyArray<unknown>, name)
  if (fields === undefined) return undefined
  return {
    name,
    fields,
    default_sorting_field: typeof raw.default_sorting_field === "string" ? raw.default_sorting_field : "",
    enable_nested_fields: raw.enable_nested_fields === true,
    token_separators: strings(raw.token_separators),
    symbols_to_index: strings(raw.symbols_to_index),
    synonym_sets: strings(raw.synonym_sets),
    curation_sets: strings(raw.curation_sets),
    ...(isObject(raw.metadata) ? { metadata: raw.metadata } : {}),
    ...(isObject(raw.voice_query_model) && typeof raw.voice_query_model.model_name === "string"
      ? { voice_query_model: { model_name: raw.voice_query_model.model_name } }
      : {})
  }
}
/** undefined if one of them is not a field. */
const fieldsOf = (raw: ReadonlyArray<unknown>, collection: string): ReadonlyArray<Field> | undefined => {
  const fields: Field[] = []
  for (const one of raw) {
    if (!isObject(one)) return undefined
    const dimensions = typeof one.num_dim === "number" ? one.num_dim : undefined
    const read = parseField(one, {
      collection,
      nestedFields: true,
      creating: false,
      modelDimensions: () => dimensions
    })
    if (!read.ok) return undefined
    if (read.value === undefined) continue
    fields.push({
      ...read.value,
      ...(one.nested === true ? { nested: true } : {}),
      ...(one.nested_array === true ? { nested_array: true } : {})
    })
  }
  return fields
}
const idOf = ({ name, type }: { readonly name?: unknown; readonly type?: unknown }): string =>
  JSON.stringify([name, type])
/** In the server's order: first as declared, then fields that it detected in documents. */
const fieldsInOrder = (raw: ReadonlyArray<unknown>, schema: CollectionSchema): ReadonlyArray<Field> | undefined => {
  const declared = new Map(schema.fields.map((field) => [idOf(field), field]))
  const objects = raw.filter((one) => isObject(one) && (one.type === "object" || one.type === "object[]"))
  const fields: Field[] = []
  for (const one of raw) {
    const known = isObject(one) ? declared.get(idOf(one)) : undefined
    if (known !== undefined) {
      declared.delete(idOf(known))
      fields.push(known)
      continue
    }
    const [found] = fieldsOf([one], schema.name) ?? []
    if (found === undefined) return undefined
    const above = objects.filter((object) => found.name.startsWith(`${String((object as Json).name)}.`)) as Json[]
    const nested = { nested: true, nested_array: above.some(({ type }) => type === "object[]") }
    fields.push({ ...found, ...(above.length === 0 ? {} : nested), detected: true })
  }
  return [...fields, ...declared.values()]
}
