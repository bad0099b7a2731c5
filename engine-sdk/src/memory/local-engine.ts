/**
 * The in-process engine: readers on the calling thread over a writer that may run elsewhere. Searches are synchronous;
 * a caller waits only for a collection that is not open yet and for data that its search is the first to need.
 */
import type { Dictionaries } from "../analysis/tokens.ts"
import type { Capabilities } from "../capabilities.ts"
import { parseJson, select } from "../documents/mod.ts"
import type {
  Awaitable,
  CollectionUsage,
  Namespace,
  ScanPage,
  ScanRequest,
  SchemaChange,
  SearchBudget,
  SearchEngine,
  StoredDamage,
  WordsRequest,
  WordUse,
  WriteOptions,
  WriteVerdict
} from "../engine.ts"
import type { KeepLimits } from "../keep-limits.ts"
import { type EngineError, fail, notFound, ok, type Result } from "../errors.ts"
import { CollectionReader, type PublishedSegment } from "../index/reader.ts"
import { hasVectorLibrary, vectorLibrary } from "../index/vector-graph.ts"
import type { SearchAnswer, SearchPlan, Selection, UnionAnswer, UnionPlan, WriteOperation } from "../plan.ts"
import { askedOf } from "../search/relevance/prepare.ts"
import { missingDocs } from "../search/relevance/unit-columns.ts"
import { indexedNames } from "../search/relevance/unit-sections.ts"
import type { CollectionInfo, CollectionSchema, Document } from "../schema.ts"
import { answersOf } from "../lane/answers.ts"
import { NO_WORKERS, type WorkersNow } from "../lane/placing.ts"
import { executeSearch } from "../search/answer/answer.ts"
import { executeUnion } from "../search/answer/union.ts"
import { Allowance, Cutoff, GIVE_WAY, within } from "../budget/cutoff.ts"
import { scanPage } from "../search/scan.ts"
import { wordUses } from "../search/word-uses.ts"
import { relationOf } from "../search/filter/relations.ts"
import { facetsToPrepare, prepareFacets, prepareOpened, prepareSuccessor } from "../search/prepare-segment.ts"
import type { SearchScope } from "../search/scope.ts"
import { vectorUsage } from "../search/vector/vector-usage.ts"
import { inSlices, pause } from "../turns.ts"
import { type WriterEvent, WriterGone, type WriterPort } from "../store/writer-port.ts"
import { warn } from "../warning.ts"
import { newEntry, type Entry } from "./entry.ts"
import type { OtherThreads } from "./other-threads.ts"
import {
  answering,
  APPROXIMATE,
  budgetOf,
  collectionsOf,
  type DocumentReads,
  EXACT,
  isLong,
  keptOf,
  NotOpened,
  unionOf,
  NOT_RUN,
  practising,
  type Practised
} from "./engine-parts.ts"

const CLOSED: EngineError = { kind: "Unavailable", message: "The engine is closed." }
const MEBIBYTE = 1_048_576
/** Duration of one slice of background work between searches. */
const SLICE_MS = 0.5
/** Time limit for one page of a list by filter. */
const SCAN_MS = 10_000
/** Time limit for looking up words. */
const WORDS_MS = 50
/** Time on this thread for one warm-up search, for which no caller waits. */
const PRACTICE_MS = 8
/** Time without publications before missing data is prepared: less than the writer takes to merge segments. */
const QUIET_MS = 300
/** Minimum documents of a new segment for preparing its facet values in a separate turn. */
const MAPPED_DOCS_MIN = 128

/**
 * The engine of this process, in memory or in a folder; `createEngine` and `openEngine` create one.
 *
 * @example
 * ```ts
 * import { createEngine, type LocalEngine } from "@dowser/engine-sdk"
 *
 * const engine: LocalEngine = createEngine()
 * engine.capabilities().kind // "memory"
 * await engine.close()
 * ```
 */
