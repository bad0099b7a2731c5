/**
 * The engine of another process (`shareEngine`), used as if it were local: collections are known without a request, and
 * as current as there; everything else is a call. While the other process cannot be reached, calls fail as unavailable,
 * and `absence` gives the reason.
 *
 * Stemming dictionaries are managed by the other process, which has the same configuration.
 */
import type { Capabilities } from "../capabilities.ts"
import { parseJson, stringifyJson } from "../documents/mod.ts"
import { AnswerRefused } from "../budget/answer-budget.ts"
import type {
  CollectionUsage,
  Namespace,
  ScanPage,
  ScanRequest,
  SchemaChange,
  SearchBudget,
  SearchEngine,
  WordsRequest,
  WordUse,
  WriteOptions,
  WriteVerdict
} from "../engine.ts"
import { type EngineError, fail, ok, type Result } from "../errors.ts"
import type { KeepLimits } from "../keep-limits.ts"
import { unpacked } from "../lane/portable.ts"
import type { SearchAnswer, SearchPlan, Selection, UnionAnswer, UnionPlan, WriteOperation } from "../plan.ts"
import type { CollectionInfo, CollectionSchema, Document } from "../schema.ts"
import { Connection, type ConnectOptions, type Welcome } from "./connection.ts"
import type { PortableVerdict, PortableWrite, Searched } from "./messages.ts"
import { Mirror } from "./mirror.ts"

/** A collection's size may change without a reported change, so it is requested again after this time. */
const USAGE_MS = 1_000

const documentOf = (text: string): Document => parseJson(text) as Document
const portable = (operation: WriteOperation): PortableWrite => {
  if (operation.kind === "delete") return operation
  const { document, ...put } = operation
  return typeof document === "string" || document instanceof Uint8Array
    ? { ...put, document, isParsed: false }
    : { ...put, document: stringifyJson(document), isParsed: true }
}
const verdictOf = ({ id, result }: PortableVerdict): WriteVerdict => {
  const named = id === undefined ? {} : { id }
  if (!result.ok) return { ...named, result }
  const { document, ...written } = result.value
  return { ...named, result: ok(document === undefined ? written : { ...written, document: documentOf(document) }) }
}
const withoutBudget = ({ budget: _budget, ...plan }: SearchPlan): SearchPlan => plan
const budgetOf = (plans: ReadonlyArray<SearchPlan>): SearchBudget => ({
  limit_ms: plans.reduce((most, { cutoff_ms }) => Math.max(most, cutoff_ms), 0),
  used_ms: 0
})
const timedOf = (plans: ReadonlyArray<SearchPlan>, { limit_ms, used_ms }: SearchBudget) => {
  const answer = plans[0]?.budget
  return {
    left_ms: Math.max(0, limit_ms - used_ms),
    ...(answer === undefined ? {} : { answer: { bytes_max: answer.bytes_max, held: answer.held } })
  }
}
/** Updates the request's budgets, as if it had been executed here. */
const settled = <A>(plans: ReadonlyArray<SearchPlan>, budget: SearchBudget, reply: Result<Searched<A>>): Result<A> => {
  if (!reply.ok) return reply
  const { answer, held, isSlow, refusal, used_ms } = reply.value
  budget.used_ms += used_ms
  if (isSlow) budget.isSlow = true
  try {
    plans[0]?.budget?.settle(held, refusal)
    return ok(answer)
  } catch (error) {
    if (error instanceof AnswerRefused) return fail(error.error)
    throw error
  }
}

