/**
 * What every engine-plane operation takes and answers. An operation authenticates nobody and renders no error: it
 * answers a status with a body, or a failure whose message is for the caller.
 */
import type { MerchandiseEnvironment } from "../pipeline/mod.ts"
import type { Parameters } from "../query/parameters.ts"
import type { CompiledRules, RerankSettings, RuleRequest } from "../rules/mod.ts"
import { parseBounded } from "../documents/json.ts"
import type { Namespace, SearchEngine } from "../engine.ts"
import type { KeepLimits } from "../keep-limits.ts"
import { fail, invalid, notFound, ok, type EngineError, type Result } from "../errors.ts"
import type { Trace } from "../pipeline/trace.ts"
import type { FacetCount, Filter, Hit } from "../plan.ts"
import type { FieldList } from "../query/field-list.ts"
import type { QueryLimits } from "../query/query-context.ts"
import type { FieldOptions } from "../schema/field-attributes.ts"
import type { CollectionInfo, Field } from "../schema.ts"
import type { AnswerBudget } from "../search/answer-budget.ts"
import type { Resources } from "./resources.ts"

export interface OperationContext {
  readonly engine: SearchEngine
  readonly resources: Resources
  readonly namespace: Namespace
  /** Unix seconds of this request. */ readonly now_s: number
  readonly limits?: Partial<QueryLimits> & { readonly multi_searches_max?: number }
  /** Of the request, where that makes several answers; otherwise each search has what the limits say. */
  readonly budget?: AnswerBudget
  /** What the namespace may keep; refused with CapReached. Default: no limit. */ readonly keeps?: KeepLimits
  /** Dimensions of embedding models, for `embed` fields. */ readonly modelDimensions?: FieldOptions["modelDimensions"]
  /** Rules and stages around the engine; without it every answer is the engine's own. */
  readonly merchandising?: Merchandising
  /** Called once per answered search; what it answers is added to the envelope. */ readonly annotate?: (
    search: AnsweredSearch
  ) => { readonly [key: string]: unknown } | undefined
  /** Called for every hit before it is written; may add keys to it. */ readonly onHit?: (hit: Hit) => void
  /** Embeds query texts for a field; without it such searches are refused. */
  readonly embedQuery?: (
    collection: CollectionInfo,
    field: Field,
    texts: ReadonlyArray<string>,
    weights: ReadonlyArray<number>
  ) => Promise<Result<ReadonlyArray<number>>>
}
/** What a host has for one search. */
export interface SearchMerchandise {
  readonly rules: CompiledRules | undefined
  /** Asked by the request, where no active rule asks for a rerank. */ readonly rerank?: RerankSettings
  /** Who searches, when. */ readonly request: Omit<RuleRequest, "q" | "filter_by">
  /** Collects moves and score parts for the trace. */ readonly explain: boolean
}
export interface Merchandising {
  /** undefined: the engine's answer passes unchanged. Asked once per search, with the parameters merged. */
  readonly of: (collection: CollectionInfo, parameters: Parameters) => SearchMerchandise | undefined
  readonly environment: Pick<MerchandiseEnvironment, "now_us" | "reranker" | "popular" | "signal">
}
/** A search that was answered, for hosts that add to the envelope or keep account of it. */
export interface AnsweredSearch {
  readonly collection: CollectionInfo
  /** Merged: request, scoped key, preset. */ readonly parameters: { readonly [name: string]: string }
  readonly found: number
  /** False where a rule answered with a redirect: no search was made. */ readonly asked: boolean
  /** As the request asked for them; none in a union. */ readonly facet_counts: ReadonlyArray<FacetCount>
  /** Where rules or stages had a say: what they did. */ readonly trace?: Trace
}
/** `text` is JSON ready to send; otherwise `body` is to be written as JSON (bigints as digits, see `stringifyJson`). */
export interface Answer {
  readonly status: number
  readonly body?: unknown
  readonly text?: string
  /** Of several searches that have an answer each: their texts, of which `text` is made (`resultsText`). */
  readonly entries?: ReadonlyArray<string>
  /** Searches in an answer of 200 that failed; of a union the one failure that stands for all of it. */
  readonly failures?: ReadonlyArray<EngineError>
}
/** A streamed answer: JSON Lines in chunks of any size, joined as they come. */
export interface StreamAnswer {
  readonly status: number
  readonly lines: AsyncIterable<string>
}
export type Answered = Result<Answer>
export type QueryParameters = { readonly [name: string]: string }

