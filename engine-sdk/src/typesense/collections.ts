/** Creates, changes and drops collections on the server; afterwards the server's state is read back. */
import type { Namespace, SchemaChange } from "../engine.ts"
import { capReached, conflict, type EngineError, fail, notFound, ok, type Result } from "../errors.ts"
import type { KeepLimits } from "../keep-limits.ts"
import type { CollectionInfo, CollectionSchema } from "../schema.ts"
import { exceeds } from "../store/namespace-use.ts"
import { serverField, serverMetadata, serverSchema, type Placing } from "./schema-form.ts"
import type { Parts } from "./search.ts"

/** Time limit of a schema change, which indexes every document again. */
const CHANGE_MS = 880_000

const translatedFailure = ({ names }: Parts, namespace: Namespace, error: EngineError): Result<never> =>
  fail({ ...error, message: names.translate(namespace, error.message) })
const placingOf = ({ directory, names }: Parts, namespace: Namespace): Placing => ({
  names,
  namespace,
  isCollection: (name) => directory.find(namespace, name) !== undefined
})
/** The collection as the server has it now. */
const read = async ({ directory }: Parts, namespace: Namespace, name: string): Promise<Result<CollectionInfo>> => {
  const reloaded = await directory.reload(namespace, name)
  if (!reloaded.ok) return reloaded
  const entry = directory.find(namespace, name)
  return entry === undefined ? fail(notFound("Collection not found")) : ok(entry.info)
}

export const createCollection = async (
  parts: Parts,
  namespace: Namespace,
  schema: CollectionSchema,
  createdAt_s: number,
  keeps: KeepLimits | undefined
): Promise<Result<CollectionInfo>> => {
  const { client, directory } = parts
  if (directory.find(namespace, schema.name) !== undefined) return fail(taken(schema.name))
  if (exceeds(keeps?.collections, directory.list(namespace).length + 1)) return fail(capReached("collections", keeps!))
  if (exceeds(keeps?.fields_per_collection, schema.fields.length))
    return fail(capReached("fields_per_collection", keeps!))
  const made = await client.ask({
    method: "POST",
    path: "/collections",
    body: serverSchema(schema, createdAt_s, placingOf(parts, namespace)),
    isRepeatable: false
  })
  if (made.ok) return read(parts, namespace, schema.name)
  return made.error.kind === "Conflict" ? fail(taken(schema.name)) : translatedFailure(parts, namespace, made.error)
}
const taken = (name: string): EngineError => conflict(`A collection with name \`${name}\` already exists.`)

const changed = (schema: CollectionSchema, change: SchemaChange): CollectionSchema => {
  const dropped = new Set(change.drop)
  const { curation_sets, metadata, synonym_sets } = change
  return {
    ...schema,
    fields: [...schema.fields.filter(({ name }) => !dropped.has(name)), ...change.add],
    ...(metadata === undefined ? {} : { metadata }),
    ...(synonym_sets === undefined ? {} : { synonym_sets }),
    ...(curation_sets === undefined ? {} : { curation_sets })
  }
}
export const alterCollection = async (
  parts: Parts,
  namespace: Namespace,
  name: string,
  change: SchemaChange,
  keeps: KeepLimits | undefined
): Promise<Result<CollectionInfo>> => {
  const { client, directory, names } = parts
  const known = await read(parts, namespace, name)
  if (!known.ok) return known
  const { created_at, schema } = known.value
  const wanted = changed(schema, change)
  const isNarrow = wanted.fields.length <= schema.fields.length
  if (!isNarrow && exceeds(keeps?.fields_per_collection, wanted.fields.length))
    return fail(capReached("fields_per_collection", keeps!))
  const fields = [
    ...change.drop.map((field) => ({ name: field, drop: true })),
    ...change.add.map((field) => serverField(field, placingOf(parts, namespace)))
  ]
  const altered = await client.ask({
    method: "PATCH",
    path: `/collections/${names.of(namespace, name)}`,
    body: { ...(fields.length === 0 ? {} : { fields }), metadata: serverMetadata(wanted, created_at) },
    timeout_ms: CHANGE_MS,
    isRepeatable: false
  })
  if (!altered.ok) {
    // The change may have been applied in part.
    await directory.reload(namespace, name)
    return translatedFailure(parts, namespace, altered.error)
  }
  return read(parts, namespace, name)
}

/** Returns the collection as it was. */
export const dropCollection = async (
  parts: Parts,
  namespace: Namespace,
  name: string
): Promise<Result<CollectionInfo>> => {
  const { client, directory, names } = parts
  const known = await read(parts, namespace, name)
  if (!known.ok)
    return known.error.kind === "NotFound" ? fail(notFound(`No collection with name \`${name}\` found.`)) : known
  const dropped = await client.ask({
    method: "DELETE",
    path: `/collections/${names.of(namespace, name)}`,
    timeout_ms: CHANGE_MS,
    isRepeatable: false
  })
  if (!dropped.ok && dropped.error.kind !== "NotFound") return translatedFailure(parts, namespace, dropped.error)
  directory.forget(namespace, name)
  return known
}
