/**
 * Search for a program in a few lines: one collection over an engine, opened on first use. The engine defines what a
 * request means and answers it, and the pipeline applies rules; this file infers or declares fields, turns options into
 * parameters, and turns results into values or one kind of error.
 */
import type { Awaitable, SearchEngine } from "../engine.ts"
import { ok, type EngineError, type Result } from "../errors.ts"
import { createEngine } from "../memory/create-engine.ts"
import { mergeSearchParameters, planSearch, Reach, type OperationContext } from "../operations/mod.ts"
import { documentFieldContext } from "../operations/documents.ts"
import { memoryResources, type Resources } from "../operations/resources.ts"
import { merchandise } from "../pipeline/merchandise.ts"
import type { MerchandiseEnvironment, Stage } from "../pipeline/mod.ts"
import { parseFilter } from "../query/mod.ts"
import type { Reranker } from "../rerank/reranker.ts"
import { parseCreateBody } from "../schema/mod.ts"
import type { CollectionInfo, CollectionSchema, DirtyValues, Document } from "../schema.ts"
import { monotonic_us, systemClock_ms } from "./clock.ts"
import { checkedRules, CollectionRules, type ParseRuleFilter, type Rules } from "./collection-rules.ts"
import type { DocumentOf, FieldSpecs, Given, Stored } from "./document-types.ts"
import { openingFailure, SearchError } from "./failure.ts"
import { inferFields, LATER_FIELDS, widenedFields } from "./infer-fields.ts"
import { changeTo } from "./schema-change.ts"
import {
  emptyParts,
  pageOf,
  parametersOf,
  type FacetName,
  type SearchOptions,
  type SearchPage
} from "./search-options.ts"

export interface CreateSearchOptions {
  /**
   * A folder that only this program uses, in which documents and index are stored (needs the package `lmdb`). Default:
   * in memory.
   */
  readonly path?: string
  /** An engine created by the program, used instead of `path`; it stays open when the search is closed. */
  readonly engine?: SearchEngine
  /** The collection's name, if one engine has several. Default `documents`. */ readonly name?: string
  /** Tenant of the engine. Default `default`. */ readonly namespace?: string
  /** Synonyms, curation sets, presets and stopwords that parameters may name. */ readonly resources?: Resources
  /** Merchandising: pins, boosts, exclusions, banners, redirects, sponsored slots, rerank, diversity, fallbacks. */
  readonly rules?: Rules
  /** Models that `rules.rerank.model` may name, in addition to `none` and `linear`. */ readonly rerankers?: {
    readonly [model: string]: Reranker
  }
  /** The program's own stages, which run after rerank and before diversity. */ readonly stages?: ReadonlyArray<Stage>
  /** Ids of the most popular documents, best first, for `zero_hits_fallback: "popular"`. */ readonly popular?: (
    limit: number
  ) => Awaitable<ReadonlyArray<string>>
  /** Unix milliseconds. Default: the system clock. */ readonly now_ms?: () => number
}
export interface Search<D> {
  /**
   * Stores complete documents; one with a known `id` is replaced. They are visible to the next search when the promise
   * settles. Throws DocumentsRefused for documents that do not fit the fields; the others of the batch are stored.
   * `dirtyValues` says what happens to values of another type; by default they are refused.
   */
  add(documents: Given<D> | ReadonlyArray<Given<D>>, options?: { readonly dirtyValues?: DirtyValues }): Promise<void>
  /** Hits for words; `""` or `"*"` finds everything. Throws Invalid for invalid options. */
  search<const F extends string = never>(q: string, options?: SearchOptions<D, F>): Promise<SearchPage<D, FacetName<F>>>
  /** undefined if there is none. */
  get(id: string | number): Promise<Stored<D> | undefined>
  /** Returns how many of the ids existed. */
  delete(ids: string | number | ReadonlyArray<string | number>): Promise<number>
  /**
   * Replaces all rules from the next search on. Throws RulesRefused with every problem, and then keeps the old rules.
   */
  setRules(rules: Rules): Promise<void>
  /** The number of documents. */
  count(): Promise<number>
  /** The underlying engine and the collection's name in it, for everything that is not offered here. */
  open(): Promise<{ readonly engine: SearchEngine; readonly namespace: string; readonly collection: string }>
  /** Waits for additions in progress. Later calls throw Unavailable. */
  close(): Promise<void>
}

/**
 * A search over documents. With `fields`, these are indexed and the type of a document follows from them; without,
 * fields are inferred from the first batch of documents (`createSearch<Product>()` gives them a type). Nothing happens
 * before the first call, so a folder that cannot be opened fails there.
 *
 * @example
 * ```ts
 * import { createSearch } from "@dowser/engine-sdk"
 *
 * const products = createSearch({ fields: { title: "string", price: "float" } })
 * await products.add({ id: "1", title: "Trail running shoe", price: 89.5 })
 * const { hits } = await products.search("runing shoe", { filter: "price:<100" })
 * hits[0]?.document.price // 89.5
 * ```
 */