class RemoteEngine implements SearchEngine {
  readonly #mirror: Mirror
  readonly #connection: Connection
  readonly #welcome: Welcome
  readonly #asked = new Map<string, number>()
  constructor(mirror: Mirror, connection: Connection, welcome: Welcome) {
    this.#mirror = mirror
    this.#connection = connection
    this.#welcome = welcome
  }
  /** Why nothing can be answered at the moment; undefined if the engine is reachable. */
  get absence(): string | undefined {
    return this.#connection.absence
  }
  /** Number of calls that changed something in a namespace, in any process. */
  changes(namespace: Namespace): number {
    return this.#mirror.changes(namespace)
  }
  /** Number of changes that removed something. */
  removals(namespace: Namespace): number {
    return this.#mirror.removals(namespace)
  }
  capabilities(): Capabilities {
    return this.#welcome.capabilities
  }
  createCollection(
    namespace: Namespace,
    schema: CollectionSchema,
    created_at_s: number,
    keeps?: KeepLimits
  ): Promise<Result<CollectionInfo>> {
    return this.#connection.call<"create">(namespace, { method: "create", schema, created_at_s, ...kept(keeps) })
  }
  alterCollection(
    namespace: Namespace,
    name: string,
    change: SchemaChange,
    keeps?: KeepLimits
  ): Promise<Result<CollectionInfo>> {
    return this.#connection.call<"alter">(namespace, { method: "alter", name, change, ...kept(keeps) })
  }
  dropCollection(namespace: Namespace, name: string): Promise<Result<CollectionInfo>> {
    return this.#connection.call<"drop">(namespace, { method: "drop", name })
  }
  namespaces(): ReadonlyArray<Namespace> {
    return this.#mirror.namespaces
  }
  listCollections(namespace: Namespace): ReadonlyArray<CollectionInfo> {
    return this.#mirror.list(namespace)
  }
  describeCollection(namespace: Namespace, name: string): CollectionInfo | undefined {
    return this.#mirror.info(namespace, name)
  }
  async write(
    namespace: Namespace,
    collection: string,
    operations: ReadonlyArray<WriteOperation>,
    { keeps, returnDocuments }: WriteOptions = {}
  ): Promise<Result<ReadonlyArray<WriteVerdict>>> {
    const written = await this.#connection.call<"write">(namespace, {
      method: "write",
      collection,
      operations: operations.map(portable),
      ...(returnDocuments === undefined ? {} : { returnDocuments }),
      ...kept(keeps)
    })
    return written.ok ? ok(written.value.map(verdictOf)) : written
  }
  async search(
    namespace: Namespace,
    plans: ReadonlyArray<SearchPlan>,
    budget: SearchBudget = budgetOf(plans)
  ): Promise<ReadonlyArray<Result<SearchAnswer>>> {
    const call = { method: "search", plans: plans.map(withoutBudget), ...timedOf(plans, budget) } as const
    const reply = await this.#connection.call<"search">(namespace, call, budget.isGivenUp)
    const found = settled(plans, budget, reply)
    return found.ok ? found.value.map((answer) => unpacked<SearchAnswer>(answer)) : plans.map(() => found)
  }
  async union(
    namespace: Namespace,
    plan: UnionPlan,
    budget: SearchBudget = budgetOf(plan.plans)
  ): Promise<Result<UnionAnswer>> {
    const { plans } = plan
    const bare = { ...plan, plans: plans.map(withoutBudget) }
    const call = { method: "union", plan: bare, ...timedOf(plans, budget) } as const
    const reply = await this.#connection.call<"union">(namespace, call, budget.isGivenUp)
    const found = settled(plans, budget, reply)
    return found.ok ? unpacked<UnionAnswer>(found.value) : found
  }
  async scan(namespace: Namespace, request: ScanRequest): Promise<Result<ScanPage>> {
    const page = await this.#connection.call<"scan">(namespace, { method: "scan", request })
    return page.ok ? ok({ ...page.value, documents: page.value.documents.map(documentOf) }) : page
  }
  async get(
    namespace: Namespace,
    collection: string,
    ids: ReadonlyArray<string>,
    selection?: Selection
  ): Promise<Result<ReadonlyArray<Document | undefined>>> {
    const call = { method: "get", collection, ids, ...(selection === undefined ? {} : { selection }) } as const
    const found = await this.#connection.call<"get">(namespace, call)
    return found.ok ? ok(found.value.map((text) => (text === undefined ? undefined : documentOf(text)))) : found
  }
  words(namespace: Namespace, request: WordsRequest): Promise<Result<ReadonlyArray<WordUse>>> {
    return this.#connection.call<"words">(namespace, { method: "words", request })
  }
  /** The usage at the last change, or up to a second before the last request. */
  usage(namespace: Namespace, name: string): CollectionUsage | undefined {
    const known = this.#mirror.usage(namespace, name)
    const id = `${namespace}\n${name}`
    const now_ms = performance.now()
    if (known === undefined || now_ms - (this.#asked.get(id) ?? -Infinity) < USAGE_MS) return known
    if (this.#asked.size > 10_000) this.#asked.clear()
    this.#asked.set(id, now_ms)
    void this.#connection.call<"usage">(namespace, { method: "usage", name }).then((usage) => {
      if (usage.ok) this.#mirror.used(namespace, name, usage.value)
    })
    return known
  }
  health(): Result<{ readonly ok: true }, EngineError> {
    const { absence } = this
    return absence === undefined ? ok({ ok: true }) : fail({ kind: "Unavailable", message: absence })
  }
  close(): Promise<void> {
    this.#connection.close()
    return Promise.resolve()
  }
}
const kept = (keeps: KeepLimits | undefined) => (keeps === undefined ? {} : { keeps })

/**
 * Resolves when everything that the other process has is known here, no matter how long that process takes to start.
 * Rejects if it refuses the token.
 *
 * @example
 * ```ts
 * import { createSearch } from "@dowser/engine-sdk"
 * import { connectEngine } from "@dowser/engine-sdk/remote"
 *
 * const engine = await connectEngine({ host: "127.0.0.1", port: 7700, token: "secret" })
 * const products = createSearch({ engine })
 * ```
 */
export const connectEngine = async (options: ConnectOptions): Promise<RemoteEngine> => {
  const mirror = new Mirror()
  const connection = new Connection(mirror, options)
  try {
    return new RemoteEngine(mirror, connection, await connection.ready)
  } catch (error) {
    connection.close()
    throw error
  }
}
