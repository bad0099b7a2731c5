/**
 * What goes into and comes out of a merchandised search. `merchandise.ts` composes it: match the rules, answer a
 * redirect before the engine, change the plan, one engine call (a second at most for a zero-hits fallback), rerank,
 * diversity, sponsored, pins, page, banners and suggestions, each usable alone as well.
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
  /** Fields that the caller may see: values of others are not suggested. */ readonly fields?: FieldList
  /** undefined: the engine's answer passes unchanged. */ readonly rules: CompiledRules | undefined
  readonly request: RuleRequest
  /** The request's own setting; undefined when absent. Only `false` exempts rule pins from the caller's filter. */
  readonly filterCuratedHits?: boolean
  /** Asked by the request: acts where no rule that is active asks for a rerank. */ readonly rerank?: RerankSettings
  /** A tenant's own stages: run after rerank, before diversity. */ readonly stages?: ReadonlyArray<Stage>
  /** Whom a model recommends to where a search found nothing; without it, nobody in particular. */
  readonly visitor?: SearchVisitor
}
export interface SearchVisitor {
  readonly session?: string
  readonly person?: string
}
/** The question to a recommendation model for a search that found nothing. */
export interface RecommendedAsked {
  readonly collection: string
  /** Its id, as the rules name it. */ readonly model: string
  readonly visitor: SearchVisitor
  readonly limit: number
}
/** For a search by meaning after one that found nothing: where to search. */
export interface MeaningAsked {
  readonly collection: string
  readonly q: string
  /** Fields that the caller may see: nearness reveals something of the fields that vectors are made of. */
  readonly fields?: FieldList
}
export interface MerchandiseEnvironment {
  readonly engine: Pick<SearchEngine, "search" | "union" | "describeCollection" | "capabilities">
  readonly namespace: Namespace
  /** Microseconds, monotonic. */ readonly now_us: () => number
  /**
   * A model by its name in the rules; undefined for an unknown one (then the engine's order stays, or the search fails
   * where the rules say `error`). `none` and `linear` are always there.
   */
  readonly reranker?: (model: string, collection: string) => Reranker | undefined
  /**
   * Ids of the most popular documents, best first, for the zero-hits fallback; without it the default sorting field
   * decides.
   */
  readonly popular?: (collection: string, limit: number) => Awaitable<ReadonlyArray<string>>
  /**
   * Ids that a model recommends, best first, for the zero-hits fallback; none where it is away, and then the popular
   * ones are shown. Soon or not at all: a search waits for it.
   */
  readonly recommended?: (asked: RecommendedAsked) => Awaitable<ReadonlyArray<string>>
  /**
   * The vector of what a query means, for the zero-hits fallback; undefined where there is none to ask, or it does not
   * come soon.
   */
  readonly meaning?: (asked: MeaningAsked) => Awaitable<VectorQuery | undefined>
  readonly signal?: AbortSignal
  /** Set by `recordRun` and `replayRun`. */ readonly tape?: Tape
  /** Moves and score parts are collected only where this is true; rules fired and times always. */
  readonly explain?: boolean
}
/** What the envelope carries besides the engine's answer. Absent where no rule says anything. */
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
  /** False for a redirect: it uses no search unit. */ readonly asked: boolean
}
/**
 * One answer or one failure per search, in order; one engine call for all that reach the engine. Synchronous when the
 * engine and every stage are, and none takes long.
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
 * One ranked list over several searches. The rules of each collection act on its own plan; what they inject, their
 * banners and suggestions come together, the first search's first; rerank and diversity act on the merged list by the
 * first search's rules that have any. The first redirect that fires answers for all.
 */
export type MerchandiseUnion = (
  environment: MerchandiseEnvironment,
  searches: ReadonlyArray<MerchandisedSearch>,
  page: UnionPage
) => Awaitable<Result<Merchandised<UnionAnswer>, EngineError>>
