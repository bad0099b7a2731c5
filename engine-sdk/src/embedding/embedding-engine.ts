/**
 * An engine whose collections may have fields with `embed`. It computes vectors before the wrapped engine gets a write,
 * so any engine can have them, and document and vector are one write. A line that cannot be embedded fails alone.
 *
 * A partial update whose text was built from stored sources is checked again after the write: two concurrent updates of
 * different sources would otherwise leave a vector that matches neither. The last writer finds the difference and
 * repairs it.
 */
import type { Namespace, SearchEngine, SchemaChange, Written, WriteOptions, WriteVerdict } from "../engine.ts"
import { type EngineError, fail, ok, type Result } from "../errors.ts"
import type { SearchPlan, Selection, WriteOperation } from "../plan.ts"
import type { CollectionSchema, Document, Field } from "../schema.ts"
import { idOf, readWrites, vectorNeeds, type WantedVector } from "./document-vectors.ts"
import type { Embedder, EmbeddedInput, ModelConfig } from "./embedder.ts"
import {
  type EmbeddingField,
  embeddingFieldsOf,
  hasOwnVectors,
  OWN_VECTORS,
  prefixed,
  sourceOf
} from "./embedding-fields.ts"

/** Maximum checks after a write; each further one means that another writer was faster. */
const MENDINGS_MAX = 5

type Vectors = ReadonlyMap<WantedVector, EmbeddedInput>

/** Sends one order per field. */
const embedAll = async (
  embedder: Embedder,
  namespace: Namespace,
  wanted: ReadonlyArray<WantedVector>
): Promise<Vectors> => {
  const made = new Map<WantedVector, EmbeddedInput>()
  const byField = new Map<EmbeddingField, WantedVector[]>()
  for (const each of wanted) {
    const of = byField.get(each.field)
    if (of === undefined) byField.set(each.field, [each])
    else of.push(each)
  }
  for (const [{ model }, of] of byField) {
    const vectors = await embedder.embed({
      namespace,
      model,
      purpose: "document",
      kind: embedder.kindOf(model),
      inputs: of.map(({ source }) => prefixed(model, "document", source))
    })
    of.forEach((each, i) => made.set(each, vectors[i]!))
  }
  return made
}

/** Pins the current weights for a new field, and seals its credentials as an engine may store them. */
const pinned = (embedder: Embedder, field: Field): Field => {
  if (field.embed === undefined) return field
  const { model_hash: _sent, ...embed } = field.embed
  const config = (embed.model_config ?? {}) as ModelConfig
  const pin = embedder.pinOf(config)
  const model_config = embedder.sealed?.(config) ?? config
  return { ...field, embed: { ...embed, model_config, ...(pin === undefined ? {} : { model_hash: pin }) } }
}

const without = (selection: Selection | undefined): Selection => ({
  include: selection?.include ?? [],
  exclude: [...(selection?.exclude ?? []), OWN_VECTORS],
  joins: selection?.joins ?? []
})

class EmbeddingWrites {
  readonly #engine: SearchEngine
  readonly #embedder: Embedder
  constructor(engine: SearchEngine, embedder: Embedder) {
    this.#engine = engine
    this.#embedder = embedder
  }

