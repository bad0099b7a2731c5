/**
 * A cluster of OpenSearch behind the port, over REST alone. What is remembered here are records of collections; any
 * number of processes may have an engine over the same cluster.
 */
import type { Dictionaries } from "../analysis/analyzer.ts"
import type { Capabilities } from "../capabilities.ts"
import type {
  CollectionUsage,
  Namespace,
  ScanPage,
  ScanRequest,
  SchemaChange,
  SearchBudget,
  SearchEngine,
  WriteOptions,
  WriteVerdict
} from "../engine.ts"
import { fail, ok, type Result } from "../errors.ts"
import type { KeepLimits } from "../keep-limits.ts"
import type { SearchAnswer, SearchPlan, Selection, UnionAnswer, UnionPlan, WriteOperation } from "../plan.ts"
import type { CollectionInfo, CollectionSchema, Document } from "../schema.ts"
import { OPENSEARCH } from "./capabilities.ts"
import { ClusterClient } from "./client.ts"
import { alterCollection, createCollection, dropCollection } from "./collections.ts"
import { Counters } from "./counters.ts"
import { Directory, infoOf } from "./directory.ts"
import { collectionsIndex, countersIndex, documentsIndex } from "./mapping.ts"
import type { OpensearchOptions } from "./options.ts"
import { namesOf, type ClusterNames } from "./placement.ts"
import { Refreshes } from "./refreshes.ts"
import { Rewriting } from "./rewriting.ts"
import { documentsById, scanPage } from "./scan.ts"
import { searchPlan, type SearchParts } from "./search.ts"
import { POOL_SLOTS } from "./slots.ts"
import { searchUnion } from "./union.ts"
import { Vocabularies } from "./vocabulary.ts"
import { writeOperations } from "./write.ts"

const FOLLOW_ms = 1_000
const REPLICAS = 1
const POOL_SHARDS = 3
/** Searches of one request that are asked for at once. */
const AT_ONCE = 8

export class OpensearchEngine implements SearchEngine {
  readonly #client: ClusterClient
  readonly #names: ClusterNames
  readonly #directory: Directory
  readonly #counters: Counters
  readonly #refreshes: Refreshes
  readonly #rewriting: Rewriting
  readonly #searching: SearchParts
  readonly #replicas: number
  readonly #words = new Map<Namespace, Map<string, ReadonlyMap<string, string>>>()
  #timer: ReturnType<typeof setInterval> | undefined

