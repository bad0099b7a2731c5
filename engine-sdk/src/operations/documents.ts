/**
 * Operations on single documents, and on documents by filter (`docs/contract/documents.md#actions`). Import and export
 * are in `import-export.ts`.
 */
import { parseDocument } from "../documents/json.ts"
import { isObject } from "../documents/json.ts"
import { fail, invalid, notFound, ok, type Result } from "../errors.ts"
import type { Selection, WriteOperation } from "../plan.ts"
import type { Filter } from "../filter.ts"
import { parseFilter } from "../query/filter-parser.ts"
import { fieldContextOf, type FieldContext } from "../query/query-context.ts"
import { parseSelection } from "../query/selection-parser.ts"
import type { CollectionInfo, DirtyValues, Document, WriteAction } from "../schema.ts"
import {
  answer,
  withCollection,
  type OperationResult,
  type OperationContext,
  type QueryParameters
} from "./operation.ts"
import { searchResourcesOf } from "./resources.ts"
import { CLOSED, Reach, type Restrictions, UNRESTRICTED } from "./restrictions.ts"

const PAGE = 500
const ACTIONS: ReadonlySet<string> = new Set(["create", "upsert", "update", "emplace"])
const DIRTY_VALUES: ReadonlySet<string> = new Set(["coerce_or_reject", "coerce_or_drop", "drop", "reject"])

/** An unknown text selects the schema's own mode. */
export const dirtyValuesOf = (text: string | undefined): DirtyValues | undefined => {
  const mode = text?.toLowerCase()
  return mode !== undefined && DIRTY_VALUES.has(mode) ? (mode as DirtyValues) : undefined
}
export const actionOf = (text: string | undefined): Result<WriteAction> => {
  if (text === undefined || text === "") return ok("create")
  return ACTIONS.has(text)
    ? ok(text as WriteAction)
    : fail(invalid("Parameter `action` must be a create|update|upsert.", "action"))
}
export const flagOf = (parameters: QueryParameters, name: string): Result<boolean> => {
  const text = parameters[name]
  if (text === undefined) return ok(false)
  return text === "true" || text === "false"
    ? ok(text === "true")
    : fail(invalid(`Parameter \`${name}\` must be a true|false.`, name))
}
export const batchSizeOf = (parameters: QueryParameters): Result<number | undefined> => {
  const text = parameters.batch_size
  if (text === undefined) return ok(undefined)
  return /^\d{1,9}$/.test(text) && Number(text) > 0
    ? ok(Number(text))
    : fail(invalid("Parameter `batch_size` must be a positive integer.", "batch_size"))
}
export const documentFieldContext = (
  context: OperationContext,
  collection: CollectionInfo,
  parameters: QueryParameters,
  reach: Reach
): FieldContext =>
  fieldContextOf(
    collection,
    {
      collectionOf: reach.joinable,
      limits: context.limits,
      ...(reach.fields === undefined ? {} : { fields: reach.fields }),
      resources: searchResourcesOf(context.resources, context.namespace)
    },
    parameters.validate_field_names !== "false",
    4
  )
/**
 * The filter of a by-filter operation, combined with filters forced by the caller's restrictions. undefined: the text
 * was empty and selects nothing. Fails with Closed if it joins a collection that the caller cannot access.
 */
export const filterOf = (
  context: OperationContext,
  collection: CollectionInfo,
  parameters: QueryParameters,
  reach: Reach
): Result<Filter | undefined> => {
  const parsed = parseFilter(parameters.filter_by ?? "", documentFieldContext(context, collection, parameters, reach))
  if (reach.joinsClosed()) return fail(CLOSED)
  if (!parsed.ok) return parsed
  const forced = reach.forcedFilter(collection)
  if (!forced.ok) return forced
  if (parsed.value === undefined || forced.value === undefined) return ok(parsed.value ?? forced.value)
  return ok({ kind: "and", left: parsed.value, right: forced.value })
}
export const selectionOf = (
  context: OperationContext,
  collection: CollectionInfo,
  parameters: QueryParameters,
  filter: Filter | undefined,
  reach: Reach
): Result<Selection> => {
  const sortContext = {
    ...documentFieldContext(context, collection, parameters, reach),
    now_s: context.now_s,
    hasVectorQuery: false,
    isGrouped: false
  }
  const parsed = parseSelection(parameters.include_fields ?? "", parameters.exclude_fields ?? "", filter, sortContext)
  if (reach.joinsClosed()) return fail(CLOSED)
  return parsed.ok ? ok(parsed.value.selection) : parsed
}

