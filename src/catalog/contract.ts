/**
 * Collections, documents and what belongs to them: the engine plane. The engine package validates every body in the
 * engine's own words, so the schemas here describe and do not judge.
 */
import { Schema } from "effect"
import { operation } from "../http/operation.ts"
import { engineErrors } from "../engine-plane/engine-errors.ts"
import { ProfilesWouldBreak } from "../profiles/errors.ts"
import { described } from "./examples.ts"

const strings = Schema.Array(Schema.String)
const anything = Schema.Record(Schema.String, Schema.Unknown)
const text = Schema.optionalKey(Schema.String)

export const Field = Schema.Struct({
  name: Schema.String,
  type: Schema.String,
  facet: Schema.optionalKey(Schema.Boolean),
  optional: Schema.optionalKey(Schema.Boolean),
  index: Schema.optionalKey(Schema.Boolean),
  sort: Schema.optionalKey(Schema.Boolean),
  infix: Schema.optionalKey(Schema.Boolean),
  locale: text,
  stem: Schema.optionalKey(Schema.Boolean),
  stem_dictionary: text,
  store: Schema.optionalKey(Schema.Boolean),
  range_index: Schema.optionalKey(Schema.Boolean),
  num_dim: Schema.optionalKey(Schema.Int),
  vec_dist: text,
  hnsw_params: Schema.optionalKey(anything),
  embed: Schema.optionalKey(anything),
  reference: text,
  async_reference: Schema.optionalKey(Schema.Boolean),
  token_separators: Schema.optionalKey(strings),
  symbols_to_index: Schema.optionalKey(strings),
  drop: Schema.optionalKey(Schema.Boolean)
}).annotate({ identifier: "Field" })

const collectionKeys = {
  name: Schema.String,
  fields: Schema.Array(Field),
  default_sorting_field: text,
  enable_nested_fields: Schema.optionalKey(Schema.Boolean),
  token_separators: Schema.optionalKey(strings),
  symbols_to_index: Schema.optionalKey(strings),
  synonym_sets: Schema.optionalKey(strings),
  curation_sets: Schema.optionalKey(strings),
  metadata: Schema.optionalKey(anything),
  voice_query_model: Schema.optionalKey(Schema.Struct({ model_name: Schema.String }))
}
export const CollectionSchema = Schema.Struct(collectionKeys).annotate({ identifier: "CollectionSchema" })
export const Collection = Schema.Struct({
  ...collectionKeys,
  num_documents: Schema.Int,
  created_at: Schema.Int
}).annotate({ identifier: "Collection" })
export const CollectionChange = Schema.Struct({
  fields: Schema.optionalKey(Schema.Array(Field)),
  metadata: Schema.optionalKey(anything),
  synonym_sets: Schema.optionalKey(strings),
  curation_sets: Schema.optionalKey(strings)
}).annotate({ identifier: "CollectionChange" })
export const Document = anything.annotate({
  identifier: "Document",
  description: "Free keys; the keys of the schema are indexed."
})
const Updated = Schema.Struct({ num_updated: Schema.Int }).annotate({ identifier: "DocumentsUpdated" })
const Deleted = Schema.Struct({
  num_deleted: Schema.Int,
  ids: Schema.optionalKey(strings),
  documents: Schema.optionalKey(Schema.Array(Document))
}).annotate({ identifier: "DocumentsDeleted" })
const Lines = Schema.String.annotate({ identifier: "JsonLines", description: "One JSON object a line." })

const at = { plane: "engine", scope: "full", payloadIsChecked: false, errors: engineErrors() } as const
const collections = { ...at, group: "collections" } as const
export const getCollections = operation({
  ...collections,
  ...described.getCollections,
  id: "getCollections",
  summary: "List collections, newest first",
  method: "GET",
  path: "/v1/collections",
  query: Schema.Struct({ exclude_fields: text, limit: text, offset: text }),
  success: Schema.Array(Collection).annotate({ identifier: "CollectionList" })
})
export const createCollection = operation({
  ...collections,
  ...described.createCollection,
  id: "createCollection",
  summary: "Create a collection",
  method: "POST",
  path: "/v1/collections",
  query: Schema.Struct({ src_name: text, copy_documents: text }),
  payload: CollectionSchema,
  success: Collection,
  status: 201,
  errors: engineErrors(404, 409)
})
export const getCollection = operation({
  ...collections,
  ...described.getCollection,
  id: "getCollection",
  summary: "Get a collection",
  method: "GET",
  path: "/v1/collections/:collectionName",
  success: Collection,
  errors: engineErrors(404)
})
export const updateCollection = operation({
  ...collections,
  ...described.updateCollection,
  id: "updateCollection",
  summary: "Change the schema of a live collection",
  method: "PATCH",
  path: "/v1/collections/:collectionName",
  query: Schema.Struct({ force: text }),
  payload: CollectionChange,
  success: Collection,
  errors: [...engineErrors(404), ProfilesWouldBreak]
})
export const listSchemaChanges = operation({
  ...collections,
  ...described.listSchemaChanges,
  id: "listSchemaChanges",
  summary: "List schema changes in progress",
  method: "GET",
  path: "/v1/operations/schema_changes",
  success: Schema.Array(
    Schema.Struct({
      collection: Schema.String,
      /** When it began. */ num_documents: Schema.Int,
      validated_docs: Schema.Int,
      altered_docs: Schema.Int
    })
  ).annotate({ identifier: "SchemaChangeList" })
})
export const deleteCollection = operation({
  ...collections,
  ...described.deleteCollection,
  id: "deleteCollection",
  summary: "Drop a collection",
  method: "DELETE",
  path: "/v1/collections/:collectionName",
  success: Collection,
  errors: engineErrors(404)
})