export class LocalEngine implements SearchEngine {
  private readonly kind: string
  private readonly entries = new Map<number, Entry>()
  private readonly byName = new Map<Namespace, Map<string, number>>()
  private readonly dictionaries = new Map<Namespace, Map<string, ReadonlyMap<string, string>>>()
  private readonly reads: DocumentReads
  private readonly budget_bytes: number
  private readonly isApproximate: boolean
  private readonly unreadable: StoredDamage[] = []
  private port: WriterPort | undefined
  private clock = 0
  private isClosed = false
  private failure: string | undefined
  private afterClose: (() => Promise<void>) | undefined
  private readonly threads: OtherThreads | undefined
  /** `threads`: where long searches continue, and quick ones if it has workers; otherwise all run here. */
  constructor(
    kind: string,
    reads: DocumentReads,
    budget_bytes: number,
    approximateFrom = Infinity,
    threads?: OtherThreads
  ) {
    this.threads = threads
    threads?.attach({
      entryOf: (namespace, name) => this.entryOf(namespace, name),
      nameOf: (key) => {
        const record = this.entries.get(key)?.record
        return record === undefined ? undefined : { namespace: record.namespace, name: record.schema.name }
      },
      earlyOf: (key) => this.reads.earlyTexts?.(key) ?? [],
      dictionariesOf: (namespace) => this.dictionaries.get(namespace)
    })
    this.kind = kind
    this.reads = reads
    this.budget_bytes = budget_bytes
    this.isApproximate = approximateFrom < Infinity
  }
  /** The writer is created after the engine, because it announces its collections to it. */
  attach(port: WriterPort): void {
    this.port = port
  }
  /** Called when the writer can no longer be reached; reads continue. */
  failed(message: string): void {
    this.failure = message
  }
  /** Sets work to run after the writer has closed. */
  onClose(work: () => Promise<void>): void {
    this.afterClose = work
  }
  private get writer(): WriterPort {
    if (this.port === undefined) throw new Error("the engine has no writer yet")
    return this.port
  }

