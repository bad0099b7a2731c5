/**
 * Values of the facet fields of searched collections, in memory by the words that name them (`EntityIndex`). Read from
 * the engine at a collection's first search, which waits for it; re-read in the background when its organization's
 * documents changed, for at most a tenth of the time.
 *
 * They are of all documents: a caller who sees only part of them is shown a value only after a check of what that
 * caller sees (`visible-entities.ts`).
 */
import { BoundedMap } from "@dowser/engine-sdk/host"
import type { Awaitable, CollectionInfo, Field, Result } from "@dowser/engine-sdk"
import { type OperationContext, Reach } from "@dowser/engine-sdk/operations"
import { EntityIndex, type FieldValues } from "@dowser/engine-sdk/understanding"
import { facetCountsOf } from "../suggestions/facet-counts.ts"
import { wordsOf } from "./words-of.ts"

/** The first text facet fields, and for each the values with the most documents. */
const FIELDS_MAX = 12
const VALUES_MAX = 5_000
/** Limits of all collections together, and of one. */
const BYTES_MAX = 40_000_000,
  COLLECTION_BYTES_MAX = 8_000_000
const COLLECTION_BYTES = 1_000
/** Pause between two reads of a collection: at least this, and this many times the duration of a read. */
const REST_MIN_MS = 1_000
const REST_SHARE = 10
/** A collection whose index was evicted for lack of room is not read again within this time. */
const EVICTED_REST_MS = 10_000
/** Durations of reads, kept in addition to the indexes. */
const READINGS_BYTES_MAX = 1_000_000

const isFacetText = ({ facet, index, name, type }: Field): boolean =>
  facet && index && (type === "string" || type === "string[]") && !name.includes("*")
/** Text facet fields, in the order of the schema. */
export const facetFieldsOf = ({ schema }: CollectionInfo): ReadonlyArray<string> => {
  let names = facetFields.get(schema)
  if (names === undefined)
    facetFields.set(
      schema,
      (names = schema.fields
        .filter(isFacetText)
        .map(({ name }) => name)
        .slice(0, FIELDS_MAX))
    )
  return names
}
const facetFields = new WeakMap<CollectionInfo["schema"], ReadonlyArray<string>>()

interface CachedIndex {
  readonly created_at: number
  readonly index: EntityIndex
  readonly changes: number
  readonly read_at: number
  readonly took_ms: number
}
interface Parts {
  /** Context of the program itself, without a request's budget or turn. */
  readonly contextOf: (organizationId: string) => OperationContext
  /** A value that differs after each change of the organization's documents. */
  readonly changesOf: (organizationId: string) => number
  readonly now_ms: () => number
  readonly inSlices: <A>(steps: Generator<void, A>) => Promise<A>
  readonly failed: (why: unknown) => void
}

export class EntityIndexes {
  readonly #parts: Parts
  readonly #held = new BoundedMap<string, CachedIndex>({
    bytes_max: BYTES_MAX,
    bytesOf: (key, { index }) => COLLECTION_BYTES + 2 * key.length + index.bytes
  })
  readonly #readings = new BoundedMap<string, number>({
    bytes_max: READINGS_BYTES_MAX,
    bytesOf: (key) => 100 + 2 * key.length
  })
  /** Reads in progress, one per collection. */
  readonly #reading = new Map<string, Promise<EntityIndex | undefined>>()

  constructor(parts: Parts) {
    this.#parts = parts
  }
  get bytes(): number {
    return this.#held.bytes
  }

  /** Undefined if the collection has no such field, or cannot be read. From memory, except for the first time. */
  of(organizationId: string, collection: CollectionInfo): Awaitable<EntityIndex | undefined> {
    if (facetFieldsOf(collection).length === 0 || collection.num_documents === 0) return undefined
    const key = `${organizationId}\n${collection.schema.name}`
    const known = this.#held.get(key)
    const now = this.#parts.now_ms()
    if (known === undefined || known.created_at !== collection.created_at) {
      const reading = this.#reading.get(key)
      if (reading !== undefined) return reading
      const before = this.#readings.get(key)
      return known === undefined && before !== undefined && now - before < EVICTED_REST_MS
        ? undefined
        : this.#read(key, organizationId, collection)
    }
    this.#held.renew(key)
    const rest_ms = Math.max(REST_MIN_MS, REST_SHARE * known.took_ms)
    if (now - known.read_at >= rest_ms && this.#parts.changesOf(organizationId) !== known.changes)
      if (!this.#reading.has(key)) void this.#read(key, organizationId, collection)
    return known.index
  }

  #read(key: string, organizationId: string, collection: CollectionInfo): Promise<EntityIndex | undefined> {
    const reading = this.#readNow(key, organizationId, collection)
      .catch((error: unknown) => {
        this.#parts.failed(error)
        return this.#held.get(key)?.index
      })
      .finally(() => this.#reading.delete(key))
    this.#reading.set(key, reading)
    return reading
  }
  async #readNow(key: string, organizationId: string, collection: CollectionInfo): Promise<EntityIndex | undefined> {
    const { changesOf, contextOf, failed, inSlices, now_ms } = this.#parts
    const read_at = now_ms(),
      started = performance.now()
    this.#readings.set(key, read_at)
    const changes = changesOf(organizationId)
    const context = contextOf(organizationId)
    const values = await valuesOf(context, collection)
    if (!values.ok) {
      failed(values.error)
      return this.#held.get(key)?.index
    }
    const steps = EntityIndex.build(values.value, wordsOf(collection.schema), COLLECTION_BYTES_MAX)
    const index = await inSlices(steps)
    const took_ms = performance.now() - started
    this.#held.set(key, { created_at: collection.created_at, index, changes, read_at, took_ms })
    return index
  }
}

const valuesOf = async (
  context: OperationContext,
  collection: CollectionInfo
): Promise<Result<ReadonlyArray<FieldValues>>> => {
  const facets = await facetCountsOf(context, new Reach(context, {}), collection.schema.name, {
    q: "*",
    per_page: 0,
    facet_by: facetFieldsOf(collection).join(","),
    max_facet_values: VALUES_MAX,
    enable_curations: false
  })
  if (!facets.ok) return facets
  return {
    ok: true,
    value: facets.value.map(({ counts, field_name }) => ({
      field: field_name,
      values: counts.filter(({ count }) => count > 0).map(({ value }) => value)
    }))
  }
}
