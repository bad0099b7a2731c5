/**
 * Input and output of a merchandised search. `merchandise.ts` composes it: match the rules, answer a redirect without
 * the engine, change the plan, one engine call (at most a second one for a zero-hits fallback), rerank, diversity,
 * sponsored, pins, page, banners and suggestions. Each step can also be used alone.
 */
import type { Awaitable, Namespace, SearchEngine } from "../engine.ts"
import type { EngineError, Result } from "../errors.ts"
import type { SearchAnswer, SearchPlan, UnionAnswer, VectorQuery } from "../plan.ts"
import type { FieldList } from "../query/field-list.ts"
import type { Reranker } from "../rerank/reranker.ts"
import type { RerankSettings } from "../rules/rule-set.ts"
import type { CompiledRules } from "../rules/compile-rules.ts"
import type { RuleRequest } from "../rules/matched-rules.ts"
import type { Stage } from "../stage/stage.ts"
import type { Tape } from "./tape.ts"
import type { Trace } from "./trace.ts"

/** One search: its compiled plan and the rules of its collection. */
export interface MerchandisedSearch {
  readonly plan: SearchPlan
  /** Fields that the caller may see; values of other fields are not suggested. */ readonly fields?: FieldList
  /** undefined: the engine's answer is returned unchanged. */ readonly rules: CompiledRules | undefined
  readonly request: RuleRequest
  /** The request's own setting; undefined if absent. Only `false` exempts pins of rules from the caller's filter. */
  readonly filterCuratedHits?: boolean
  /** Requested by the caller; applies if no active rule requests a rerank. */ readonly rerank?: RerankSettings
  /** A tenant's own stages, which run after rerank and before diversity. */ readonly stages?: ReadonlyArray<Stage>
  /** The visitor for whom a model recommends documents if a search finds nothing; absent: an anonymous one. */
  readonly visitor?: SearchVisitor
}
export interface SearchVisitor {
  readonly session?: string
  readonly person?: string
}
/** A request to a recommendation model for a search that found nothing. */
export interface RecommendedAsked {
  readonly collection: string
  /** The model's id, as rules name it. */ readonly model: string
  readonly visitor: SearchVisitor
  readonly limit: number
}
/** What to search by meaning after a search that found nothing. */
export interface MeaningAsked {
  readonly collection: string
  readonly q: string
  /** Fields that the caller may see, because nearness reveals something of the fields from which vectors are made. */
  readonly fields?: FieldList
}
export interface MerchandiseEnvironment {
  readonly engine: Pick<SearchEngine, "search" | "union" | "describeCollection" | "capabilities">
  readonly namespace: Namespace
  /** Microseconds, monotonic. */ readonly now_us: () => number
  /**
   * A model by its name in the rules; undefined for an unknown one (the engine's order is then kept, or the search
   * fails if the rules say `error`). `none` and `linear` always exist.
   */
  readonly reranker?: (model: string, collection: string) => Reranker | undefined
  /**
   * Ids of the most popular documents, best first, for the zero-hits fallback; without it the default sorting field
   * decides.
   */
  readonly popular?: (collection: string, limit: number) => Awaitable<ReadonlyArray<string>>
  /**
   * Ids that a model recommends, best first, for the zero-hits fallback; empty if the model is unavailable, in which
   * case popular documents are shown. It must answer soon or return nothing, because a search waits for it.
   */
  readonly recommended?: (asked: RecommendedAsked) => Awaitable<ReadonlyArray<string>>
  /**
   * The vector of a query's meaning, for the zero-hits fallback; undefined if there is no model, or it does not answer
   * soon.
   */
  readonly meaning?: (asked: MeaningAsked) => Awaitable<VectorQuery | undefined>
  readonly signal?: AbortSignal
  /** Set by `recordRun` and `replayRun`. */ readonly tape?: Tape
  /** Collect moves and score parts; rules that fired and times are always collected. */
  readonly explain?: boolean
}
/** What the envelope contains in addition to the engine's answer. Members are absent if no rule sets them. */
export interface SearchExtras {
  readonly redirect?: { readonly url: string }
  readonly banners?: ReadonlyArray<{ readonly id: string; readonly content: Readonly<Record<string, unknown>> }>
  readonly suggestions?: ReadonlyArray<string>
  readonly facet_suggestions?: ReadonlyArray<{
    readonly field: string
    readonly values: ReadonlyArray<{ readonly value: string; readonly count: number }>
  }>
}
export interface Merchandised<Answer = SearchAnswer> {
  readonly answer: Answer
  readonly extras: SearchExtras
  readonly trace: Trace
  /** False for a redirect, which uses no search unit. */ readonly asked: boolean
}
/**
 * Returns one answer or one failure per search, in order, with one engine call for all that reach the engine.
 * Synchronous if the engine and every stage are, and none takes long.
 */
export type Merchandise = (
  environment: MerchandiseEnvironment,
  searches: ReadonlyArray<MerchandisedSearch>
) => Awaitable<ReadonlyArray<Result<Merchandised>>>
/** Paging of a union, as `compileUnion` takes it. */
export interface UnionPage {
  readonly removeDuplicates: boolean
  readonly offset: number
  readonly limit: number
  readonly hits_max: number
  readonly page?: number
  readonly echoOffset?: number
}
/**
 * One ranked list over several searches. The rules of each collection act on its own plan; their injections, banners
 * and suggestions are combined, those of the first search first; rerank and diversity act on the merged list by the
 * rules of the first search that has any. The first redirect that fires answers for all.
 */
export type MerchandiseUnion = (
  environment: MerchandiseEnvironment,
  searches: ReadonlyArray<MerchandisedSearch>,
  page: UnionPage
) => Awaitable<Result<Merchandised<UnionAnswer>, EngineError>>