/** What a caller may see and must obey: embedded parameters of a scoped key, forced filters, closed collections. */
export interface Caller {
  /** Embedded parameters; they overwrite, `filter_by` is AND-ed (engine-contract 18.3). */ readonly embedded?: {
    readonly [name: string]: unknown
  }
  /** AND-ed to every search of the collection as a tree, pinned documents included. */ readonly forcedFilter?: (
    collection: CollectionInfo
  ) => Result<Filter | undefined>
  /** Hears of a search that is refused because `forcedFilter` failed, where nothing else was wrong with it. */
  readonly onUnfiltered?: () => void
  /** False hides a collection from joins. Default: all may be joined. */ readonly mayJoin?: (
    collection: string
  ) => boolean
  /** False refuses an entry of a search with the failure. */ readonly refusalOf?: (
    collection: string
  ) => EngineError | undefined
  /** What may be named and seen, of every collection (`query/field-list.ts`). Default: everything. */
  readonly fields?: FieldList
  /** Refuses a search over a collection that is there, by its merged parameters. */ readonly refusalOfSearch?: (
    parameters: QueryParameters
  ) => EngineError | undefined
}

export const answer = (status: number, body: unknown): Answered => ok({ status, body })
export const COLLECTION_NOT_FOUND = notFound("Collection not found")
/** A collection by its name, else by an alias. */
export const resolveCollection = (
  context: Pick<OperationContext, "engine" | "namespace" | "resources">,
  name: string
): CollectionInfo | undefined => {
  const direct = context.engine.describeCollection(context.namespace, name)
  if (direct !== undefined) return direct
  const alias = context.resources.get(context.namespace, "alias", name)
  return alias === undefined ? undefined : context.engine.describeCollection(context.namespace, alias.collection_name)
}
/** A collection that the caller may join, asked by the name that was written and by its own. */
export const joinable = (context: OperationContext, caller: Caller, name: string): CollectionInfo | undefined => {
  if (caller.mayJoin?.(name) === false) return undefined
  const collection = resolveCollection(context, name)
  return collection === undefined || caller.mayJoin?.(collection.schema.name) === false ? undefined : collection
}
export const withCollection = async <A>(
  context: OperationContext,
  name: string,
  run: (collection: CollectionInfo) => Promise<Result<A>> | Result<A>
): Promise<Result<A>> => {
  const collection = resolveCollection(context, name)
  return collection === undefined ? fail(COLLECTION_NOT_FOUND) : run(collection)
}
/** A body that its host has parsed already, or failed to; so that one is parsed once, however many look at it. */
export class ParsedBody {
  readonly result: Result<unknown>
  constructor(result: Result<unknown>) {
    this.result = result
  }
}
/** A body's text, or what was made of it. */
export type Body = string | ParsedBody
/** A JSON body; Invalid `Bad JSON.` otherwise. */
export const parseBody = (body: Body): Result<unknown> => {
  if (typeof body !== "string") return body.result
  const parsed = parseBounded(body)
  return typeof parsed === "object" ? ok(parsed.value) : fail(invalid("Bad JSON."))
}
export const BAD_REQUEST = "Bad request."
/** `limit` and `offset` of a list; offset at or past the end is refused unless the list is empty and offset 0. */
export const pageOf = <A>(items: ReadonlyArray<A>, parameters: QueryParameters): Result<ReadonlyArray<A>> => {
  const unsigned = (text: string | undefined): number | undefined =>
    text === undefined ? 0 : /^\d{1,10}$/.test(text) ? Number(text) : undefined
  const offset = unsigned(parameters.offset)
  if (offset === undefined) return fail(invalid("Offset param should be unsigned integer.", "offset"))
  const limit = unsigned(parameters.limit)
  if (limit === undefined) return fail(invalid("Limit param should be unsigned integer.", "limit"))
  if (offset > 0 && offset >= items.length) return fail(invalid("Invalid offset param.", "offset"))
  return ok(items.slice(offset, limit === 0 ? undefined : offset + limit))
}