  apply(event: WriterEvent): void {
    switch (event.kind) {
      case "collection": {
        const { record } = event
        this.entries.set(record.key, newEntry(record, event.documents))
        let names = this.byName.get(record.namespace)
        if (names === undefined) this.byName.set(record.namespace, (names = new Map()))
        names.set(record.schema.name, record.key)
        this.threads?.expect(event.documents)
        return
      }
      case "unreadable":
        this.unreadable.push({ namespace: event.record.namespace, message: event.record.message })
        return
      case "dropped":
        this.dropped(event.key)
        return
      case "closed": {
        this.reads.forget?.(event.key)
        this.threads?.forget(event.key)
        const entry = this.entries.get(event.key)
        if (entry !== undefined) {
          entry.reader = undefined
          entry.staged = undefined
          entry.isClosing = false
        }
        return
      }
      case "opened": {
        const entry = this.entries.get(event.key)
        if (entry === undefined) return
        entry.reader = entry.staged ?? this.newReader(entry)
        entry.staged = undefined
        entry.documents = entry.reader.documentCount
        void this.between(entry, entry.reader, prepareOpened(entry.reader)).then(() => this.prepareQuiet(entry))
        return
      }
      case "published": {
        const entry = this.entries.get(event.key),
          { early, readable } = event.publication
        if (entry === undefined) return
        if (readable !== undefined) {
          this.reads.readable?.(event.key, readable)
          return
        }
        if (early !== undefined) this.reads.keep?.(event.key, early)
        if (entry.isClosing) return
        const reader = entry.reader ?? (entry.staged ??= this.newReader(entry))
        if (early === undefined) this.reads.refresh()
        reader.apply(event.publication)
        if (event.publication.schema !== undefined) entry.record = { ...entry.record, schema: event.publication.schema }
        if (entry.reader !== undefined) entry.documents = reader.documentCount
        this.threads?.expect(reader.documentCount)
        if (entry.reader !== undefined && event.publication.added.some(({ meta }) => meta.docs >= MAPPED_DOCS_MIN)) {
          this.mapPublished(entry, reader)
          this.whenQuiet(entry)
        }
      }
    }
  }
  /**
   * Prepares a segment that is about to replace others, between searches; resolves when it is ready, or if no search
   * would use it. Its memory is not read afterwards unless it is published.
   */
  async prepare(key: number, upcoming: PublishedSegment, replaced: ReadonlyArray<number>): Promise<void> {
    const entry = this.entries.get(key),
      reader = entry?.reader
    if (entry === undefined || reader === undefined) return
    if (!(await this.between(entry, reader, prepareSuccessor(reader, upcoming, replaced)))) reader.unexpect(upcoming.id)
  }
  /**
   * Runs work in slices. Abandons it (false) as soon as the reader is no longer the collection's, or if it fails: it
   * only prepares what a search would otherwise do itself, and that search can report the failure to its caller.
   */
  private between(entry: Entry, reader: CollectionReader, work: Generator<void, void>): Promise<boolean> {
    const isCurrent = (): boolean => this.isCurrent(entry, reader)
    return inSlices(
      (function* () {
        for (;;) {
          if (!isCurrent()) return false
          if (work.next().done === true) return true
          yield
        }
      })(),
      SLICE_MS,
      pause
    ).catch((error: unknown) => {
      warn(`collection ${entry.record.key} was not made ready between searches`, error)
      return false
    })
  }
  private isCurrent(entry: Entry, reader: CollectionReader): boolean {
    return entry.reader === reader && this.entries.get(entry.record.key) === entry && !this.isClosed
  }
  /** One run at a time; segments published in the meantime are mapped by this run or the next. */
  private mapPublished(entry: Entry, reader: CollectionReader): void {
    if (entry.isMapping) return
    entry.isMapping = true
    void this.between(entry, reader, reader.mappingPublished()).finally(() => {
      entry.isMapping = false
    })
  }
  /** Each publication restarts the wait: what an import's segments lack, their merged segments lack too. */
  private whenQuiet(entry: Entry): void {
    clearTimeout(entry.quiet)
    if (this.isClosed) return
    entry.quiet = setTimeout(() => void this.prepareQuiet(entry), QUIET_MS)
    ;(entry.quiet as { readonly unref?: () => void }).unref?.()
  }
  /** Prepares data here and on the other threads, so that the first facet need not wait for it. */
  private async prepareQuiet(entry: Entry): Promise<void> {
    const { reader } = entry
    if (reader === undefined || this.isClosed) return
    this.threads?.prepare(entry.record.key, entry.documents)
    await this.between(entry, reader, prepareFacets(reader))
  }
  private dropped(key: number): void {
    const entry = this.entries.get(key)
    if (entry === undefined) return
    clearTimeout(entry.quiet)
    this.entries.delete(key)
    this.reads.forget?.(key)
    this.threads?.forget(key)
    this.byName.get(entry.record.namespace)?.delete(entry.record.schema.name)
  }
  private newReader({ record }: Entry): CollectionReader {
    return new CollectionReader(record.schema, { text: (seq) => this.reads.text(record.key, seq) })
  }

