/** Collections and aliases (`docs/contract/collections.md#creating`). */
import { isObject } from "../documents/json.ts"
import { type EngineError, fail, invalid, notFound, ok } from "../errors.ts"
import type { CollectionInfo, Document } from "../schema.ts"
import { parseAlterBody, parseCloneBody, parseCreateBody, renderCollection, type SchemaContext } from "../schema/mod.ts"
import { listOf } from "../query/text-scanner.ts"
import type { Alias } from "./resources.ts"
import {
  answer,
  BAD_REQUEST,
  COLLECTION_NOT_FOUND,
  pageOf,
  parseBody,
  resolveCollection,
  type OperationResult,
  type Body,
  type OperationContext,
  type QueryParameters
} from "./operation.ts"

const COPY_PAGE = 1_000
/** Maximum number of models that one body may name, because a server is called for each. */
const MODELS_ASKED_MAX = 250
const schemaContext = (context: OperationContext): SchemaContext => ({
  hasSynonymSet: (name) => context.resources.get(context.namespace, "synonym_set", name) !== undefined,
  hasCurationSet: (name) => context.resources.get(context.namespace, "curation_set", name) !== undefined,
  modelDimensions: context.embedder?.dimensionsOf,
  modelKind: context.embedder?.kindOf
})
/** Learns from the host whether the models of the body's fields can be used; an invalid body triggers no calls. */
const learnModels = async (context: OperationContext, body: unknown): Promise<EngineError | undefined> => {
  const { embedder, namespace } = context
  if (embedder?.learn === undefined || !isObject(body) || !Array.isArray(body.fields)) return undefined
  for (const field of (body.fields as unknown[]).slice(0, MODELS_ASKED_MAX)) {
    const config = isObject(field) && isObject(field.embed) ? field.embed.model_config : undefined
    if (!isObject(config)) continue
    const failure = await embedder.learn(namespace, config)
    if (failure !== undefined) return failure
  }
  return undefined
}

const everything = (): boolean => true
/** Newest first, then paged. `isShown`: whether the caller may see the collection with this name. */
export const listCollections = (
  context: OperationContext,
  parameters: QueryParameters,
  isShown: (name: string) => boolean = everything
): OperationResult => {
  const page = pageOf(
    context.engine.listCollections(context.namespace).filter(({ schema }) => isShown(schema.name)),
    parameters
  )
  return page.ok
    ? answer(
        200,
        page.value.map((info) => renderCollection(info, listOf(parameters.exclude_fields ?? "")))
      )
    : page
}
export const getCollection = (context: OperationContext, name: string): OperationResult => {
  const collection = resolveCollection(context, name)
  return collection === undefined ? fail(COLLECTION_NOT_FOUND) : answer(200, renderCollection(collection))
}
/** With `src_name` in the query, clones that collection; `copy_documents` then copies its documents page by page. */
export const createCollection = async (
  context: OperationContext,
  sent: Body,
  parameters: QueryParameters = {}
): Promise<OperationResult> => {
  const body = parseBody(sent)
  if (!body.ok) return body
  if (parameters.src_name !== undefined) return cloneCollection(context, body.value, parameters)
  const unusable = await learnModels(context, body.value)
  if (unusable !== undefined) return fail(unusable)
  const schema = parseCreateBody(body.value, schemaContext(context))
  if (!schema.ok) return schema
  const created = await context.engine.createCollection(context.namespace, schema.value, context.now_s, context.keeps)
  return created.ok ? answer(201, renderCollection(created.value)) : created
}
const cloneCollection = async (
  context: OperationContext,
  body: unknown,
  parameters: QueryParameters
): Promise<OperationResult> => {
  const source = context.engine.describeCollection(context.namespace, parameters.src_name)
  if (source === undefined)
    return fail(invalid(`Collection with name \`${parameters.src_name}\` not found.`, "src_name"))
  const schema = parseCloneBody(body, source.schema)
  if (!schema.ok) return schema
  const created = await context.engine.createCollection(context.namespace, schema.value, context.now_s, context.keeps)
  if (!created.ok) return created
  if (parameters.copy_documents !== undefined) {
    const copied = await copyDocuments(context, source.schema.name, schema.value.name)
    if (!copied.ok) return copied
  }
  const info = context.engine.describeCollection(context.namespace, schema.value.name) ?? created.value
  return answer(201, renderCollection(info))
}
const copyDocuments = async (context: OperationContext, from: string, to: string): Promise<OperationResult> => {
  for (let after: number | undefined = undefined, done = false; !done;) {
    const page = await context.engine.scan(context.namespace, {
      collection: from,
      filter: undefined,
      after,
      limit: COPY_PAGE
    })
    if (!page.ok) return page
    const operations = page.value.documents.map((document: Document) => ({
      kind: "put" as const,
      action: "create" as const,
      dirtyValues: undefined,
      document
    }))
    const written = await context.engine.write(context.namespace, to, operations, { keeps: context.keeps })
    if (!written.ok) return written
    for (const { result } of written.value) if (!result.ok && result.error.kind === "CapReached") return result
    after = page.value.next
    done = after === undefined
  }
  return answer(200, {})
}
/** Returns the complete collection (`docs/contract/collections.md#shape`). */
export const updateCollection = async (
  context: OperationContext,
  name: string,
  sent: Body
): Promise<OperationResult> => {
  const collection = resolveCollection(context, name)
  if (collection === undefined) return fail(COLLECTION_NOT_FOUND)
  const body = parseBody(sent)
  if (!body.ok) return body
  const unusable = await learnModels(context, body.value)
  if (unusable !== undefined) return fail(unusable)
  const change = parseAlterBody(body.value, collection.schema, schemaContext(context))
  if (!change.ok) return change
  const altered = await context.engine.alterCollection(
    context.namespace,
    collection.schema.name,
    change.value,
    context.keeps
  )
  return altered.ok ? answer(200, renderCollection(altered.value)) : altered
}
/** Schema changes in progress in the collections that the caller has access to (all if absent). */
export const listSchemaChanges = async (
  context: OperationContext,
  isReached: (name: string) => boolean = () => true
): Promise<OperationResult> => {
  const changes = (await context.engine.schemaChanges?.(context.namespace)) ?? { ok: true as const, value: [] }
  if (!changes.ok) return changes
  return answer(
    200,
    changes.value
      .filter(({ collection }) => isReached(collection))
      // Each document is validated when it is rewritten, so both counts are the same.
      .map(({ altered, collection, documents }) => ({
        collection,
        num_documents: documents,
        validated_docs: altered,
        altered_docs: altered
      }))
  )
}
/**
 * The collection that this body would produce, before any document is validated; undefined if the body is refused or
 * there is no such collection. Changes nothing.
 */
