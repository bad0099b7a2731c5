/**
 * The engine port on a server of the Typesense API: a stock one, or another installation of this program. All tenants
 * share it under names that cannot collide (`names.ts`). Only the list of collections is cached here; any number of
 * processes may run an engine on the same server.
 */
import type { Dictionaries } from "../analysis/mod.ts"
import type { Capabilities } from "../capabilities.ts"
import { isObject } from "../documents/json.ts"
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
import { fail, invalid, ok, type Result } from "../errors.ts"
import type { KeepLimits } from "../keep-limits.ts"
import type { SearchAnswer, SearchPlan, Selection, UnionAnswer, UnionPlan, WriteOperation } from "../plan.ts"
import type { CollectionInfo, CollectionSchema, Document } from "../schema.ts"
import { TYPESENSE } from "./capabilities.ts"
import { ServerClient } from "./client.ts"
import { alterCollection, createCollection, dropCollection } from "./collections.ts"
import { Directory } from "./directory.ts"
import { Gate } from "./gate.ts"
import { documentsById } from "./get.ts"
import { ServerNames } from "./names.ts"
import { PREFIX, type TypesenseOptions } from "./options.ts"
import { Scans } from "./scan.ts"
import { searchPlans, searchUnion, type Parts } from "./search.ts"
import { writeOperations } from "./write.ts"

const FOLLOW_MS = 1_000
/** Reading many collections takes a while, so the pause before the next read is this many times as long. */
const FOLLOWING_SHARE = 20
const AT_ONCE = 64
const AT_ONCE_OF_ONE = 16

/**
 * An engine backed by a server of the Typesense API, which several processes may use at the same time.
 *
 * @example
 * ```ts
 * import { createSearch } from "@dowser/engine-sdk"
 * import { TypesenseEngine } from "@dowser/engine-sdk/typesense"
 *
 * const opened = await TypesenseEngine.open({ nodes: ["http://127.0.0.1:8108"], apiKey: "xyz" })
 * if (opened.ok) createSearch({ engine: opened.value })
 * ```
 */
export class TypesenseEngine implements SearchEngine {
  readonly #parts: Parts
  readonly #scans: Scans
  readonly #words = new Map<Namespace, Map<string, ReadonlyMap<string, string>>>()
  #timer: ReturnType<typeof setTimeout> | undefined