  async write(
    namespace: Namespace,
    schema: CollectionSchema,
    operations: ReadonlyArray<WriteOperation>,
    options: WriteOptions | undefined
  ): Promise<Result<ReadonlyArray<WriteVerdict>>> {
    const fields = embeddingFieldsOf(schema)
    const read = readWrites(operations)
    const stored = await this.#stored(namespace, schema.name, fields, read.ids)
    if (!stored.ok) return stored
    const { refused, settled, wanted } = vectorNeeds(fields, operations, read, stored.value)
    const vectors = await embedAll(this.#embedder, namespace, wanted)
    const failed = new Map<number, EngineError>(refused)
    for (const { field, operation, value } of settled) read.documents.get(operation)![field] = value
    const rewritten: Array<{ readonly operation: number; readonly document: { [key: string]: unknown } }> = []
    for (const [{ field, operation }, vector] of vectors) {
      if (!vector.ok) {
        failed.set(operation, vector.error)
        continue
      }
      const asked = operations[operation] as Extract<WriteOperation, { kind: "put" }>
      const document = read.documents.get(operation)!
      if (asked.rewrite === true)
        rewritten.push({ operation, document: { id: idOf(asked, document), [field.field.name]: vector.value } })
      else document[field.field.name] = vector.value
    }
    const written = await this.#writeRest(namespace, schema.name, operations, read.documents, failed, options)
    if (!written.ok) return written
    const verdicts = [...written.value]
    await this.#rewrite(
      namespace,
      schema.name,
      rewritten.filter(({ operation }) => !failed.has(operation)),
      verdicts,
      options
    )
    await this.#mend(
      namespace,
      schema.name,
      fields,
      operations,
      wanted.filter((each) => each.isMerged && !failed.has(each.operation)),
      verdicts
    )
    return ok(verdicts)
  }

  /** Stored sources and vectors, by id. */
  async #stored(
    namespace: Namespace,
    collection: string,
    fields: ReadonlyArray<EmbeddingField>,
    ids: ReadonlyArray<string>
  ): Promise<Result<ReadonlyMap<string, Document>>> {
    if (ids.length === 0) return ok(new Map())
    const include = fields.flatMap(({ field, from }) => [field.name, ...from])
    const found = await this.#engine.get(namespace, collection, ids, { include, exclude: [], joins: [] })
    if (!found.ok) return found
    return ok(
      new Map(found.value.flatMap((document, i) => (document === undefined ? [] : [[ids[i]!, document] as const])))
    )
  }

  /** Writes all operations except those that have failed; one verdict per operation, in order. */
  async #writeRest(
    namespace: Namespace,
    collection: string,
    operations: ReadonlyArray<WriteOperation>,
    documents: ReadonlyMap<number, Document>,
    failed: ReadonlyMap<number, EngineError>,
    options: WriteOptions | undefined
  ): Promise<Result<ReadonlyArray<WriteVerdict>>> {
    const kept: WriteOperation[] = []
    operations.forEach((operation, number) => {
      if (failed.has(number)) return
      const document = documents.get(number)
      kept.push(operation.kind === "delete" || document === undefined ? operation : { ...operation, document })
    })
    const written = await this.#engine.write(namespace, collection, kept, options)
    if (!written.ok) return written
    let next = 0
    return ok(
      operations.map((operation, number): WriteVerdict => {
        const error = failed.get(number)
        if (error === undefined) return written.value[next++]!
        const id = idOf(operation, documents.get(number))
        return { ...(id === undefined ? {} : { id }), result: fail(error) }
      })
    )
  }

  /** Computes new vectors for documents that were reindexed; only the vector of these documents changes. */
  async #rewrite(
    namespace: Namespace,
    collection: string,
    rewritten: ReadonlyArray<{ readonly operation: number; readonly document: Document }>,
    verdicts: WriteVerdict[],
    options: WriteOptions | undefined
  ): Promise<void> {
    const there = rewritten.filter(({ operation }) => verdicts[operation]!.result.ok)
    if (there.length === 0) return
    const written = await this.#engine.write(
      namespace,
      collection,
      there.map(({ document }) => updateOf(document)),
      { keeps: options?.keeps }
    )
    there.forEach(({ operation }, i) => {
      const failure = written.ok ? written.value[i]!.result : written
      // The document was deleted in the meantime, so there is nothing left to embed.
      if (!failure.ok && failure.error.kind !== "NotFound")
        verdicts[operation] = { ...verdicts[operation]!, result: failure }
    })
  }

  async #mend(
    namespace: Namespace,
    collection: string,
    fields: ReadonlyArray<EmbeddingField>,
    operations: ReadonlyArray<WriteOperation>,
    merged: ReadonlyArray<WantedVector>,
    verdicts: ReadonlyArray<WriteVerdict>
  ): Promise<void> {
    let open = merged.flatMap(({ field, operation, source }) => {
      const verdict = verdicts[operation]!
      return verdict.result.ok ? [{ id: verdict.result.value.id, field, source, operation }] : []
    })
    for (let round = 0; open.length > 0 && round < MENDINGS_MAX; round++) {
      const stored = await this.#stored(namespace, collection, fields, [...new Set(open.map(({ id }) => id))])
      if (!stored.ok) return
      const stale = open.flatMap(({ field, id, operation, source }) => {
        const document = stored.value.get(id)
        const now = document === undefined ? undefined : sourceOf(field, document)
        return now === undefined || now === source ? [] : [{ id, field, source: now, operation, isMerged: true }]
      })
      if (stale.length === 0) return
      const vectors = await embedAll(this.#embedder, namespace, stale)
      const mended = stale.flatMap((each) => {
        const vector = vectors.get(each)!
        return vector.ok ? [updateOf({ id: each.id, [each.field.field.name]: vector.value })] : []
      })
      await this.#engine.write(namespace, collection, mended)
      open = stale
    }
  }
}
const updateOf = (document: Document): WriteOperation => ({
  kind: "put",
  action: "update",
  dirtyValues: undefined,
  document
})