  /** Search workers that are up, and how many searches were sent to them; zero if the engine was opened without. */
  searchWorkers(): WorkersNow {
    return this.threads?.workersNow ?? NO_WORKERS
  }
  capabilities(): Capabilities {
    // Reported for the entire engine: a field below the bound is still searched exactly, which `usage` shows.
    const grades = this.isApproximate && hasVectorLibrary() ? APPROXIMATE : EXACT
    return {
      kind: this.kind,
      searchesOnCaller: true,
      grades,
      limits: {
        window_max: 1_000_000,
        filter_clauses_max: 100,
        facet_values_max: 1_000_000,
        batch_bytes_max: 512 * MEBIBYTE,
        plans_per_trip_max: 50,
        visible_after_ms: 0
      }
    }
  }
  createCollection(
    namespace: Namespace,
    schema: CollectionSchema,
    created_at_s: number,
    keeps?: KeepLimits
  ): Promise<Result<CollectionInfo>> {
    return this.asked(() => this.writer.create(namespace, schema, created_at_s, keeps))
  }
  alterCollection(
    namespace: Namespace,
    name: string,
    change: SchemaChange,
    keeps?: KeepLimits
  ): Promise<Result<CollectionInfo>> {
    return this.asked(() => this.writer.alter(namespace, name, change, keeps))
  }
  dropCollection(namespace: Namespace, name: string): Promise<Result<CollectionInfo>> {
    return this.asked(() => this.writer.drop(namespace, name))
  }
  /** A lost writer is returned as an error; everything else that is thrown is a defect. */
  private async asked<A>(ask: () => Promise<Result<A>>): Promise<Result<A>> {
    if (this.isClosed) return fail(CLOSED)
    if (this.failure !== undefined) return fail({ kind: "Unavailable", message: this.failure })
    try {
      return await ask()
    } catch (error) {
      // If a worker ends while the engine closes, the caller is answered with the closed error.
      if (error instanceof WriterGone && this.isClosed) return fail(CLOSED)
      const failure: string | undefined = this.failure
      if (failure === undefined) throw error
      return fail({ kind: "Unavailable", message: failure })
    }
  }
  listCollections(namespace: Namespace): ReadonlyArray<CollectionInfo> {
    // Newest first, because numbers of collections only increase.
    return [...(this.byName.get(namespace)?.values() ?? [])]
      .sort((a, b) => b - a)
      .map((key) => infoOf(this.entries.get(key)!))
  }
  namespaces(): ReadonlyArray<Namespace> {
    return [...this.byName].flatMap(([namespace, names]) => (names.size > 0 ? [namespace] : []))
  }
  describeCollection(namespace: Namespace, name: string): CollectionInfo | undefined {
    const entry = this.entryOf(namespace, name)
    return entry === undefined ? undefined : infoOf(entry)
  }
  async write(
    namespace: Namespace,
    collection: string,
    operations: ReadonlyArray<WriteOperation>,
    options?: WriteOptions
  ): Promise<Result<ReadonlyArray<WriteVerdict>>> {
    const entry = this.entryOf(namespace, collection)
    if (entry === undefined) return fail(notFound("Collection not found"))
    this.touch(entry)
    const answer = await this.asked(() =>
      this.writer.write(
        namespace,
        collection,
        operations,
        options?.returnDocuments === true,
        options?.keeps,
        options?.taken
      )
    )
    this.makeRoom(entry.record.key)
    return answer
  }
  search(
    namespace: Namespace,
    plans: ReadonlyArray<SearchPlan>,
    budget: SearchBudget = budgetOf(plans)
  ): Awaitable<ReadonlyArray<Result<SearchAnswer>>> {
    return answering(
      (error) => plans.map(() => fail(error)),
      () =>
        this.threads?.takesQuick(namespace, plans, budget) === true
          ? this.whenAsked(namespace, plans, () => this.searchedByWorker(namespace, plans, budget))
          : this.whenIndexed(namespace, plans, () => this.searched(namespace, plans, budget))
    )
  }
  private async searchedByWorker(
    namespace: Namespace,
    plans: ReadonlyArray<SearchPlan>,
    budget: SearchBudget
  ): Promise<ReadonlyArray<Result<SearchAnswer>>> {
    const quick = await this.threads!.quick(namespace, { kind: "search", plans }, budget)
    if (quick === "waited") return this.whenIndexed(namespace, plans, () => this.searched(namespace, plans, budget))
    if (quick === "lost") return this.searchedInLane(namespace, plans, [], budget, false)
    if (!quick.ok) return plans.map(() => quick)
    const { done, used_ms } = quick.value,
      answers = answersOf(quick.value)
    // A search without an answer has not been started, because the data it reads is being prepared.
    return done.kind === "gave_way" ? this.searchedInLane(namespace, plans, answers, budget, used_ms > 0) : answers
  }
  private searched(
    namespace: Namespace,
    plans: ReadonlyArray<SearchPlan>,
    budget: SearchBudget
  ): Awaitable<ReadonlyArray<Result<SearchAnswer>>> {
    const scope = this.scopeOf(namespace),
      left_ms = budget.limit_ms - budget.used_ms
    const answers: Array<Result<SearchAnswer>> = []
    const allowance = this.allowanceOf(namespace)
    try {
      if ((budget.isSlow === true || isLong(plans)) && allowance.hasQuantum) throw GIVE_WAY
      for (const plan of plans) answers.push(executeSearch(scope, plan, allowance, left_ms))
    } catch (error) {
      if (error !== GIVE_WAY) throw error
      // Searches whose answers are deferred must not read the index any more.
      answers.length = keptOf(answers)
      return this.searchedInLane(namespace, plans, answers, budget)
    } finally {
      const used_ms = allowance.used_ms()
      budget.used_ms += used_ms
      this.threads?.ranHere(namespace, plans, used_ms)
    }
    return answers
  }
  /** Runs the remaining searches after those already answered. */
  private async searchedInLane(
    namespace: Namespace,
    plans: ReadonlyArray<SearchPlan>,
    answers: ReadonlyArray<Result<SearchAnswer>>,
    budget: SearchBudget,
    isSlow = true
  ): Promise<ReadonlyArray<Result<SearchAnswer>>> {
    const work = { kind: "search", plans: plans.slice(answers.length) } as const
    const laned = await this.threads!.long(namespace, work, budget, isSlow)
    return laned.ok ? [...answers, ...answersOf(laned.value)] : plans.map((_plan, i) => answers[i] ?? laned)
  }
  union(
    namespace: Namespace,
    plan: UnionPlan,
    budget: SearchBudget = budgetOf(plan.plans)
  ): Awaitable<Result<UnionAnswer>> {
    return answering<Result<UnionAnswer>>(fail, () =>
      plan.window === undefined && this.threads?.takesQuick(namespace, plan.plans, budget) === true
        ? this.whenAsked(namespace, plan.plans, () => this.unitedByWorker(namespace, plan, budget))
        : this.whenIndexed(namespace, plan.plans, () => this.united(namespace, plan, budget))
    )
  }
  private async unitedByWorker(
    namespace: Namespace,
    plan: UnionPlan,
    budget: SearchBudget
  ): Promise<Result<UnionAnswer>> {
    const quick = await this.threads!.quick(namespace, { kind: "union", plan }, budget)
    if (quick === "waited") return this.whenIndexed(namespace, plan.plans, () => this.united(namespace, plan, budget))
    if (quick === "lost" || (quick.ok && quick.value.done.kind === "gave_way"))
      return this.unitedInLane(namespace, plan, budget, quick !== "lost" && quick.ok && quick.value.used_ms > 0)
    return unionOf(quick)
  }
  private united(namespace: Namespace, plan: UnionPlan, budget: SearchBudget): Awaitable<Result<UnionAnswer>> {
    const allowance = this.allowanceOf(namespace)
    try {
      if ((budget.isSlow === true || isLong(plan.plans)) && allowance.hasQuantum) throw GIVE_WAY
      return executeUnion(this.scopeOf(namespace), plan, allowance, budget.limit_ms - budget.used_ms)
    } catch (error) {
      if (error !== GIVE_WAY) throw error
      return this.unitedInLane(namespace, plan, budget)
    } finally {
      const used_ms = allowance.used_ms()
      budget.used_ms += used_ms
      this.threads?.ranHere(namespace, plan.plans, used_ms)
    }
  }
  private async unitedInLane(
    namespace: Namespace,
    plan: UnionPlan,
    budget: SearchBudget,
    isSlow = true
  ): Promise<Result<UnionAnswer>> {
    return unionOf(await this.threads!.long(namespace, { kind: "union", plan }, budget, isSlow))
  }
  scan(namespace: Namespace, request: ScanRequest): Awaitable<Result<ScanPage>> {
    return answering<Result<ScanPage>>(fail, () =>
      this.whenOpen(namespace, [request.collection], (): Awaitable<Result<ScanPage>> => {
        const reader = this.entryOf(namespace, request.collection)?.reader
        if (reader === undefined) return fail(notFound("Collection not found"))
        try {
          return ok(
            within(new Cutoff(this.allowanceOf(namespace), Infinity), () =>
              scanPage(this.scopeOf(namespace), reader, request)
            )
          )
        } catch (error) {
          if (error !== GIVE_WAY) throw error
          return this.threads!.long(namespace, { kind: "scan", request }, { limit_ms: SCAN_MS, used_ms: 0 }).then(
            (laned): Result<ScanPage> =>
              laned.ok && laned.value.done.kind === "scan" ? laned.value.done.answer : (laned as Result<never>)
          )
        }
      })
    )
  }

