/**
 * Collections, documents and what belongs to them: the engine plane. The engine package validates every body and
 * returns its own messages, so the schemas here describe but do not validate.
 */
import { Schema } from "effect"
import { operation } from "../http/operation.ts"
import { engineErrors } from "../engine-plane/engine-errors.ts"
import { ProfilesWouldBreak } from "../profiles/errors.ts"
import { described } from "./examples.ts"
import { anything, at, Lines, strings, text } from "./contract-shapes.ts"

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
  description: "Any keys; those in the schema are indexed."
})
const Updated = Schema.Struct({ num_updated: Schema.Int }).annotate({ identifier: "DocumentsUpdated" })
const Deleted = Schema.Struct({
  num_deleted: Schema.Int,
  ids: Schema.optionalKey(strings),
  documents: Schema.optionalKey(Schema.Array(Document))
}).annotate({ identifier: "DocumentsDeleted" })
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
      /** Number of documents when the import began. */ num_documents: Schema.Int,
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

/** A room has one contract, even if it is split into several files. */
export * from "./resources-contract.ts"
