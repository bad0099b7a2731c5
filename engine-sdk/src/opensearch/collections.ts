/** Creates, changes and drops collections: their records, their index, and the rewriting of documents. */
import { withChange } from "../documents/mod.ts"
import type { Namespace, SchemaChange } from "../engine.ts"
import { capReached, conflict, fail, notFound, ok, type Result } from "../errors.ts"
import type { KeepLimits } from "../keep-limits.ts"
import type { CollectionInfo, CollectionSchema } from "../schema.ts"
import { exceeds } from "../store/namespace-use.ts"
import { infoOf, type Directory, type Entry } from "./directory.ts"
import type { CollectionRecord } from "./record.ts"
import { documentsIndex } from "./mapping.ts"
import { removePlacement } from "./move-requests.ts"
import { moveCollection, type MoverParts } from "./mover.ts"
import { keyOf, placementOf, placesOf } from "./placement.ts"
import { schemaRefusal } from "./refusals.ts"
import { fitsPool, NO_SLOTS, withSlots } from "./slots.ts"

/** Interval at which a schema change checks whether a move in progress has ended. */
const LOOK_MS = 50

export const createCollection = async (
  { client, counters, directory, hasVectors, names, replicas }: MoverParts,
  namespace: Namespace,
  schema: CollectionSchema,
  createdAt_s: number,
  keeps: KeepLimits | undefined
): Promise<Result<CollectionInfo>> => {
  const refused = schemaRefusal(schema.fields, hasVectors())
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
      body: documentsIndex(placesOf("own", slots), 1, replicas, slots),
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
  { client, directory }: Pick<MoverParts, "client" | "directory">,
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
  // Searches no longer find these documents, even if removal fails: a new collection of this name has another key.
  const { move, moved = [], placement } = entry.record
  const left = moved.filter(({ isCleared }) => !isCleared).map(({ from }) => from)
  for (const one of [placement, ...(move === undefined ? [] : [move.to]), ...left]) await removePlacement(client, one)
  return ok(info)
}

/**
 * Adding, dropping or changing fields rewrites all documents to a copy; searches use the old ones until the copy is
 * complete. A document that does not fit ends the change without effect. One change of a collection at a time.
 */
export const alterCollection = async (
  parts: MoverParts,
  namespace: Namespace,
  name: string,
  change: SchemaChange,
  keeps: KeepLimits | undefined
): Promise<Result<CollectionInfo>> => {
  const { directory } = parts
  const refused = schemaRefusal(change.add, parts.hasVectors())
  const asked = directory.find(namespace, name)?.record.schema
  const found = await atRest(directory, namespace, name)
  if (!found.ok) return found
  if (refused !== undefined) return fail(refused)
  const entry = found.value
  const { record, revision } = entry
  const isOther = change.drop.length > 0 || change.add.length > 0
  // Checks made against one version of the record do not hold for another.
  if (isOther && asked !== undefined && !hasSameFields(asked, record.schema)) return fail(CHANGED)
  const refusalOf = (schema: CollectionSchema) =>
    schema.fields.length > record.schema.fields.length && exceeds(keeps?.fields_per_collection, schema.fields.length)
      ? capReached("fields_per_collection", keeps!)
      : undefined
  const wanted = withChange(record.schema, change)
  const capped = refusalOf(wanted)
  if (capped !== undefined) return fail(capped)
  if (isOther) {
    // A field that documents added in the meantime is replaced by the requested one.
    const replacing = { ...change, drop: [...change.drop, ...change.add.map((field) => field.name)] }
    const schemaOf = (schema: CollectionSchema) => withChange(schema, replacing)
    const moved = await moveCollection(parts, entry, { reason: "schema", schemaOf, isOwn: false, refusalOf })
    return moved.ok ? ok(infoOf(moved.value)) : moved
  }
  const saved = await directory.save({ ...record, schema: wanted, version: record.version + 1 }, revision)
  if (saved.ok) return ok(infoOf(saved.value))
  return saved.error.kind === "Conflict" ? fail(CHANGED) : saved
}
const CHANGED = conflict("The collection was changed meanwhile; try again.")
const hasSameFields = (a: CollectionSchema, b: CollectionSchema): boolean =>
  JSON.stringify(a.fields) === JSON.stringify(b.fields)
/** The entry as stored in the cluster, once no move is in progress; leftover handling ends a move whose mover died. */
const atRest = async (directory: Directory, namespace: Namespace, name: string): Promise<Result<Entry>> => {
  for (;;) {
    const read = await directory.reload(namespace, name)
    if (!read.ok) return read
    const entry = directory.find(namespace, name)
    if (entry === undefined) return fail(notFound("Collection not found"))
    if (entry.record.move === undefined) return ok(entry)
    await new Promise((settle) => setTimeout(settle, LOOK_MS))
  }
}

/** Moves a collection from a shared index to its own; Conflict if it is being moved already. */
export const promoteCollection = async (
  parts: MoverParts,
  namespace: Namespace,
  name: string
): Promise<Result<CollectionInfo>> => {
  const { directory } = parts
  const read = await directory.reload(namespace, name)
  if (!read.ok) return read
  const entry = directory.find(namespace, name)
  if (entry === undefined) return fail(notFound("Collection not found"))
  if (entry.record.placement.kind === "own") return ok(infoOf(entry))
  const schemaOf = (schema: CollectionSchema) => schema
  const moved = await moveCollection(parts, entry, { reason: "promotion", schemaOf, isOwn: true })
  return moved.ok ? ok(infoOf(moved.value)) : moved
}

/** A record with slots for all fields of a schema; undefined if the shared index has no room for them. */
export const withFields = async (
  { directory }: { readonly directory: Directory },
  record: CollectionRecord,
  schema: CollectionSchema
): Promise<Result<CollectionRecord | undefined>> => {
  const next = { ...record, schema, slots: withSlots(schema, record.slots), version: record.version + 1 }
  if (record.placement.kind === "pool") return ok(fitsPool(next.slots) ? next : undefined)
  const made = await directory.makeRoom(next)
  return made.ok ? ok(next) : made
}