  /**
   * Runs one plan after another, with a pause after each so that other searches can run in between. A relevance search
   * is skipped while its index does not exist, because it would read every document. A plan that gives way here still
   * runs in the other threads, because a real search would run there, too.
   */
  async practise(
    namespace: Namespace,
    plans: ReadonlyArray<SearchPlan>
  ): Promise<ReadonlyArray<Result<SearchAnswer> | undefined>> {
    const answers: Array<Result<SearchAnswer> | undefined> = []
    for (const plan of plans) {
      const { answer, isRun } = await answering<Practised>(
        () => NOT_RUN,
        () => this.whenOpen(namespace, [plan.collection], () => this.practised(namespace, plan))
      )
      answers.push(answer)
      await pause()
      if (isRun) await this.threads?.practise(namespace, { kind: "search", plans: [plan] })
    }
    return answers
  }
  rankedNames(namespace: Namespace, name: string): ReadonlyArray<string> {
    return indexedNames((this.entryOf(namespace, name)?.reader?.views ?? []).map(({ segment }) => segment))
  }
  private practised(namespace: Namespace, plan: SearchPlan): Awaitable<Practised> {
    const reader = this.entryOf(namespace, plan.collection)?.reader,
      units = plan.text?.relevance?.units ?? []
    if (this.isClosed || reader === undefined || missingDocs(reader.views, units) > 0) return NOT_RUN
    return this.whenMapped(namespace, [plan], [plan.collection], () =>
      practising(() => executeSearch(this.scopeOf(namespace), plan, new Allowance(PRACTICE_MS), PRACTICE_MS))
    )
  }

