/**
 * The threads that search for the main thread: workers for quick searches (`lane/search-pool.ts`), if any, and the lane
 * for long ones (`lane/search-lane.ts`). This file decides for both where a search runs and how long it may take there,
 * and keeps its collections open in the meantime.
 */
import type { Namespace, SearchBudget } from "../engine.ts"
import type { Result } from "../errors.ts"
import type { CollectionReader, EarlyTexts } from "../index/reader.ts"
import { type LaneDone, type LaneJob, plansOf } from "../lane/job.ts"
import type { Work } from "../lane/messages.ts"
import {
  Costs,
  isWorthSending,
  NO_WORKERS,
  TimeHere,
  workersOf,
  type SearchWorkers,
  type WorkersNow
} from "../lane/placing.ts"
import { PlanBases } from "../lane/plan-outline.ts"
import { SearchLane } from "../lane/search-lane.ts"
import { type Elsewhere, type QuickJob, SearchPool } from "../lane/search-pool.ts"
import { SharedViews } from "../lane/shared-views.ts"
import type { SearchPlan } from "../plan.ts"

/**
 * Quantum of a search outside the lane; the second one is for a namespace whose recent search took longer. A typical
 * search takes a hundredth of it.
 */
const QUANTUM_MS = 15,
  QUANTUM_AGAIN_MS = 3,
  SLOW_MS = 30_000
const SLOW_MAX = 10_000
/** Duration of one preparation task. */
const PREPARING_MS = 4
/** Time limit of a warm-up search. A search that arrives in the meantime waits for it. */
const PRACTICE_MS = 250
/** From this many documents in one collection, long searches are to be expected. */
const LONG_DOCS_MIN = 1_000

/** A searched collection in the form that the engine has. */
interface Searched {
  readonly record: { readonly key: number }
  readonly reader: CollectionReader | undefined
  readonly documents: number
  /** Number of searches on other threads that read it. */ pins: number
}
interface Index {
  readonly entryOf: (namespace: Namespace, name: string) => Searched | undefined
  /** The name of a collection by its number; undefined once it is gone. */
  readonly nameOf: (key: number) => { readonly namespace: Namespace; readonly name: string } | undefined
  readonly earlyOf: (key: number) => EarlyTexts["texts"]
  readonly dictionariesOf: (namespace: Namespace) => ReadonlyMap<string, ReadonlyMap<string, string>> | undefined
}
const planWithoutBudget = ({ budget: _budget, ...plan }: SearchPlan): SearchPlan => plan
/** The request's memory budget object stays on its thread. */
const withoutBudget = (work: Work): Work =>
  work.kind === "search"
    ? { ...work, plans: work.plans.map(planWithoutBudget) }
    : work.kind === "union"
      ? { ...work, plan: { ...work.plan, plans: work.plan.plans.map(planWithoutBudget) } }
      : work
/** Hits that are built lazily must be built on the thread that has their data. */
const canTravel = ({ isLong, window }: SearchPlan): boolean => isLong !== true && window === undefined