export const alteredCollection = (context: OperationContext, name: string, sent: Body): CollectionInfo | undefined => {
  const collection = resolveCollection(context, name)
  const body = parseBody(sent)
  if (collection === undefined || !body.ok) return undefined
  const change = parseAlterBody(body.value, collection.schema, schemaContext(context))
  if (!change.ok) return undefined
  const { add, drop } = change.value
  const kept = collection.schema.fields.filter((field) => !drop.includes(field.name))
  return { ...collection, schema: { ...collection.schema, fields: [...kept, ...add] } }
}
export const deleteCollection = async (context: OperationContext, name: string): Promise<OperationResult> => {
  const collection = resolveCollection(context, name)
  if (collection === undefined) return fail(notFound(`No collection with name \`${name}\` found.`))
  const dropped = await context.engine.dropCollection(context.namespace, collection.schema.name)
  return dropped.ok ? answer(200, renderCollection(dropped.value)) : dropped
}

export const listAliases = (
  context: OperationContext,
  isShown: (alias: Alias) => boolean = everything
): OperationResult => answer(200, { aliases: context.resources.list(context.namespace, "alias").filter(isShown) })
export const getAlias = (context: OperationContext, name: string): OperationResult => {
  const alias = context.resources.get(context.namespace, "alias", name)
  return alias === undefined ? fail(COLLECTION_NOT_FOUND) : answer(200, alias)
}
/** The target need not exist. The name of an existing collection is answered with 500, as stock clients expect. */
export const upsertAlias = async (context: OperationContext, name: string, sent: Body): Promise<OperationResult> => {
  const body = parseBody(sent)
  if (!body.ok) return body
  if (!isObject(body.value)) return fail(invalid("Bad JSON."))
  const target = body.value.collection_name
  if (target === undefined) return fail(invalid("Parameter `collection_name` is required.", "collection_name"))
  if (typeof target !== "string") return fail(invalid(BAD_REQUEST, "collection_name"))
  if (context.engine.describeCollection(context.namespace, name) !== undefined)
    return ok({ status: 500, body: { message: `Name \`${name}\` conflicts with an existing collection name.` } })
  const alias = { collection_name: target, name }
  await context.resources.put(context.namespace, "alias", name, alias)
  return answer(200, alias)
}
export const deleteAlias = async (context: OperationContext, name: string): Promise<OperationResult> => {
  const alias = context.resources.get(context.namespace, "alias", name)
  if (alias === undefined) return fail(COLLECTION_NOT_FOUND)
  await context.resources.remove(context.namespace, "alias", name)
  return answer(200, alias)
}