  // ---- searches that take long --------------------------------------------------------------------------------------

  /**
   * A quantum on this thread, a small one if the namespace's searches currently take long; none if there is no other
   * thread.
   */
  private allowanceOf(namespace: Namespace): Allowance {
    const { threads } = this
    return threads === undefined ? new Allowance() : new Allowance(threads.quantum_ms(namespace))
  }
  get(
    namespace: Namespace,
    collection: string,
    ids: ReadonlyArray<string>,
    selection?: Selection
  ): Awaitable<Result<ReadonlyArray<Document | undefined>>> {
    return answering<Result<ReadonlyArray<Document | undefined>>>(fail, () =>
      this.whenOpen(namespace, [collection], () => {
        const reader = this.entryOf(namespace, collection)?.reader
        if (reader === undefined) return fail(notFound("Collection not found"))
        return ok(
          ids.map((id) => {
            const place = reader.locate(id)
            const text =
              place === undefined ? undefined : reader.documents.text(reader.views[place.at].segment.seqs[place.doc])
            if (text === undefined) return undefined
            const document = parseJson(text) as Document
            return selection === undefined ? document : select(document, selection)
          })
        )
      })
    )
  }
  words(namespace: Namespace, request: WordsRequest): Awaitable<Result<ReadonlyArray<WordUse>>> {
    return answering<Result<ReadonlyArray<WordUse>>>(fail, () =>
      this.whenOpen(namespace, [request.collection], () => {
        const reader = this.entryOf(namespace, request.collection)?.reader
        if (reader === undefined) return fail(notFound("Collection not found"))
        const uses = within(new Cutoff(new Allowance(), WORDS_MS), () =>
          wordUses(this.scopeOf(namespace), reader, request)
        )
        return uses === undefined
          ? fail({ kind: "Overloaded", message: "Looking words up takes too long.", retryAfterSeconds: 10 })
          : ok(uses)
      })
    )
  }
  usage(namespace: Namespace, name: string): CollectionUsage | undefined {
    const entry = this.entryOf(namespace, name)
    if (entry === undefined) return undefined
    return {
      documents: entry.documents,
      segments: entry.reader?.views.length ?? 0,
      index_bytes: entry.reader?.indexBytes ?? 0,
      document_bytes: this.reads.bytes(entry.record.key),
      open: entry.reader !== undefined,
      ...(entry.reader === undefined ? {} : vectorUsage(entry.reader, this.isApproximate ? vectorLibrary().reason : ""))
    }
  }
  damaged(): ReadonlyArray<StoredDamage> {
    return [
      ...this.unreadable,
      ...[...this.entries.values()].flatMap(({ damage, record }) =>
        damage === undefined ? [] : [{ namespace: record.namespace, collection: record.schema.name, message: damage }]
      )
    ]
  }
  health(): Result<{ readonly ok: true }> {
    return this.failure === undefined && !this.isClosed
      ? ok({ ok: true })
      : fail(this.failure === undefined ? CLOSED : { kind: "Unavailable", message: this.failure })
  }
  /**
   * Ends the writer permanently: when this resolves, nothing is acknowledged or stored any more, so another engine may
   * open the folder. Writes are answered as unavailable; searches continue over what was published.
   */
  async stopWriting(): Promise<void> {
    this.failure ??= "The engine's writer was stopped."
    await this.writer.stop()
  }
  async close(): Promise<void> {
    if (this.isClosed) return
    this.isClosed = true
    await this.writer.close()
    await this.afterClose?.()
    this.entries.clear()
  }
  /** Sets a stemming dictionary; undefined removes it. Fields that name it are analysed with it from then on. */
  async setDictionary(
    namespace: Namespace,
    name: string,
    words: ReadonlyMap<string, string> | undefined
  ): Promise<void> {
    let own = this.dictionaries.get(namespace)
    if (own === undefined) this.dictionaries.set(namespace, (own = new Map()))
    if (words === undefined) own.delete(name)
    else own.set(name, words)
    await this.writer.setDictionary(namespace, name, words)
  }