export class OtherThreads {
  private readonly lane: SearchLane
  private readonly pool: SearchPool | undefined
  private readonly workers: Required<SearchWorkers>
  private readonly costs = new Costs()
  private readonly bases = new PlanBases()
  private readonly here: TimeHere
  private index: Index | undefined
  /** Namespaces with a search that recently used up its quantum, and when. */ private readonly slow = new Map<
    Namespace,
    number
  >()
  constructor(path: string, workers: SearchWorkers) {
    this.workers = workersOf(workers)
    this.here = new TimeHere(this.workers.here_share)
    this.lane = new SearchLane(path)
    this.pool = workers.count === 0 ? undefined : new SearchPool(path, workers.count, (key) => this.preparing(key))
  }
  attach(index: Index): void {
    this.index = index
  }
  /** Each thread takes some 20 MB, so an engine with few documents starts none before a search needs one. */
  expect(documents: number): void {
    if (documents >= LONG_DOCS_MIN) this.lane.expect()
    if (documents >= this.workers.documents_min) this.pool?.expect()
  }
  /** Workers that are up, and the number of searches sent to them. */
  get workersNow(): WorkersNow {
    return this.pool?.now ?? NO_WORKERS
  }
  quantum_ms(namespace: Namespace): number {
    if (this.slow.size === 0) return QUANTUM_MS
    const since = this.slow.get(namespace)
    if (since === undefined) return QUANTUM_MS
    if (performance.now() - since < SLOW_MS) return QUANTUM_AGAIN_MS
    this.slow.delete(namespace)
    return QUANTUM_MS
  }
  /** Records that the searches of one call ran here, and how long they took. */
  ranHere(namespace: Namespace, plans: ReadonlyArray<SearchPlan>, used_ms: number): void {
    if (this.pool === undefined) return
    this.here.took(used_ms, performance.now())
    this.note(namespace, plans, used_ms)
  }
  private note(namespace: Namespace, plans: ReadonlyArray<SearchPlan>, used_ms: number): void {
    for (const { collection } of plans) {
      const entry = this.index?.entryOf(namespace, collection)
      if (entry !== undefined) this.costs.note(entry.record.key, used_ms / plans.length)
    }
  }
  /** Whether workers should run the searches: there is one, sending costs less, and there is no time here. */
  takesQuick(namespace: Namespace, plans: ReadonlyArray<SearchPlan>, budget: SearchBudget): boolean {
    if (this.pool === undefined || budget.isSlow === true || !this.pool.isReady || !plans.every(canTravel)) return false
    let isWorth = false,
      expected_ms = 0
    for (const { collection } of plans) {
      const entry = this.index?.entryOf(namespace, collection)
      // A missing collection is reported by this thread.
      if (entry === undefined) return false
      const own_ms = this.costs.expected_ms(entry.record.key)
      expected_ms += own_ms
      isWorth ||= isWorthSending(this.workers, entry.documents, own_ms)
    }
    return isWorth && !this.here.hasRoom(expected_ms, performance.now())
  }
  /** Requires that the collections of `work` are open. The memory it used counts against the budget. */
  async quick(namespace: Namespace, work: Work, budget: SearchBudget): Promise<Result<LaneDone> | Elsewhere> {
    const plans = plansOf(work)
    let expected_ms = 0
    for (const { collection } of plans) {
      const entry = this.index?.entryOf(namespace, collection)
      if (entry !== undefined) expected_ms += this.costs.expected_ms(entry.record.key)
    }
    const laned = await this.pinned(namespace, work, budget, (job) =>
      this.pool!.run({
        ...job,
        quantum_ms: this.quantum_ms(namespace),
        expected_ms,
        weight: budget.weight ?? 1
      })
    )
    if (typeof laned === "string") return laned
    if (!laned.ok) return laned
    const { used_ms } = laned.value
    budget.used_ms += used_ms
    this.note(namespace, plans, used_ms)
    return laned
  }
  /**
   * Runs in the lane, with all the time that is left. `isSlow`: whether the search was observed to take long; if it is
   * here only because its worker ended, its namespace must not get less time.
   */
  async long(namespace: Namespace, work: Work, budget: SearchBudget, isSlow = true): Promise<Result<LaneDone>> {
    if (isSlow) {
      if (this.slow.size >= SLOW_MAX) this.slow.clear()
      this.slow.set(namespace, performance.now())
      budget.isSlow = true
    }
    const laned = await this.pinned(namespace, work, budget, (job) => this.lane.run(job))
    if (laned.ok) budget.used_ms += laned.value.used_ms
    return laned
  }
  /** Runs a warm-up search on every thread that is up and idle. */
  async practise(namespace: Namespace, work: Work): Promise<void> {
    await this.pinned(namespace, work, { limit_ms: PRACTICE_MS, used_ms: 0 }, async (job) => {
      const quick = { ...job, quantum_ms: Infinity, expected_ms: PREPARING_MS, weight: 1 }
      await Promise.all([this.lane.practise(job), this.pool?.practise(quick)])
    })
  }
  /**
   * Called when the collection was closed or dropped: the other threads' next message drops what they derived from it.
   */
  forget(key: number): void {
    this.lane.forget(key)
    this.pool?.forget(key)
  }
  /** Lets workers prepare what they would otherwise derive on first use of a collection that changed, or was opened. */
  prepare(key: number, documents: number): void {
    if (documents >= this.workers.documents_min) this.pool?.prepareEverywhere(key)
  }
  private sharedFor(namespace: Namespace, work: Work, names: ReadonlySet<string>): SharedViews {
    const { dictionariesOf, earlyOf, entryOf } = this.index!
    const dictionaries = dictionariesOf(namespace)
    return new SharedViews(namespace, work, names, (name) => entryOf(namespace, name), earlyOf, dictionaries)
  }
  /** The job with which a worker prepares a collection. */
  private preparing(key: number): QuickJob | undefined {
    const place = this.index?.nameOf(key)
    // A closed collection is prepared when it is open again; other preparations must not wait for it.
    if (place === undefined || this.index?.entryOf(place.namespace, place.name)?.reader === undefined) return undefined
    const work: Work = { kind: "prepare", collection: place.name }
    const outline = this.bases.outline(work),
      shared = this.sharedFor(place.namespace, work, outline.names)
    return {
      namespace: place.namespace,
      work,
      outline,
      quantum_ms: Infinity,
      expected_ms: PREPARING_MS,
      weight: 1,
      answer: undefined,
      left_ms: () => PREPARING_MS,
      isGivenUp: () => false,
      shared: (...known) => shared.forThread(...known)
    }
  }
  private async pinned<A>(
    namespace: Namespace,
    work: Work,
    budget: SearchBudget,
    run: (job: LaneJob) => Promise<A>
  ): Promise<A> {
    const unbudgeted = withoutBudget(work),
      outline = this.bases.outline(unbudgeted),
      shared = this.sharedFor(namespace, work, outline.names)
    const entries = [...outline.names].flatMap((name) => this.index!.entryOf(namespace, name) ?? [])
    for (const entry of entries) entry.pins++
    try {
      return await run({
        namespace,
        work: unbudgeted,
        outline,
        answer: plansOf(work)[0]?.budget,
        left_ms: () => budget.limit_ms - budget.used_ms,
        isGivenUp: () => budget.isGivenUp?.() === true,
        shared: (...known) => shared.forThread(...known)
      })
    } finally {
      for (const entry of entries) entry.pins--
    }
  }
  /** Resolves when none of the threads still reads what was being searched at this call; undefined = none does. */
  unread(): Promise<void> | undefined {
    const waits = [this.lane.unread(), this.pool?.unread()].filter((wait) => wait !== undefined)
    return waits.length === 0 ? undefined : Promise.all(waits).then(() => undefined)
  }
  async close(): Promise<void> {
    await Promise.all([this.lane.close(), this.pool?.close()])
  }
}
