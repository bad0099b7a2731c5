/**
 * The engine port implemented on an OpenSearch cluster, over REST alone. Only collection records are cached here; any
 * number of processes may run an engine on the same cluster.
 */
import type { Dictionaries } from "../analysis/tokens.ts"
import type { Capabilities } from "../capabilities.ts"
import type {
  CollectionUsage,
  Namespace,
  ScanPage,
  ScanRequest,
  SchemaChange,
  SchemaChangeProgress,
  SearchBudget,
  SearchEngine,
  WriteOptions,
  WriteVerdict
} from "../engine.ts"
import { fail, notFound, ok, type Result } from "../errors.ts"
import type { KeepLimits } from "../keep-limits.ts"
import type { SearchAnswer, SearchPlan, Selection, UnionAnswer, UnionPlan, WriteOperation } from "../plan.ts"
import type { CollectionInfo, CollectionSchema, Document } from "../schema.ts"
import { OPENSEARCH, OPENSEARCH_WITHOUT_VECTORS } from "./capabilities.ts"
import { ClusterClient } from "./client.ts"
import { alterCollection, createCollection, dropCollection, promoteCollection } from "./collections.ts"
import { Counters } from "./counters.ts"
import { Directory, infoOf, type Entry } from "./directory.ts"
import { hasVectorPlugin, Installation } from "./installation.ts"
import type { CollectionRecord } from "./record.ts"
import { Leftovers } from "./leftovers.ts"
import { isToBePromoted } from "./move.ts"
import { progressCounter, type MoverParts } from "./mover.ts"
import type { OpensearchOptions } from "./options.ts"
import { namesOf, type ClusterNames } from "./placement.ts"
import { Refreshes } from "./refreshes.ts"
import { documentsById, scanPage } from "./scan.ts"
import { searchPlan, type SearchParts } from "./search.ts"
import { searchUnion } from "./union.ts"
import { warn } from "../warning.ts"
import { Vocabularies } from "./vocabulary.ts"
import { writeOperations } from "./write.ts"

const FOLLOW_MS = 1_000
const REPLICAS = 1
const POOL_SHARDS = 3
const POOL_DOCUMENTS = 200_000
/** Delay before a failed promotion by size is tried again. */
const AGAIN_MS = 60_000
/** Searches of one request that run concurrently. */
const AT_ONCE = 8
/** How many times a read starts over because its collection was moved in the meantime. */
const MOVES_MAX = 5

/**
 * An engine backed by an OpenSearch cluster, which several processes may use at the same time.
 *
 * @example
 * ```ts
 * import { createSearch } from "@dowser/engine-sdk"
 * import { OpensearchEngine } from "@dowser/engine-sdk/opensearch"
 *
 * const opened = await OpensearchEngine.open({ nodes: ["https://search.example:9200"] })
 * if (opened.ok) createSearch({ engine: opened.value })
 * ```
 */
export class OpensearchEngine implements SearchEngine {
  readonly #client: ClusterClient
  readonly #names: ClusterNames
  readonly #directory: Directory
  readonly #counters: Counters
  readonly #refreshes: Refreshes
  readonly #installation: Installation
  readonly #leftovers: Leftovers
  readonly #moving: MoverParts
  readonly #poolDocuments_max: number
  readonly #searching: SearchParts
  readonly #words = new Map<Namespace, Map<string, ReadonlyMap<string, string>>>()
  #timer: ReturnType<typeof setInterval> | undefined
  #hasVectors = false
  #isFollowing = false
  #isPromoting = false
  #promotesFrom_ms = 0