/** Writes one document. */
const writeOne = async (
  context: OperationContext,
  collection: CollectionInfo,
  operation: WriteOperation
): Promise<Result<Document>> => {
  const verdicts = await context.engine.write(context.namespace, collection.schema.name, [operation], {
    returnDocuments: true,
    keeps: context.keeps
  })
  if (!verdicts.ok) return verdicts
  const result = verdicts.value[0].result
  return result.ok ? ok(result.value.document ?? { id: result.value.id }) : result
}
export const createDocument = (
  context: OperationContext,
  collection: string,
  text: string,
  parameters: QueryParameters
): Promise<OperationResult> =>
  withCollection(context, collection, async (info) => {
    const action = actionOf(parameters.action)
    if (!action.ok) return action
    const stored = await writeOne(context, info, {
      kind: "put",
      action: action.value,
      dirtyValues: dirtyValuesOf(parameters.dirty_values),
      document: text
    })
    return stored.ok ? answer(201, stored.value) : stored
  })
export const getDocument = (
  context: OperationContext,
  collection: string,
  id: string,
  parameters: QueryParameters,
  restrictions: Restrictions = UNRESTRICTED
): Promise<OperationResult> =>
  withCollection(context, collection, async (info) => {
    const selection = selectionOf(context, info, parameters, undefined, new Reach(context, restrictions))
    if (!selection.ok) return selection
    const found = await context.engine.get(context.namespace, info.schema.name, [id], selection.value)
    if (!found.ok) return found
    const document = found.value[0]
    return document === undefined ? fail(notFound(`Could not find a document with id: ${id}`)) : answer(200, document)
  })
export const updateDocument = (
  context: OperationContext,
  collection: string,
  id: string,
  text: string,
  parameters: QueryParameters
): Promise<OperationResult> =>
  withCollection(context, collection, async (info) => {
    const stored = await writeOne(context, info, {
      kind: "put",
      action: "update",
      dirtyValues: dirtyValuesOf(parameters.dirty_values),
      document: text,
      id
    })
    return stored.ok ? answer(200, stored.value) : stored
  })
export const deleteDocument = (
  context: OperationContext,
  collection: string,
  id: string,
  parameters: QueryParameters
): Promise<OperationResult> =>
  withCollection(context, collection, async (info) => {
    const removed = await writeOne(context, info, { kind: "delete", id })
    if (removed.ok) return answer(200, removed.value)
    return removed.error.kind === "NotFound" && parameters.ignore_not_found === "true" ? answer(200, { id }) : removed
  })

/** Calls back with the ids of matching documents, page by page; nothing else is kept in memory. */
const eachPage = async (
  context: OperationContext,
  collection: CollectionInfo,
  filter: Filter | undefined,
  size: number,
  run: (ids: ReadonlyArray<string>) => Promise<Result<undefined>>
): Promise<Result<undefined>> => {
  for (let after: number | undefined = undefined, done = false; !done;) {
    const page = await context.engine.scan(context.namespace, {
      collection: collection.schema.name,
      filter,
      after,
      limit: size,
      selection: { include: ["id"], exclude: [], joins: [] }
    })
    if (!page.ok) return page
    if (page.value.ids.length > 0) {
      const ran = await run(page.value.ids)
      if (!ran.ok) return ran
    }
    after = page.value.next
    done = after === undefined
  }
  return ok(undefined)
}
const requireFilter = (parameters: QueryParameters): Result<string> =>
  parameters.filter_by === undefined
    ? fail(invalid("Parameter `filter_by` must be provided.", "filter_by"))
    : ok(parameters.filter_by)