const documents = { ...at, group: "documents" } as const
const writeQuery = { action: text, dirty_values: text }
export const indexDocument = operation({
  ...documents,
  ...described.indexDocument,
  id: "indexDocument",
  summary: "Index one document",
  method: "POST",
  path: "/v1/collections/:collectionName/documents",
  query: Schema.Struct(writeQuery),
  payload: Document,
  success: Document,
  status: 201,
  errors: engineErrors(404, 409)
})
export const importDocuments = operation({
  ...documents,
  ...described.importDocuments,
  id: "importDocuments",
  summary: "Import JSON Lines; one result per line",
  method: "POST",
  path: "/v1/collections/:collectionName/documents/import",
  query: Schema.Struct({ ...writeQuery, batch_size: text, return_id: text, return_doc: text }),
  payload: Lines,
  payloadType: "jsonl",
  success: Lines,
  successType: "text",
  errors: engineErrors(404)
})
export const exportDocuments = operation({
  ...documents,
  ...described.exportDocuments,
  id: "exportDocuments",
  summary: "Export JSON Lines in insertion order",
  method: "GET",
  path: "/v1/collections/:collectionName/documents/export",
  query: Schema.Struct({
    filter_by: text,
    include_fields: text,
    exclude_fields: text,
    batch_size: text,
    validate_field_names: text
  }),
  success: Lines,
  successType: "text",
  errors: engineErrors(404)
})
export const getDocument = operation({
  ...documents,
  ...described.getDocument,
  id: "getDocument",
  summary: "Get one document",
  method: "GET",
  path: "/v1/collections/:collectionName/documents/:documentId",
  query: Schema.Struct({ include_fields: text, exclude_fields: text }),
  success: Document,
  errors: engineErrors(404)
})
export const updateDocument = operation({
  ...documents,
  ...described.updateDocument,
  id: "updateDocument",
  summary: "Update part of one document",
  method: "PATCH",
  path: "/v1/collections/:collectionName/documents/:documentId",
  query: Schema.Struct({ dirty_values: text }),
  payload: Document,
  success: Document,
  errors: engineErrors(404)
})
export const deleteDocument = operation({
  ...documents,
  ...described.deleteDocument,
  id: "deleteDocument",
  summary: "Delete one document",
  method: "DELETE",
  path: "/v1/collections/:collectionName/documents/:documentId",
  query: Schema.Struct({ ignore_not_found: text }),
  success: Document,
  errors: engineErrors(404)
})
export const updateDocuments = operation({
  ...documents,
  ...described.updateDocuments,
  id: "updateDocuments",
  summary: "Update every document that matches a filter",
  method: "PATCH",
  path: "/v1/collections/:collectionName/documents",
  query: Schema.Struct({ filter_by: text, dirty_values: text, validate_field_names: text }),
  payload: Document,
  success: Updated,
  errors: engineErrors(404)
})
export const deleteDocuments = operation({
  ...documents,
  ...described.deleteDocuments,
  id: "deleteDocuments",
  summary: "Delete every document that matches a filter",
  method: "DELETE",
  path: "/v1/collections/:collectionName/documents",
  query: Schema.Struct({
    filter_by: text,
    batch_size: text,
    return_doc: text,
    return_id: text,
    validate_field_names: text,
    truncate: text
  }),
  success: Deleted,
  errors: engineErrors(404)
})