/** Costs one check for a collection without such fields. */
export const embeddingEngine = (engine: SearchEngine, embedder: Embedder): SearchEngine => {
  const writes = new EmbeddingWrites(engine, embedder)
  const isHiding = (namespace: Namespace, collection: string): boolean => {
    const schema = engine.describeCollection(namespace, collection)?.schema
    return schema !== undefined && hasOwnVectors(schema)
  }
  const shown = (namespace: Namespace, plan: SearchPlan): SearchPlan =>
    isHiding(namespace, plan.collection) ? { ...plan, selection: without(plan.selection) } : plan
  const changed = (change: SchemaChange): SchemaChange => ({
    ...change,
    add: change.add.map((field) => pinned(embedder, field))
  })
  return {
    capabilities: () => engine.capabilities(),
    createCollection: (namespace, schema, ...rest) =>
      engine.createCollection(
        namespace,
        { ...schema, fields: schema.fields.map((field) => pinned(embedder, field)) },
        ...rest
      ),
    alterCollection: (namespace, name, change, ...rest) =>
      engine.alterCollection(namespace, name, changed(change), ...rest),
    ...(engine.schemaChanges === undefined ? {} : { schemaChanges: (namespace) => engine.schemaChanges!(namespace) }),
    dropCollection: (...given) => engine.dropCollection(...given),
    ...(engine.namespaces === undefined ? {} : { namespaces: () => engine.namespaces!() }),
    listCollections: (namespace) => engine.listCollections(namespace),
    describeCollection: (namespace, name) => engine.describeCollection(namespace, name),
    write: async (namespace, collection, operations, options) => {
      const schema = engine.describeCollection(namespace, collection)?.schema
      if (schema === undefined || embeddingFieldsOf(schema).length === 0)
        return engine.write(namespace, collection, operations, options)
      const written = await writes.write(namespace, schema, operations, options)
      return written.ok && options?.returnDocuments === true && hasOwnVectors(schema)
        ? ok(written.value.map(withoutOwn))
        : written
    },
    search: (namespace, plans, budget) =>
      engine.search(
        namespace,
        plans.some((plan) => isHiding(namespace, plan.collection))
          ? plans.map((plan) => shown(namespace, plan))
          : plans,
        budget
      ),
    union: (namespace, union, budget) =>
      engine.union(namespace, { ...union, plans: union.plans.map((plan) => shown(namespace, plan)) }, budget),
    scan: (namespace, request) =>
      engine.scan(
        namespace,
        isHiding(namespace, request.collection) ? { ...request, selection: without(request.selection) } : request
      ),
    get: (namespace, collection, ids, selection) =>
      engine.get(namespace, collection, ids, isHiding(namespace, collection) ? without(selection) : selection),
    usage: (...given) => engine.usage(...given),
    ...(engine.words === undefined ? {} : { words: (...given) => engine.words!(...given) }),
    ...(engine.setDictionary === undefined ? {} : { setDictionary: (...given) => engine.setDictionary!(...given) }),
    ...(engine.damaged === undefined ? {} : { damaged: () => engine.damaged!() }),
    health: () => engine.health(),
    close: () => engine.close()
  }
}
const withoutOwn = (verdict: WriteVerdict): WriteVerdict => {
  if (!verdict.result.ok || verdict.result.value.document === undefined) return verdict
  const { [OWN_VECTORS]: _own, ...document } = verdict.result.value.document
  const written: Written = { ...verdict.result.value, document }
  return { ...verdict, result: ok(written) }
}