  // ---- opening and closing ------------------------------------------------------------------------------------------

  private entryOf(namespace: Namespace, name: string): Entry | undefined {
    const key = this.byName.get(namespace)?.get(name)
    return key === undefined ? undefined : this.entries.get(key)
  }
  private scopeOf(namespace: Namespace): SearchScope {
    const dictionaries: Dictionaries = (name) => this.dictionaries.get(namespace)?.get(name)
    return {
      collection: (name) => this.entryOf(namespace, name)?.reader,
      names: () => this.byName.get(namespace)?.keys() ?? [],
      dictionaries
    }
  }
  /** Number of searches of the collection, for its writer. */
  searches(key: number): number {
    return this.entries.get(key)?.searches ?? 0
  }
  private touch(entry: Entry): void {
    entry.lastUse = ++this.clock
  }

  /** Runs immediately if everything it may read is open, else after opening it. */
  private whenOpen<A>(namespace: Namespace, names: ReadonlyArray<string>, run: () => Awaitable<A>): Awaitable<A> {
    const closed: Entry[] = []
    for (const name of names) {
      const entry = this.entryOf(namespace, name)
      if (entry === undefined) continue
      this.touch(entry)
      if (entry.reader === undefined) closed.push(entry)
      // Joins also read related collections.
      for (const other of this.relatedTo(namespace, entry)) if (other.reader === undefined) closed.push(other)
    }
    if (closed.length === 0) return run()
    return (async () => {
      for (const entry of closed) await this.open(entry)
      const answer = await run()
      for (const entry of closed) this.makeRoom(entry.record.key)
      return answer
    })()
  }
  /**
   * Runs when the collection is open and what named rankings read in addition to the index is ready: the first such
   * search of a collection waits for it.
   */
  private whenAsked<A>(namespace: Namespace, plans: ReadonlyArray<SearchPlan>, run: () => Awaitable<A>): Awaitable<A> {
    const names = collectionsOf(plans)
    for (const name of names) {
      const entry = this.entryOf(namespace, name)
      if (entry !== undefined) entry.searches++
    }
    if (!plans.some(({ text }) => text?.relevance !== undefined)) return this.whenOpen(namespace, names, run)
    const prepared = this.whenOpen(namespace, names, () => this.askForUnits(namespace, plans))
    if (prepared === undefined) return run()
    return (async () => {
      await prepared
      const answer = await this.whenOpen(namespace, names, run)
      for (const name of names) {
        const entry = this.entryOf(namespace, name)
        if (entry !== undefined) this.makeRoom(entry.record.key)
      }
      return answer
    })()
  }
  /** The same for a search on this thread, whose facets are numbered separately. */
  private whenIndexed<A>(
    namespace: Namespace,
    plans: ReadonlyArray<SearchPlan>,
    run: () => Awaitable<A>
  ): Awaitable<A> {
    return this.whenAsked(namespace, plans, () => this.whenMapped(namespace, plans, collectionsOf(plans), run))
  }
  /** Requests from the writer what relevance searches read; undefined if there is nothing to wait for. */
  private askForUnits(namespace: Namespace, plans: ReadonlyArray<SearchPlan>): Promise<void> | undefined {
    if (this.failure !== undefined || this.isClosed) return undefined
    const waits: Promise<void>[] = []
    for (const asked of askedOf(plans, (name) => this.entryOf(namespace, name)?.reader)) {
      const { key } = this.entryOf(namespace, asked.collection)!.record
      const made = this.writer.makeUnits(key, asked.units).catch((error: unknown) => {
        if (this.isClosed) throw new NotOpened(CLOSED)
        // The search then reads the documents itself, as far as its time allows.
        warn(`a relevance index of collection ${key} was not made`, error)
      })
      if (asked.waits) waits.push(made)
      else made.catch(() => {})
    }
    return waits.length === 0
      ? undefined
      : Promise.all(waits).then(() => {
          if (this.isClosed) throw new NotOpened(CLOSED)
        })
  }
  /**
   * Runs when the collection is open and the values of its facets have numbers: the first request for a facet with many
   * values waits, others do not.
   */
  private whenMapped<A>(
    namespace: Namespace,
    plans: ReadonlyArray<SearchPlan>,
    names: ReadonlyArray<string>,
    run: () => Awaitable<A>
  ): Awaitable<A> {
    if (!plans.some(({ facets }) => facets.length > 0)) return this.whenOpen(namespace, names, run)
    const ready = this.whenOpen(namespace, names, () => {
      const waits: Promise<boolean>[] = []
      for (const { collection, facets } of plans) {
        const entry = facets.length === 0 ? undefined : this.entryOf(namespace, collection),
          reader = entry?.reader
        const work = reader === undefined ? undefined : facetsToPrepare(reader, facets)
        if (entry !== undefined && reader !== undefined && work !== undefined)
          waits.push(this.between(entry, reader, work))
      }
      return waits.length === 0 ? undefined : Promise.all(waits)
    })
    if (ready === undefined) return run()
    return (async () => {
      await ready
      return this.whenOpen(namespace, names, run)
    })()
  }
  private relatedTo(namespace: Namespace, entry: Entry): Entry[] {
    const names = this.byName.get(namespace)
    if (names === undefined || names.size < 2) return []
    const own = entry.record.schema
    const hasReference = (schema: CollectionSchema): boolean => schema.fields.some(({ reference }) => reference !== "")
    return [...names.values()].flatMap((key) => {
      const other = this.entries.get(key)!
      return other !== entry &&
        (hasReference(own) || hasReference(other.record.schema)) &&
        relationOf(own, other.record.schema) !== undefined
        ? [other]
        : []
    })
  }
  private open(entry: Entry): Promise<void> {
    return (entry.opening ??= this.writer
      .open(entry.record.key)
      .then(
        () => {
          entry.damage = undefined
        },
        (error: unknown) => {
          const name = error instanceof Error ? error.name : ""
          if (this.failure !== undefined || this.isClosed || name === "EngineClosed")
            throw new NotOpened({ kind: "Unavailable", message: this.failure ?? "The engine is closed." })
          if (!(error instanceof Error) || name !== "CollectionDamaged") throw error
          throw new NotOpened({ kind: "Damaged", message: (entry.damage = error.message) })
        }
      )
      .finally(() => {
        entry.opening = undefined
      }))
  }
  /** Closes the least recently used collections until the open ones fit the budget. The one just used stays open. */
  private makeRoom(keep: number): void {
    let total = 0
    for (const { reader } of this.entries.values()) total += reader?.indexBytes ?? 0
    if (total <= this.budget_bytes) return
    const candidates = [...this.entries.values()]
      .filter(({ pins, reader, record }) => reader !== undefined && pins === 0 && record.key !== keep)
      .sort((a, b) => a.lastUse - b.lastUse)
    for (const entry of candidates) {
      if (total <= this.budget_bytes) return
      total -= entry.reader!.indexBytes
      entry.reader = undefined
      entry.isClosing = true
      this.writer.release(entry.record.key).catch((error: unknown) => {
        this.failure = error instanceof Error ? error.message : String(error)
      })
    }
  }
}

const infoOf = (entry: Entry): CollectionInfo => ({
  schema: entry.record.schema,
  num_documents: entry.documents,
  created_at: entry.record.createdAt_s
})