export function createSearch<const F extends FieldSpecs>(
  options: CreateSearchOptions & { readonly fields: F }
): Search<DocumentOf<F>>
export function createSearch<D extends object = Document>(
  options?: CreateSearchOptions & { readonly fields?: undefined }
): Search<D>
export function createSearch(options: CreateSearchOptions & { readonly fields?: FieldSpecs } = {}): Search<Document> {
  return new EngineSearch(options)
}

class EngineSearch implements Search<Document> {
  readonly #options: CreateSearchOptions & { readonly fields?: FieldSpecs }
  readonly #name: string
  readonly #namespace: string
  readonly #resources: Resources
  #engine: Promise<SearchEngine> | undefined
  #rules: CollectionRules | undefined
  #isClosed = false
  /** Additions run one after another, because the first ones decide the fields of those that follow. */
  #turn: Promise<unknown> = Promise.resolve()
  constructor(options: CreateSearchOptions & { readonly fields?: FieldSpecs }) {
    this.#options = options
    this.#name = options.name ?? "documents"
    this.#namespace = options.namespace ?? "default"
    this.#resources = options.resources ?? memoryResources()
  }

  add(
    documents: Given<Document> | ReadonlyArray<Given<Document>>,
    { dirtyValues = "reject" }: { readonly dirtyValues?: DirtyValues } = {}
  ): Promise<void> {
    const batch = (Array.isArray(documents) ? (documents as ReadonlyArray<Document>) : [documents as Document]).map(
      withTextId
    )
    const added = this.#turn.then(() => this.#addNow(batch, dirtyValues))
    this.#turn = added.catch(() => {})
    return added
  }
  async #addNow(batch: ReadonlyArray<Document>, dirtyValues: DirtyValues): Promise<void> {
    const engine = await this.#opened()
    if (batch.length === 0) return
    const known = engine.describeCollection(this.#namespace, this.#name)
    if (known === undefined) await this.#create(engine, this.#schemaOf([...inferFields(batch), LATER_FIELDS]))
    else if (this.#options.fields === undefined) await this.#widen(engine, known, batch)
    const verdicts = valueOf(
      await engine.write(
        this.#namespace,
        this.#name,
        batch.map((document) => ({ kind: "put", action: "upsert", dirtyValues, document }))
      )
    )
    const refused = verdicts.flatMap(({ id, result }, index) =>
      result.ok ? [] : [{ index, id: id ?? idOf(batch[index]), error: result.error }]
    )
    if (refused.length === 0) return
    const [{ error, id, index }] = refused
    throw new SearchError({
      kind: "DocumentsRefused",
      refused,
      stored: batch.length - refused.length,
      message: `${refused.length} of ${batch.length} documents were refused; the first, ${id === undefined ? `number ${index + 1}` : `\`${id}\``}: ${error.message}`
    })
  }
  async search<const F extends string = never>(
    q: string,
    options: SearchOptions<Document, F> = {}
  ): Promise<SearchPage<Document, FacetName<F>>> {
    const engine = await this.#opened()
    const facets = options.facets ?? []
    const collection = engine.describeCollection(this.#namespace, this.#name)
    if (collection === undefined) return pageOf(emptyParts(this.#name, q, options.perPage ?? 10), {}, facets)
    const context = this.#context(engine)
    const parameters = valueOf(mergeSearchParameters(context, [parametersOf(q, options, collection.schema)], {}))
    const plan = valueOf(await planSearch(context, collection, parameters))
    const { country, device, language, rules } = options
    const [answered] = await merchandise(this.#environment(engine, options), [
      {
        plan,
        rules: rules === false ? undefined : this.#rules?.for(collection.schema, this.#parseFilter(engine, collection)),
        stages: this.#options.stages,
        request: {
          q: parameters.q,
          filter_by: parameters.filter_by,
          device,
          language,
          country,
          now_ms: this.#now_ms()
        },
        ...(parameters.filter_curated_hits === undefined
          ? {}
          : { filterCuratedHits: parameters.filter_curated_hits === "true" })
      }
    ])
    return pageOf(valueOf(answered), parameters, facets)
  }
  async get(id: string | number): Promise<Stored<Document> | undefined> {
    const engine = await this.#opened()
    if (engine.describeCollection(this.#namespace, this.#name) === undefined) return undefined
    const [document] = valueOf(await engine.get(this.#namespace, this.#name, [String(id)]))
    return document as Stored<Document> | undefined
  }
  async delete(ids: string | number | ReadonlyArray<string | number>): Promise<number> {
    const engine = await this.#opened()
    if (engine.describeCollection(this.#namespace, this.#name) === undefined) return 0
    const list = typeof ids === "object" ? ids : [ids]
    const verdicts = valueOf(
      await engine.write(
        this.#namespace,
        this.#name,
        list.map((id) => ({ kind: "delete", id: String(id) }))
      )
    )
    const failed = verdicts.find(({ result }) => !result.ok && result.error.kind !== "NotFound")
    if (failed !== undefined) valueOf(failed.result)
    return verdicts.filter(({ result }) => result.ok).length
  }
  async setRules(rules: Rules): Promise<void> {
    this.#takeRules(await this.#opened(), rules)
  }
  async count(): Promise<number> {
    return (await this.#opened()).describeCollection(this.#namespace, this.#name)?.num_documents ?? 0
  }
  async open(): Promise<{ readonly engine: SearchEngine; readonly namespace: string; readonly collection: string }> {
    return { engine: await this.#opened(), namespace: this.#namespace, collection: this.#name }
  }
  async close(): Promise<void> {
    await this.#turn
    this.#isClosed = true
    const engine = this.#engine
    this.#engine = undefined
    if (engine === undefined || this.#options.engine !== undefined) return
    // A collection that failed to open has nothing to close; its caller already received the error.
    await engine.then(
      (opened) => opened.close(),
      () => {}
    )
  }

  #now_ms(): number {
    return (this.#options.now_ms ?? systemClock_ms)()
  }
  #now_s(): number {
    return Math.floor(this.#now_ms() / 1000)
  }
  #context(engine: SearchEngine): OperationContext {
    return { engine, resources: this.#resources, namespace: this.#namespace, now_s: this.#now_s() }
  }
  #environment(engine: SearchEngine, { explain = false, signal }: SearchOptions<Document>): MerchandiseEnvironment {
    const { popular, rerankers } = this.#options
    return {
      engine,
      namespace: this.#namespace,
      now_us: monotonic_us,
      explain,
      signal,
      reranker: (model) => (rerankers !== undefined && Object.hasOwn(rerankers, model) ? rerankers[model] : undefined),
      ...(popular === undefined ? {} : { popular: (_collection, limit) => popular(limit) })
    }
  }
  #parseFilter(engine: SearchEngine, collection: CollectionInfo): ParseRuleFilter {
    const context = this.#context(engine)
    const fields = documentFieldContext(context, collection, {}, new Reach(context, {}))
    return (text) => parseFilter(text, fields)
  }
  #takeRules(engine: SearchEngine, rules: Rules): void {
    const collection = engine.describeCollection(this.#namespace, this.#name)
    const checked = checkedRules(
      rules,
      collection?.schema,
      collection === undefined ? () => ok(undefined) : this.#parseFilter(engine, collection)
    )
    if (!checked.ok) throw new SearchError(checked.error)
    this.#rules = new CollectionRules(checked.value)
  }
  #opened(): Promise<SearchEngine> {
    if (this.#isClosed)
      return Promise.reject(new SearchError({ kind: "Unavailable", message: "The search is closed." }))
    // After a failure, the next call tries to open it again.
    return (this.#engine ??= this.#open().catch((error: unknown) => {
      this.#engine = undefined
      throw error
    }))
  }
  async #open(): Promise<SearchEngine> {
    const { engine: given, path } = this.#options
    const engine = given ?? (path === undefined ? createEngine() : await openFolder(path))
    try {
      await this.#declare(engine)
      if (this.#options.rules !== undefined && this.#rules === undefined) this.#takeRules(engine, this.#options.rules)
    } catch (error) {
      if (given === undefined) await engine.close()
      throw error
    }
    return engine
  }
  async #declare(engine: SearchEngine): Promise<void> {
    const { fields } = this.#options
    if (fields === undefined) return
    const declared = this.#schemaOf(
      Object.entries(fields).map(([name, spec]) => ({ name, ...(typeof spec === "string" ? { type: spec } : spec) }))
    )
    const stored = engine.describeCollection(this.#namespace, this.#name)
    if (stored === undefined) return this.#create(engine, declared)
    const change = changeTo(declared.fields, stored.schema)
    if (change !== undefined) valueOf(await engine.alterCollection(this.#namespace, this.#name, change))
  }
  #schemaOf(fields: ReadonlyArray<object>): CollectionSchema {
    return valueOf(
      parseCreateBody(
        { name: this.#name, fields, enable_nested_fields: true },
        { hasSynonymSet: () => false, hasCurationSet: () => false }
      )
    )
  }
  async #create(engine: SearchEngine, schema: CollectionSchema): Promise<void> {
    valueOf(await engine.createCollection(this.#namespace, schema, this.#now_s()))
  }
  /** Reads every stored document again, once per field. */
  async #widen(engine: SearchEngine, { schema }: CollectionInfo, batch: ReadonlyArray<Document>): Promise<void> {
    const add = widenedFields(schema.fields, batch)
    if (add.length > 0)
      valueOf(await engine.alterCollection(this.#namespace, this.#name, { drop: add.map(({ name }) => name), add }))
  }
}

/** Loaded only if a folder is given, so that a program without one needs no file system. */
const openFolder = async (path: string): Promise<SearchEngine> => {
  try {
    return await (await import("../memory/open-engine.ts")).openEngine({ path })
  } catch (error) {
    throw openingFailure(error)
  }
}
const valueOf = <A>(result: Result<A, EngineError>): A => {
  if (result.ok) return result.value
  throw new SearchError(result.error)
}
const withTextId = (document: Document): Document =>
  typeof document.id === "number" ? { ...document, id: String(document.id) } : document
const idOf = ({ id }: Document): string | undefined => (typeof id === "string" ? id : undefined)