/** Applies a partial document to every match; `*` matches all. Documents that refuse the change are not counted. */
export const updateDocuments = (
  context: OperationContext,
  collection: string,
  text: string,
  parameters: QueryParameters,
  restrictions: Restrictions = UNRESTRICTED
): Promise<OperationResult> =>
  withCollection(context, collection, async (info) => {
    const filterText = requireFilter(parameters)
    if (!filterText.ok) return filterText
    const patch = parseDocument(text)
    if (!patch.ok) return patch
    if (filterText.value.trim() === "") return answer(200, { num_updated: 0 })
    const filter = filterOf(
      context,
      info,
      filterText.value.trim() === "*" ? { ...parameters, filter_by: "" } : parameters,
      new Reach(context, restrictions)
    )
    if (!filter.ok) return filter
    let updated = 0
    const ran = await eachPage(context, info, filter.value, PAGE, async (ids) => {
      const operations = ids.map((id): WriteOperation => ({
        kind: "put",
        action: "update",
        dirtyValues: dirtyValuesOf(parameters.dirty_values),
        document: { ...patch.value, id }
      }))
      const verdicts = await context.engine.write(context.namespace, info.schema.name, operations, {
        keeps: context.keeps
      })
      if (!verdicts.ok) return verdicts
      updated += verdicts.value.filter((verdict) => verdict.result.ok).length
      return ok(undefined)
    })
    return ran.ok ? answer(200, { num_updated: updated }) : ran
  })

export const deleteDocuments = (
  context: OperationContext,
  collection: string,
  parameters: QueryParameters,
  restrictions: Restrictions = UNRESTRICTED
): Promise<OperationResult> =>
  withCollection(context, collection, async (info) => {
    const truncate = parameters.truncate === "true"
    const filterText = truncate ? ok("") : requireFilter(parameters)
    if (!filterText.ok) return filterText
    const size = batchSizeOf(parameters)
    if (!size.ok) return size
    const returnId = flagOf(parameters, "return_id")
    if (!returnId.ok) return returnId
    const returnDoc = flagOf(parameters, "return_doc")
    if (!returnDoc.ok) return returnDoc
    if (!truncate && filterText.value.trim() === "") return answer(200, { num_deleted: 0 })
    const filter = filterOf(context, info, truncate ? {} : parameters, new Reach(context, restrictions))
    if (!filter.ok) return filter
    const deleted = await deletePages(context, info, filter.value, size.value ?? PAGE, returnDoc.value)
    if (!deleted.ok) return deleted
    const { documents, ids } = deleted.value
    return answer(200, {
      ...(returnDoc.value && documents.length > 0 ? { documents } : {}),
      ...(returnId.value && ids.length > 0 ? { ids } : {}),
      num_deleted: ids.length
    })
  })
const deletePages = async (
  context: OperationContext,
  info: CollectionInfo,
  filter: Filter | undefined,
  size: number,
  returnDocuments: boolean
): Promise<Result<{ readonly documents: ReadonlyArray<unknown>; readonly ids: ReadonlyArray<string> }>> => {
  const documents: unknown[] = []
  const deletedIds: string[] = []
  const ran = await eachPage(context, info, filter, Math.min(size, PAGE), async (ids) => {
    const verdicts = await context.engine.write(
      context.namespace,
      info.schema.name,
      ids.map((id): WriteOperation => ({ kind: "delete", id })),
      { returnDocuments }
    )
    if (!verdicts.ok) return verdicts
    for (const [i, verdict] of verdicts.value.entries()) {
      if (!verdict.result.ok) continue
      deletedIds.push(ids[i])
      if (returnDocuments && isObject(verdict.result.value.document)) documents.push(verdict.result.value.document)
    }
    return ok(undefined)
  })
  return ran.ok ? ok({ documents, ids: deletedIds }) : ran
}