const aliases = { ...at, group: "aliases" } as const
const Alias = Schema.Struct({ name: Schema.String, collection_name: Schema.String }).annotate({ identifier: "Alias" })
export const listAliases = operation({
  ...aliases,
  ...described.listAliases,
  id: "listAliases",
  summary: "List aliases",
  method: "GET",
  path: "/v1/aliases",
  success: Schema.Struct({ aliases: Schema.Array(Alias) }).annotate({ identifier: "AliasList" })
})
export const getAlias = operation({
  ...aliases,
  ...described.getAlias,
  id: "getAlias",
  summary: "Get an alias",
  method: "GET",
  path: "/v1/aliases/:aliasName",
  success: Alias,
  errors: engineErrors(404)
})
export const upsertAlias = operation({
  ...aliases,
  ...described.upsertAlias,
  id: "upsertAlias",
  summary: "Point an alias to a collection",
  method: "PUT",
  path: "/v1/aliases/:aliasName",
  payload: Schema.Struct({ collection_name: Schema.String }).annotate({ identifier: "AliasTarget" }),
  success: Alias
})
export const deleteAlias = operation({
  ...aliases,
  ...described.deleteAlias,
  id: "deleteAlias",
  summary: "Delete an alias",
  method: "DELETE",
  path: "/v1/aliases/:aliasName",
  success: Alias,
  errors: engineErrors(404)
})

const presets = { ...at, group: "presets" } as const
const Preset = Schema.Struct({ name: Schema.String, value: anything }).annotate({ identifier: "Preset" })
export const listPresets = operation({
  ...presets,
  ...described.listPresets,
  id: "listPresets",
  summary: "List presets",
  method: "GET",
  path: "/v1/presets",
  success: Schema.Struct({ presets: Schema.Array(Preset) }).annotate({ identifier: "PresetList" })
})
export const getPreset = operation({
  ...presets,
  ...described.getPreset,
  id: "getPreset",
  summary: "Get a preset",
  method: "GET",
  path: "/v1/presets/:presetId",
  success: Preset,
  errors: engineErrors(404)
})
export const upsertPreset = operation({
  ...presets,
  ...described.upsertPreset,
  id: "upsertPreset",
  summary: "Store a preset",
  method: "PUT",
  path: "/v1/presets/:presetId",
  payload: Schema.Struct({ name: text, value: anything }).annotate({ identifier: "PresetBody" }),
  success: Preset
})
export const deletePreset = operation({
  ...presets,
  ...described.deletePreset,
  id: "deletePreset",
  summary: "Delete a preset",
  method: "DELETE",
  path: "/v1/presets/:presetId",
  success: Preset,
  errors: engineErrors(404)
})

/** Synonym and curation sets have the same routes (`docs/contract/curation.md#sets`). */
const setOperations = (kind: "synonym" | "curation") => {
  const base = { ...at, group: `${kind} sets` } as const
  const title = kind === "synonym" ? "Synonym" : "Curation"
  const Item = anything.annotate({ identifier: `${title}Item` })
  const Set = Schema.Struct({ name: Schema.String, items: Schema.Array(Item), description: text }).annotate({
    identifier: `${title}Set`
  })
  const Body = Schema.Struct({ items: Schema.Array(Item), description: text }).annotate({
    identifier: `${title}SetBody`
  })
  const Name = Schema.Struct({ name: Schema.String }).annotate({ identifier: `${title}SetName` })
  const Id = Schema.Struct({ id: Schema.String }).annotate({ identifier: `${title}ItemId` })
  const path = `/v1/${kind}_sets` as const
  return {
    list: operation({
      ...base,
      ...described[kind].list,
      id: `list${title}Sets`,
      summary: `List ${kind} sets`,
      method: "GET",
      path,
      success: Schema.Array(Set).annotate({ identifier: `${title}SetList` })
    }),
    get: operation({
      ...base,
      ...described[kind].get,
      id: `get${title}Set`,
      summary: `Get a ${kind} set`,
      method: "GET",
      path: `${path}/:setName`,
      success: Set,
      errors: engineErrors(404)
    }),
    upsert: operation({
      ...base,
      ...described[kind].upsert,
      id: `upsert${title}Set`,
      summary: `Replace a ${kind} set`,
      method: "PUT",
      path: `${path}/:setName`,
      payload: Body,
      success: Set
    }),
    delete: operation({
      ...base,
      ...described[kind].delete,
      id: `delete${title}Set`,
      summary: `Delete a ${kind} set`,
      method: "DELETE",
      path: `${path}/:setName`,
      success: Name,
      errors: engineErrors(404)
    }),
    listItems: operation({
      ...base,
      ...described[kind].listItems,
      id: `list${title}Items`,
      summary: `List the items of a ${kind} set`,
      method: "GET",
      path: `${path}/:setName/items`,
      query: Schema.Struct({ limit: text, offset: text }),
      success: Schema.Array(Item).annotate({ identifier: `${title}ItemList` }),
      errors: engineErrors(404)
    }),
    getItem: operation({
      ...base,
      ...described[kind].getItem,
      id: `get${title}Item`,
      summary: `Get an item of a ${kind} set`,
      method: "GET",
      path: `${path}/:setName/items/:itemId`,
      success: Item,
      errors: engineErrors(404)
    }),
    upsertItem: operation({
      ...base,
      ...described[kind].upsertItem,
      id: `upsert${title}Item`,
      summary: `Store an item of a ${kind} set`,
      method: "PUT",
      path: `${path}/:setName/items/:itemId`,
      payload: Item,
      success: Item,
      errors: engineErrors(404)
    }),
    deleteItem: operation({
      ...base,
      ...described[kind].deleteItem,
      id: `delete${title}Item`,
      summary: `Delete an item of a ${kind} set`,
      method: "DELETE",
      path: `${path}/:setName/items/:itemId`,
      success: Id,
      errors: engineErrors(404)
    })
  }
}
export const synonymSets = setOperations("synonym")
export const curationSets = setOperations("curation")