  private constructor(options: TypesenseOptions) {
    const { atOncePerNamespace_max = AT_ONCE_OF_ONE, atOnce_max = AT_ONCE, prefix = "dowser" } = options
    const client = new ServerClient(options)
    const names = new ServerNames(prefix)
    this.#parts = {
      client,
      names,
      directory: new Directory(client, names),
      gate: new Gate(atOnce_max, atOncePerNamespace_max)
    }
    this.#scans = new Scans(this.#parts)
  }
  /** Reads the list of collections; fails if no node answers, or none accepts the key. */
  static async open(options: TypesenseOptions): Promise<Result<TypesenseEngine>> {
    if (options.prefix !== undefined && !PREFIX.test(options.prefix))
      return fail(invalid("A prefix has 1 to 64 letters, digits, `_` and `-`.", "prefix"))
    const engine = new TypesenseEngine(options)
    const { directory } = engine.#parts
    const read = await directory.follow()
    if (!read.ok) {
      await engine.close()
      return read
    }
    engine.#followIn(options.follow_ms ?? FOLLOW_MS)
    return ok(engine)
  }
  #followIn(follow_ms: number, pause_ms = follow_ms): void {
    this.#timer = setTimeout(() => void this.#follow(follow_ms), pause_ms)
    // The timer must not keep the process alive.
    ;(this.#timer as { unref?: () => void }).unref?.()
  }
  async #follow(follow_ms: number): Promise<void> {
    const { client, directory } = this.#parts
    const began = performance.now()
    await directory.follow()
    const took_ms = performance.now() - began
    if (!client.isClosed) this.#followIn(follow_ms, Math.max(follow_ms, FOLLOWING_SHARE * took_ms))
  }
  #dictionaries(namespace: Namespace): Dictionaries {
    return (name) => this.#words.get(namespace)?.get(name)
  }

  capabilities(): Capabilities {
    return TYPESENSE
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
  namespaces(): ReadonlyArray<Namespace> {
    return this.#parts.directory.namespaces
  }
  listCollections(namespace: Namespace): ReadonlyArray<CollectionInfo> {
    return this.#parts.directory.list(namespace).map(({ info }) => info)
  }
  describeCollection(namespace: Namespace, name: string): CollectionInfo | undefined {
    return this.#parts.directory.find(namespace, name)?.info
  }
  async write(
    namespace: Namespace,
    collection: string,
    operations: ReadonlyArray<WriteOperation>,
    options: WriteOptions = {}
  ): Promise<Result<ReadonlyArray<WriteVerdict>>> {
    const entry = await this.#parts.directory.known(namespace, collection)
    return entry.ok ? writeOperations(this.#parts, entry.value, operations, options) : entry
  }
  search(
    namespace: Namespace,
    plans: ReadonlyArray<SearchPlan>,
    budget?: SearchBudget
  ): Promise<ReadonlyArray<Result<SearchAnswer>>> {
    return searchPlans({ ...this.#parts, dictionaries: this.#dictionaries(namespace) }, namespace, plans, budget)
  }
  union(namespace: Namespace, plan: UnionPlan, budget?: SearchBudget): Promise<Result<UnionAnswer>> {
    return searchUnion({ ...this.#parts, dictionaries: this.#dictionaries(namespace) }, namespace, plan, budget)
  }
  async scan(namespace: Namespace, request: ScanRequest): Promise<Result<ScanPage>> {
    const entry = await this.#parts.directory.known(namespace, request.collection)
    return entry.ok ? this.#scans.page(entry.value, request, this.#dictionaries(namespace)) : entry
  }
  async get(
    namespace: Namespace,
    collection: string,
    ids: ReadonlyArray<string>,
    selection?: Selection
  ): Promise<Result<ReadonlyArray<Document | undefined>>> {
    const entry = await this.#parts.directory.known(namespace, collection)
    return entry.ok ? documentsById(this.#parts, entry.value, ids, selection, this.#dictionaries(namespace)) : entry
  }
  usage(namespace: Namespace, name: string): CollectionUsage | undefined {
    const entry = this.#parts.directory.find(namespace, name)
    // The server does not report the size of an index.
    return entry === undefined
      ? undefined
      : { documents: entry.info.num_documents, segments: 0, index_bytes: 0, document_bytes: 0, open: true }
  }
  /** The server needs dictionaries for what it indexes, and this process for what it prints. */
  async setDictionary(
    namespace: Namespace,
    name: string,
    words: ReadonlyMap<string, string> | undefined
  ): Promise<void> {
    const { client, names } = this.#parts
    const id = encodeURIComponent(names.of(namespace, name))
    let own = this.#words.get(namespace)
    if (own === undefined) this.#words.set(namespace, (own = new Map()))
    if (words === undefined) own.delete(name)
    else own.set(name, words)
    const answer =
      words === undefined
        ? await client.ask({ method: "DELETE", path: `/stemming/dictionaries/${id}`, isRepeatable: true })
        : await client.text({
            method: "POST",
            path: `/stemming/dictionaries/import?id=${id}`,
            body: Array.from(words, ([word, root]) => JSON.stringify({ word, root })).join("\n"),
            isRepeatable: true
          })
    if (!answer.ok && !(words === undefined && answer.error.kind === "NotFound")) throw new Error(answer.error.message)
  }
  async health(): Promise<Result<{ readonly ok: true }>> {
    const health = await this.#parts.client.ask({ method: "GET", path: "/health", isRepeatable: true })
    if (!health.ok) return health
    return isObject(health.value) && health.value.ok === true
      ? ok({ ok: true })
      : fail({ kind: "Unavailable", message: "The search engine's server says that it is not well." })
  }
  async close(): Promise<void> {
    clearTimeout(this.#timer)
    this.#scans.close()
    this.#parts.client.close()
  }
}