  private constructor(options: OpensearchOptions) {
    const { prefix = "dowser", replicas = REPLICAS } = options
    this.#replicas = replicas
    this.#client = new ClusterClient(options)
    this.#names = namesOf(prefix)
    this.#directory = new Directory(this.#client, this.#names, replicas)
    this.#counters = new Counters(this.#client, this.#names)
    this.#searching = {
      client: this.#client,
      vocabularies: new Vocabularies(this.#client, options.vocabularyDocuments_max)
    }
    this.#refreshes = new Refreshes(this.#client)
    this.#rewriting = new Rewriting(this.#client, this.#refreshes, (namespace) => this.#dictionaries(namespace))
  }
  /** Makes the indices that every installation has, and reads which collections there are. */
  static async open(options: OpensearchOptions): Promise<Result<OpensearchEngine>> {
    const engine = new OpensearchEngine(options)
    const begun = await engine.#begin(options)
    if (begun.ok) return ok(engine)
    await engine.close()
    return begun
  }
  async #begin({ follow_ms = FOLLOW_ms, poolShards = POOL_SHARDS }: OpensearchOptions): Promise<Result<void>> {
    const indices: ReadonlyArray<readonly [string, object]> = [
      [this.#names.collections, collectionsIndex(this.#replicas)],
      [this.#names.counters, countersIndex(this.#replicas)],
      [this.#names.pool, documentsIndex(POOL_SLOTS, poolShards, this.#replicas)]
    ]
    for (const [index, body] of indices) {
      const made = await this.#client.ask({ method: "PUT", path: `/${index}`, body, isRepeatable: true })
      if (!made.ok && !(made.error.kind === "Invalid" && made.error.message.includes("already exists"))) return made
    }
    const read = await this.#directory.readChanges()
    if (!read.ok) return read
    const counted = await this.#directory.count()
    if (!counted.ok) return counted
    this.#timer = setInterval(() => void this.#directory.follow(performance.now()), follow_ms)
    // Following others must not keep the process alive.
    ;(this.#timer as { unref?: () => void }).unref?.()
    return ok(undefined)
  }
  #dictionaries(namespace: Namespace): Dictionaries {
    return (name) => this.#words.get(namespace)?.get(name)
  }
  get #parts() {
    return {
      client: this.#client,
      names: this.#names,
      directory: this.#directory,
      counters: this.#counters,
      rewriting: this.#rewriting,
      replicas: this.#replicas
    }
  }

  capabilities(): Capabilities {
    return OPENSEARCH
  }
  createCollection(
    namespace: Namespace,
    schema: CollectionSchema,
    created_at_s: number,
    keeps?: KeepLimits
  ): Promise<Result<CollectionInfo>> {
    return createCollection(this.#parts, namespace, schema, created_at_s, keeps)
  }
  alterCollection(
    namespace: Namespace,
    name: string,
    change: SchemaChange,
    keeps?: KeepLimits
  ): Promise<Result<CollectionInfo>> {
    return alterCollection(this.#parts, namespace, name, change, keeps)
  }
  dropCollection(namespace: Namespace, name: string): Promise<Result<CollectionInfo>> {
    return dropCollection(this.#parts, namespace, name)
  }
  listCollections(namespace: Namespace): ReadonlyArray<CollectionInfo> {
    return this.#directory.list(namespace).map(infoOf)
  }
  describeCollection(namespace: Namespace, name: string): CollectionInfo | undefined {
    const entry = this.#directory.find(namespace, name)
    return entry === undefined ? undefined : infoOf(entry)
  }
  async write(
    namespace: Namespace,
    collection: string,
    operations: ReadonlyArray<WriteOperation>,
    options: WriteOptions = {}
  ): Promise<Result<ReadonlyArray<WriteVerdict>>> {
    const entry = await this.#directory.known(namespace, collection)
    if (!entry.ok) return entry
    const parts = {
      client: this.#client,
      directory: this.#directory,
      counters: this.#counters,
      refreshes: this.#refreshes,
      dictionaries: this.#dictionaries(namespace)
    }
    return writeOperations(parts, entry.value, operations, options)
  }
  async search(
    namespace: Namespace,
    plans: ReadonlyArray<SearchPlan>,
    budget?: SearchBudget
  ): Promise<ReadonlyArray<Result<SearchAnswer>>> {
    const started = performance.now()
    const left_ms = leftOf(plans, budget)
    const answers: Array<Result<SearchAnswer>> = []
    for (let from = 0; from < plans.length; from += AT_ONCE) {
      const asked = plans.slice(from, from + AT_ONCE)
      const left = left_ms - (performance.now() - started)
      answers.push(...(await Promise.all(asked.map((plan) => this.#searched(namespace, plan, left)))))
    }
    if (budget !== undefined) budget.used_ms += performance.now() - started
    return answers
  }
  async #searched(namespace: Namespace, plan: SearchPlan, left_ms: number): Promise<Result<SearchAnswer>> {
    const entry = await this.#directory.known(namespace, plan.collection)
    if (!entry.ok) return entry
    return searchPlan(this.#searching, entry.value, plan, this.#dictionaries(namespace), left_ms)
  }
  async union(namespace: Namespace, plan: UnionPlan, budget?: SearchBudget): Promise<Result<UnionAnswer>> {
    const started = performance.now()
    for (const { collection } of plan.plans) await this.#directory.known(namespace, collection)
    const entryOf = (name: string) => this.#directory.find(namespace, name)
    const left_ms = leftOf(plan.plans, budget) - (performance.now() - started)
    const answer = await searchUnion(this.#searching, plan, entryOf, this.#dictionaries(namespace), left_ms)
    if (budget !== undefined) budget.used_ms += performance.now() - started
    return answer
  }
  async scan(namespace: Namespace, request: ScanRequest): Promise<Result<ScanPage>> {
    const entry = await this.#directory.known(namespace, request.collection)
    return entry.ok ? scanPage(this.#client, entry.value.record, request) : entry
  }
  async get(
    namespace: Namespace,
    collection: string,
    ids: ReadonlyArray<string>,
    selection?: Selection
  ): Promise<Result<ReadonlyArray<Document | undefined>>> {
    const entry = await this.#directory.known(namespace, collection)
    return entry.ok ? documentsById(this.#client, entry.value.record.placement, ids, selection) : entry
  }
  usage(namespace: Namespace, name: string): CollectionUsage | undefined {
    const entry = this.#directory.find(namespace, name)
    if (entry === undefined) return undefined
    const { bytes, documents } = entry
    // What its index weighs, the cluster knows of whole indices alone.
    return { documents, segments: 0, index_bytes: 0, document_bytes: bytes, open: true }
  }
  async setDictionary(
    namespace: Namespace,
    name: string,
    words: ReadonlyMap<string, string> | undefined
  ): Promise<void> {
    let own = this.#words.get(namespace)
    if (own === undefined) this.#words.set(namespace, (own = new Map()))
    if (words === undefined) own.delete(name)
    else own.set(name, words)
  }
  async health(): Promise<Result<{ readonly ok: true }>> {
    const health = await this.#client.ask<{ readonly status: string }>({
      method: "GET",
      path: `/_cluster/health/${this.#names.documents}`,
      isRepeatable: true
    })
    if (!health.ok) return health
    return health.value.status === "red"
      ? fail({ kind: "Unavailable", message: "A part of the search cluster is gone: its state is red." })
      : ok({ ok: true })
  }
  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#client.close()
  }
}

/** All plans of a call share the longest time among them, or what the request's budget leaves. */
const leftOf = (plans: ReadonlyArray<SearchPlan>, budget: SearchBudget | undefined): number =>
  budget === undefined
    ? plans.reduce((most, { cutoff_ms }) => Math.max(most, cutoff_ms), 0)
    : budget.limit_ms - budget.used_ms