const stopwords = { ...at, group: "stopwords" } as const
const StopwordSet = Schema.Struct({ id: Schema.String, stopwords: strings, locale: text }).annotate({
  identifier: "StopwordSet"
})
export const listStopwords = operation({
  ...stopwords,
  ...described.listStopwords,
  id: "listStopwords",
  summary: "List stopword sets",
  method: "GET",
  path: "/v1/stopwords",
  success: Schema.Struct({ stopwords: Schema.Array(StopwordSet) }).annotate({ identifier: "StopwordSetList" })
})
export const getStopwords = operation({
  ...stopwords,
  ...described.getStopwords,
  id: "getStopwords",
  summary: "Get a stopword set",
  method: "GET",
  path: "/v1/stopwords/:setId",
  success: Schema.Struct({ stopwords: StopwordSet }).annotate({ identifier: "StopwordSetEnvelope" }),
  errors: engineErrors(404)
})
export const upsertStopwords = operation({
  ...stopwords,
  ...described.upsertStopwords,
  id: "upsertStopwords",
  summary: "Replace a stopword set",
  method: "PUT",
  path: "/v1/stopwords/:setId",
  payload: Schema.Struct({ stopwords: strings, locale: text }).annotate({ identifier: "StopwordSetBody" }),
  success: StopwordSet
})
export const deleteStopwords = operation({
  ...stopwords,
  ...described.deleteStopwords,
  id: "deleteStopwords",
  summary: "Delete a stopword set",
  method: "DELETE",
  path: "/v1/stopwords/:setId",
  success: Schema.Struct({ id: Schema.String }).annotate({ identifier: "StopwordSetId" }),
  errors: engineErrors(404)
})

const stemming = { ...at, group: "stemming" } as const
const Stem = Schema.Struct({ word: Schema.String, root: Schema.String }).annotate({ identifier: "Stem" })
export const listStemmingDictionaries = operation({
  ...stemming,
  ...described.listStemmingDictionaries,
  id: "listStemmingDictionaries",
  summary: "List stemming dictionaries",
  method: "GET",
  path: "/v1/stemming/dictionaries",
  success: Schema.Struct({ dictionaries: strings }).annotate({ identifier: "StemmingDictionaryList" })
})
export const getStemmingDictionary = operation({
  ...stemming,
  ...described.getStemmingDictionary,
  id: "getStemmingDictionary",
  summary: "Get a stemming dictionary",
  method: "GET",
  path: "/v1/stemming/dictionaries/:dictionaryId",
  success: Schema.Struct({ id: Schema.String, words: Schema.Array(Stem) }).annotate({
    identifier: "StemmingDictionary"
  }),
  errors: engineErrors(404)
})
export const deleteStemmingDictionary = operation({
  ...stemming,
  ...described.deleteStemmingDictionary,
  id: "deleteStemmingDictionary",
  summary: "Delete a stemming dictionary",
  method: "DELETE",
  path: "/v1/stemming/dictionaries/:dictionaryId",
  success: Schema.Struct({ id: Schema.String }).annotate({ identifier: "StemmingDictionaryId" })
})
export const importStemmingDictionary = operation({
  ...stemming,
  ...described.importStemmingDictionary,
  id: "importStemmingDictionary",
  summary: "Import words and roots as JSON Lines",
  method: "POST",
  path: "/v1/stemming/dictionaries/import",
  query: Schema.Struct({ id: text, batch_size: text }),
  payload: Lines,
  payloadType: "jsonl",
  success: Lines,
  successType: "text"
})