  private constructor(options: OpensearchOptions) {
    const {
      onMoveStep,
      poolDocuments_max = POOL_DOCUMENTS,
      poolShards = POOL_SHARDS,
      prefix = "dowser",
      replicas = REPLICAS,
      times = {}
    } = options
    this.#poolDocuments_max = poolDocuments_max
    this.#client = new ClusterClient(options)
    this.#names = namesOf(prefix)
    this.#installation = new Installation(this.#client, this.#names, { poolShards, replicas })
    this.#directory = new Directory(this.#client, this.#names, times.count_ms)
    this.#counters = new Counters(this.#client, this.#names)
    this.#searching = {
      client: this.#client,
      vocabularies: new Vocabularies(this.#client, options.vocabularyDocuments_max),
      hasVectors: () => this.#hasVectors
    }
    this.#refreshes = new Refreshes(this.#client)
    const parts = {
      client: this.#client,
      names: this.#names,
      directory: this.#directory,
      counters: this.#counters
    }
    this.#leftovers = new Leftovers(parts, times)
    this.#moving = {
      ...parts,
      beat_ms: this.#leftovers.beat_ms,
      refreshes: this.#refreshes,
      replicas,
      hasVectors: () => this.#hasVectors,
      dictionariesOf: (namespace) => this.#dictionaries(namespace),
      onStep: onMoveStep
    }
  }
  /** Creates the indices that every installation has, and reads the list of collections. */
  static async open(options: OpensearchOptions): Promise<Result<OpensearchEngine>> {
    const engine = new OpensearchEngine(options)
    const begun = await engine.#begin(options)
    if (begun.ok) return ok(engine)
    await engine.close()
    return begun
  }
  async #begin({ follow_ms = FOLLOW_MS }: OpensearchOptions): Promise<Result<void>> {
    const opened = await this.#installation.open()
    if (!opened.ok) return opened
    this.#hasVectors = await hasVectorPlugin(this.#client)
    const read = await this.#directory.readChanges()
    if (!read.ok) return read
    const counted = await this.#directory.count()
    if (!counted.ok) return counted
    this.#timer = setInterval(() => void this.#follow(), follow_ms)
    // The timer must not keep the process alive.
    ;(this.#timer as { unref?: () => void }).unref?.()
    return ok(undefined)
  }
  #dictionaries(namespace: Namespace): Dictionaries {
    return (name) => this.#words.get(namespace)?.get(name)
  }
  /** Handles changes by other processes, leftovers, and collections that have become too large for the shared index. */
  async #follow(): Promise<void> {
    if (this.#isFollowing) return
    this.#isFollowing = true
    try {
      const now = performance.now()
      await this.#installation.ready()
      const keys = await this.#directory.follow(now)
      if (this.#client.isClosed) return
      await this.#leftovers.look(now, keys)
      const large = this.#directory.entries.find(({ documents, record }) =>
        isToBePromoted(record, documents, this.#poolDocuments_max)
      )
      if (large !== undefined && !this.#isPromoting && now >= this.#promotesFrom_ms) void this.#promoteLarge(large)
    } catch (error) {
      if (!this.#client.isClosed) warn("collections of the search cluster were not looked at", error)
    } finally {
      this.#isFollowing = false
    }
  }
  /** One promotion at a time; another process may be faster. */
  async #promoteLarge({ record: { namespace, schema } }: Entry): Promise<void> {
    this.#isPromoting = true
    // A failed promotion would fail again immediately, so it is delayed.
    this.#promotesFrom_ms = performance.now() + AGAIN_MS
    try {
      const promoted = await this.promoteCollection(namespace, schema.name)
      if (promoted.ok) this.#promotesFrom_ms = 0
      else if (promoted.error.kind !== "Conflict" && !this.#client.isClosed)
        warn("a large collection could not be given an index of its own", promoted.error.message)
    } catch (error) {
      if (!this.#client.isClosed) warn("a large collection could not be given an index of its own", error)
    } finally {
      this.#isPromoting = false
    }
  }

  capabilities(): Capabilities {
    return this.#hasVectors ? OPENSEARCH : OPENSEARCH_WITHOUT_VECTORS
  }
  async createCollection(
    namespace: Namespace,
    schema: CollectionSchema,
    created_at_s: number,
    keeps?: KeepLimits
  ): Promise<Result<CollectionInfo>> {
    const ready = await this.#installation.ready()
    if (!ready.ok) return ready
    return createCollection(this.#moving, namespace, schema, created_at_s, keeps)
  }
  alterCollection(
    namespace: Namespace,
    name: string,
    change: SchemaChange,
    keeps?: KeepLimits
  ): Promise<Result<CollectionInfo>> {
    return alterCollection(this.#moving, namespace, name, change, keeps)
  }
  dropCollection(namespace: Namespace, name: string): Promise<Result<CollectionInfo>> {
    return dropCollection(this.#moving, namespace, name)
  }
  /** Moves a collection to its own index, whatever its size; searches and writes continue meanwhile. */
  promoteCollection(namespace: Namespace, name: string): Promise<Result<CollectionInfo>> {
    return promoteCollection(this.#moving, namespace, name)
  }
  async schemaChanges(namespace: Namespace): Promise<Result<ReadonlyArray<SchemaChangeProgress>>> {
    await this.#directory.hear()
    const changes: SchemaChangeProgress[] = []
    for (const { record } of this.#directory.list(namespace)) {
      const { move, schema } = record
      if (move?.reason !== "schema") continue
      const progress = await this.#counters.look(progressCounter(move.to.key))
      if (!progress.ok) return progress
      changes.push({ collection: schema.name, documents: move.total, altered: progress.value?.next ?? 0 })
    }
    return ok(changes)
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
      dictionaries: this.#dictionaries(namespace),
      promote: () => this.promoteCollection(namespace, collection)
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
  /**
   * Reads collections by their cached records while checking whether they were moved before the call, because writes
   * acknowledged elsewhere are at the new placement. Each read uses one record from start to end.
   */
  async #reading<A>(
    namespace: Namespace,
    names: ReadonlyArray<string>,
    read: (entries: ReadonlyMap<string, Entry>) => Promise<Result<A>>
  ): Promise<Result<A>> {
    for (let moves = 0; ; moves++) {
      const entries = new Map<string, Entry>()
      for (const name of new Set(names)) {
        const entry = await this.#directory.known(namespace, name)
        if (entry.ok) entries.set(name, { ...entry.value })
        else if (entry.error.kind !== "NotFound") return entry
      }
      const [answer] = await Promise.all([read(entries), this.#directory.hear()])
      const isMoved = [...entries].some(([name, { record }]) => {
        const now = this.#directory.find(namespace, name)?.record
        return now !== undefined && isToBeReadAgain(record, now)
      })
      if (!isMoved || moves === MOVES_MAX) return answer
    }
  }
  /** Like `#reading`, for one collection. */
  #readingOne<A>(namespace: Namespace, name: string, read: (entry: Entry) => Promise<Result<A>>): Promise<Result<A>> {
    return this.#reading(namespace, [name], async (entries) => {
      const entry = entries.get(name)
      return entry === undefined ? fail(notFound("Collection not found")) : read(entry)
    })
  }
  #searched(namespace: Namespace, plan: SearchPlan, left_ms: number): Promise<Result<SearchAnswer>> {
    const until = performance.now() + left_ms
    return this.#readingOne(namespace, plan.collection, (entry) =>
      searchPlan(this.#searching, entry, plan, this.#dictionaries(namespace), until - performance.now())
    )
  }
  async union(namespace: Namespace, plan: UnionPlan, budget?: SearchBudget): Promise<Result<UnionAnswer>> {
    const started = performance.now()
    const names = plan.plans.map(({ collection }) => collection)
    const until = started + leftOf(plan.plans, budget)
    const answer = await this.#reading(namespace, names, (entries) => {
      const entryOf = (name: string) => entries.get(name)
      return searchUnion(this.#searching, plan, entryOf, this.#dictionaries(namespace), until - performance.now())
    })
    if (budget !== undefined) budget.used_ms += performance.now() - started
    return answer
  }
  scan(namespace: Namespace, request: ScanRequest): Promise<Result<ScanPage>> {
    return this.#readingOne(namespace, request.collection, (entry) => scanPage(this.#searching, entry, request))
  }
  get(
    namespace: Namespace,
    collection: string,
    ids: ReadonlyArray<string>,
    selection?: Selection
  ): Promise<Result<ReadonlyArray<Document | undefined>>> {
    return this.#readingOne(namespace, collection, ({ record }) =>
      documentsById(this.#client, record.placement, ids, selection)
    )
  }
  usage(namespace: Namespace, name: string): CollectionUsage | undefined {
    const entry = this.#directory.find(namespace, name)
    if (entry === undefined) return undefined
    const { bytes, documents } = entry
    // The cluster reports sizes of whole indices only.
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

/**
 * A plan that uses a field that was dropped or changed is answered as it was planned; the next plan uses the new
 * schema.
 */
const isToBeReadAgain = (before: CollectionRecord, now: CollectionRecord): boolean => {
  if (now.placement.key === before.placement.key) return false
  const fields = new Map(now.schema.fields.map((field) => [field.name, JSON.stringify(field)]))
  return before.schema.fields.every((field) => fields.get(field.name) === JSON.stringify(field))
}
/** All plans of a call share the longest time limit among them, or the rest of the request's budget. */
const leftOf = (plans: ReadonlyArray<SearchPlan>, budget: SearchBudget | undefined): number =>
  budget === undefined
    ? plans.reduce((most, { cutoff_ms }) => Math.max(most, cutoff_ms), 0)
    : budget.limit_ms - budget.used_ms
