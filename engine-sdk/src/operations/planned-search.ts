/** What `prepare` returns and `run` takes: a plan with everything known about it. */
import type { SearchPlan } from "../plan.ts"
import type { SearchVisitor } from "../pipeline/mod.ts"
import type { UnionPaging } from "../query/compile-union.ts"
import type { FieldList } from "../query/field-list.ts"
import type { Parameters } from "../query/parameters.ts"
import type { CompiledRules, RerankSettings, RuleRequest } from "../rules/mod.ts"
import type { CollectionInfo } from "../schema.ts"
import type { Stage } from "../stage/stage.ts"

/** A host's rules and stages for one search. */
export interface SearchMerchandise {
  readonly rules: CompiledRules | undefined
  /** Requested by the caller; used unless an active rule requests a rerank. */
  readonly rerank?: RerankSettings
  /** The host's own stages, which run after a rerank and before diversity. */
  readonly stages?: ReadonlyArray<Stage>
  /** The visitor for whom a model recommends documents if nothing is found. */
  readonly visitor?: SearchVisitor
  /** The request's context, for rules. */
  readonly request: Omit<RuleRequest, "q" | "filter_by">
  /** Collect moves and score parts for the trace. */
  readonly explain: boolean
}
/** A search that can be run. */
export interface PlannedSearch {
  readonly plan: SearchPlan
  readonly collection: CollectionInfo
  readonly parameters: Parameters
  /** The caller's restrictions, if any. */
  readonly fields?: FieldList
  /** The host's rules and stages for the search; undefined: the engine's answer is passed on unchanged. */
  readonly merchandise?: SearchMerchandise | undefined
}
/** One ranked list over several searches. */
export interface PlannedUnion {
  readonly searches: ReadonlyArray<PlannedSearch>
  readonly paging: UnionPaging
  readonly removeDuplicates: boolean
}
