/** Collections made, changed and dropped: their records, the index they lie in, and documents written anew. */
import { revalidate, withChange, withDetected } from "../documents/mod.ts"
import type { Namespace, SchemaChange } from "../engine.ts"
import { capReached, conflict, fail, invalid, notFound, ok, type Result } from "../errors.ts"
import type { KeepLimits } from "../keep-limits.ts"
import type { CollectionInfo, CollectionSchema } from "../schema.ts"
import { exceeds } from "../store/namespace-use.ts"
import type { ClusterClient } from "./client.ts"
import type { Counters } from "./counters.ts"
import { infoOf, type CollectionRecord, type Directory, type Entry } from "./directory.ts"
import { documentsIndex } from "./mapping.ts"
import { keyOf, ownFilter, placementOf, placesOf, type ClusterNames, type Placement } from "./placement.ts"
import { schemaRefusal } from "./refusals.ts"
import type { Rewriting } from "./rewriting.ts"
import { fitsPool, NO_SLOTS, withSlots } from "./slots.ts"
import { documentOf } from "./stored-form.ts"
import { storedPages } from "./scan.ts"

interface Parts {
  readonly client: ClusterClient
  readonly names: ClusterNames
  readonly directory: Directory
  readonly counters: Counters
  readonly rewriting: Rewriting
  readonly replicas: number
}

export const createCollection = async (
  { client, counters, directory, names, replicas }: Parts,
  namespace: Namespace,
  schema: CollectionSchema,
  createdAt_s: number,
  keeps: KeepLimits | undefined
): Promise<Result<CollectionInfo>> => {
  const refused = schemaRefusal(schema.fields)
  if (refused !== undefined) return fail(refused)
  const before = await directory.reload(namespace, schema.name)
  if (!before.ok) return before
  if (directory.find(namespace, schema.name) !== undefined)
    return fail(conflict(`A collection with name \`${schema.name}\` already exists.`))
  if (exceeds(keeps?.collections, directory.list(namespace).length + 1)) return fail(capReached("collections", keeps!))
  if (exceeds(keeps?.fields_per_collection, schema.fields.length))
    return fail(capReached("fields_per_collection", keeps!))
  const number = await counters.take("collections", 1)
  if (!number.ok) return number
  const slots = withSlots(schema, NO_SLOTS)
  const placement = placementOf(names, keyOf(number.value), slots)
  const record = { namespace, schema, createdAt_s, placement, slots, version: 1, isGone: false }
  if (placement.kind === "own") {
    const made = await client.ask({
      method: "PUT",
      path: `/${placement.index}`,
      body: documentsIndex(placesOf("own", slots), 1, replicas),
      isRepeatable: false
    })
    if (!made.ok) return made
  }
  const saved = await directory.save(record, before.value)
  if (saved.ok) return ok(infoOf(saved.value))
  return saved.error.kind === "Conflict"
    ? fail(conflict(`A collection with name \`${schema.name}\` already exists.`))
    : saved
}

export const dropCollection = async (
  { client, directory }: Parts,
  namespace: Namespace,
  name: string
): Promise<Result<CollectionInfo>> => {
  const read = await directory.reload(namespace, name)
  if (!read.ok) return read
  const entry = directory.find(namespace, name)
  if (entry === undefined) return fail(notFound(`No collection with name \`${name}\` found.`))
  const info = infoOf(entry)
  const saved = await directory.save({ ...entry.record, isGone: true }, entry.revision)
  if (!saved.ok) return saved
  // Nobody finds them any more, whatever becomes of this: another collection of this name has another key.
  await forget(client, entry.record.placement)
  return ok(info)
}
const forget = (client: ClusterClient, placement: Placement): Promise<Result<unknown>> =>
  placement.kind === "own"
    ? client.ask({ method: "DELETE", path: `/${placement.index}`, isRepeatable: true })
    : client.ask({
        method: "POST",
        path: `/${placement.index}/_delete_by_query?routing=${placement.key}&conflicts=proceed&wait_for_completion=false`,
        body: { query: ownFilter(placement) },
        isRepeatable: true
      })

/** Checks every document first. Documents are found by the new fields as they are written anew. */
export const alterCollection = async (
  parts: Parts,
  namespace: Namespace,
  name: string,
  change: SchemaChange,
  keeps: KeepLimits | undefined
): Promise<Result<CollectionInfo>> => {
  const { directory, rewriting } = parts
  const read = await directory.reload(namespace, name)
  if (!read.ok) return read
  const entry = directory.find(namespace, name)
  if (entry === undefined) return fail(notFound("Collection not found"))
  const refused = schemaRefusal(change.add)
  if (refused !== undefined) return fail(refused)
  const { revision } = entry
  const wanted = withChange(entry.record.schema, change)
  const isNarrow = wanted.fields.length <= entry.record.schema.fields.length
  if (!isNarrow && exceeds(keeps?.fields_per_collection, wanted.fields.length))
    return fail(capReached("fields_per_collection", keeps!))
  const isOther = change.drop.length > 0 || change.add.length > 0
  const schema = isOther ? await revalidated(parts, entry, wanted) : ok(wanted)
  if (!schema.ok) return schema
  const next = await withFields(parts, entry.record, schema.value)
  if (!next.ok) return next
  const saved = await directory.save(next.value, revision)
  if (!saved.ok)
    return saved.error.kind === "Conflict" ? fail(conflict("The collection was changed meanwhile; try again.")) : saved
  if (isOther && change.add.length > 0) {
    const rewritten = await rewriting.all(saved.value)
    if (!rewritten.ok) return rewritten
  }
  return ok(infoOf(saved.value))
}

/** A record with places for all fields of a schema. */
export const withFields = async (
  { directory }: Pick<Parts, "directory">,
  record: CollectionRecord,
  schema: CollectionSchema
): Promise<Result<CollectionRecord>> => {
  const next = { ...record, schema, slots: withSlots(schema, record.slots), version: record.version + 1 }
  if (record.placement.kind === "pool")
    return fitsPool(next.slots)
      ? ok(next)
      : fail(invalid("The collection has more fields than the index it shares with others has room for."))
  const made = await directory.makeRoom(next)
  return made.ok ? ok(next) : made
}

/** The schema with the fields that its dynamic ones detect in stored documents; a failure where one does not fit. */
const revalidated = async (
  { client }: Parts,
  { record }: Entry,
  wanted: CollectionSchema
): Promise<Result<CollectionSchema>> => {
  let schema = wanted
  for await (const page of storedPages(client, record.placement)) {
    if (!page.ok) return page
    for (const stored of page.value) {
      const prepared = revalidate(schema, documentOf(stored))
      if (!prepared.ok) return prepared
      if (prepared.value.detected.length > 0) schema = withDetected(schema, prepared.value.detected)
    }
  }
  return ok(schema)
}
