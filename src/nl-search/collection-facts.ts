/**
 * What the embedded model knows of collections (`rules/facts.ts`): read from the engine for the first request in words
 * about a collection, kept as long as the request allows, and refreshed in the background when documents changed. For a
 * caller that sees part of a collection, values are read by a search that the caller may make, and not cached.
 */
import { BoundedMap } from "@dowser/engine-sdk/host"
import { type CollectionInfo, ok } from "@dowser/engine-sdk"
import { type OperationContext, Reach, type SearchRequest } from "@dowser/engine-sdk/operations"
import type { FieldValues } from "@dowser/engine-sdk/understanding"
import { facetCountsOf } from "../suggestions/facet-counts.ts"
import { facetFieldsOf } from "../understanding/entity-indexes.ts"
import { RuleFacts } from "./rules/facts.ts"

/** For each facet field, the values with the most documents first. */
const VALUES_MAX = 1_000
/** Values per field for a caller whose values are read per request. */
const OWN_VALUES_MAX = 50
const BYTES_MAX = 8_000_000,
  COLLECTION_BYTES_MAX = 1_500_000
const COLLECTION_BYTES = 2_000
/** Minimum interval between two reads of a changing collection, and as a multiple of a read's duration. */
const REST_MIN_MS = 5_000
const REST_SHARE = 20

/** Samples per facet field, for remote models. */
const SAMPLES = 10

export interface PromptFacts {
  readonly facts: RuleFacts
  readonly samples: ReadonlyArray<FieldValues>
}
interface CachedFacts extends PromptFacts {
  readonly schema: CollectionInfo["schema"]
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
interface FactsAsked {
  readonly organizationId: string
  readonly collection: CollectionInfo
  /** Context of the request. */ readonly context: OperationContext
  readonly reach: Reach
  /** Fields that may be named; undefined for all. */ readonly fields: CollectionInfo["schema"]["fields"] | undefined
  readonly seesWhole: boolean
  readonly bounds: SearchRequest["bounds"]
  /** How old the facts may be; 0 forces a read. */ readonly age_max_ms: number
}

const samplesOf = (values: ReadonlyArray<FieldValues>): ReadonlyArray<FieldValues> =>
  values.map(({ field, values: own }) => ({ field, values: own.slice(0, SAMPLES) }))

export class CollectionFacts {
  readonly #parts: Parts
  readonly #held = new BoundedMap<string, CachedFacts>({
    bytes_max: BYTES_MAX,
    bytesOf: (key, { facts }) => COLLECTION_BYTES + 2 * key.length + facts.bytes
  })
  /** Reads in progress, one per collection. */ readonly #reading = new Map<string, Promise<PromptFacts>>()
  constructor(parts: Parts) {
    this.#parts = parts
  }
  get bytes(): number {
    return this.#held.bytes
  }

  /** Never fails: values that cannot be read are treated as unknown. */
  of(asked: FactsAsked): PromptFacts | Promise<PromptFacts> {
    const { bounds, collection, fields, organizationId, seesWhole } = asked
    if (!seesWhole || bounds !== undefined || fields !== undefined) return this.#own(asked)
    const key = `${organizationId}\n${collection.schema.name}`
    const known = this.#held.get(key)
    const age = known === undefined ? Infinity : this.#parts.now_ms() - known.read_at
    if (known?.schema !== collection.schema || age >= asked.age_max_ms)
      return this.#read(key, organizationId, collection)
    this.#held.renew(key)
    const isOld = this.#parts.changesOf(organizationId) !== known.changes
    if (isOld && age >= Math.max(REST_MIN_MS, REST_SHARE * known.took_ms))
      void this.#read(key, organizationId, collection)
    return known
  }

  #read(key: string, organizationId: string, collection: CollectionInfo): Promise<PromptFacts> {
    const on = this.#reading.get(key)
    if (on !== undefined) return on
    const reading = this.#readNow(key, organizationId, collection).finally(() => this.#reading.delete(key))
    this.#reading.set(key, reading)
    return reading
  }
  async #readNow(key: string, organizationId: string, collection: CollectionInfo): Promise<PromptFacts> {
    const { changesOf, contextOf, now_ms } = this.#parts
    const read_at = now_ms(),
      started = performance.now(),
      changes = changesOf(organizationId)
    const context = contextOf(organizationId)
    const values = await this.#values(
      context,
      new Reach(context, {}),
      { collection, bounds: undefined, fields: undefined },
      VALUES_MAX
    )
    const facts = await this.#parts.inSlices(RuleFacts.build(collection.schema, values ?? [], COLLECTION_BYTES_MAX))
    const took_ms = performance.now() - started
    const known = { facts, samples: samplesOf(values ?? []) }
    if (values !== undefined) this.#held.set(key, { ...known, schema: collection.schema, changes, read_at, took_ms })
    return known
  }
  /** Values of fields that the caller may name. */
  async #own({
    bounds,
    collection,
    context,
    fields = collection.schema.fields,
    reach
  }: FactsAsked): Promise<PromptFacts> {
    const values = await this.#values(context, reach, { collection, bounds, fields }, OWN_VALUES_MAX)
    const facts = await this.#parts.inSlices(RuleFacts.build({ fields }, values ?? [], COLLECTION_BYTES_MAX))
    return { facts, samples: samplesOf(values ?? []) }
  }
  async #values(
    context: OperationContext,
    reach: Reach,
    { bounds, collection, fields }: Pick<FactsAsked, "bounds" | "collection" | "fields">,
    values_max: number
  ): Promise<ReadonlyArray<FieldValues> | undefined> {
    const mayBeNamed = fields === undefined ? undefined : new Set(fields.map(({ name }) => name))
    const facetFields = facetFieldsOf(collection).filter((name) => mayBeNamed?.has(name) ?? true)
    if (facetFields.length === 0 || collection.num_documents === 0) return []
    const asked = {
      q: "*",
      per_page: 0,
      facet_by: facetFields.join(","),
      max_facet_values: values_max,
      enable_curations: false
    }
    const facets = await facetCountsOf(context, reach, collection.schema.name, asked, (request) =>
      ok({ ...request, bounds })
    )
    if (!facets.ok) {
      this.#parts.failed(facets.error)
      return undefined
    }
    return facets.value.map(({ counts, field_name }) => ({
      field: field_name,
      values: counts.filter(({ count }) => count > 0).map(({ value }) => value)
    }))
  }
}
