/**
 * Input and output of every engine-plane operation. An operation authenticates no caller and renders no errors: it
 * returns a status with a body, or a failure with a message for the caller.
 */
import { holdsTooLarge, parseBounded, TOO_LARGE_TEXT } from "../documents/json.ts"
import type { Namespace, SearchEngine } from "../engine.ts"
import type { KeepLimits } from "../keep-limits.ts"
import { fail, invalid, notFound, ok, type EngineError, type Result } from "../errors.ts"
import type { QueryLimits } from "../query/query-context.ts"
import type { Embedder } from "../embedding/embedder.ts"
import type { CollectionInfo } from "../schema.ts"
import type { AnswerBudget } from "../budget/answer-budget.ts"
import type { Resources } from "./resources.ts"

export interface OperationContext {
  readonly engine: SearchEngine
  readonly resources: Resources
  readonly namespace: Namespace
  /** Unix seconds at the time of this request. */ readonly now_s: number
  readonly limits?: Partial<QueryLimits> & { readonly multi_searches_max?: number }
  /** Shared by the request's answers if there are several; otherwise each search has its own, set by the limits. */
  readonly budget?: AnswerBudget
  /** What the namespace may store, else CapReached. Default: no limit. */ readonly keeps?: KeepLimits
  /** Embeds texts; without it, fields may not have `embed`. */ readonly embedder?: Embedder | undefined
}
/** `text` is JSON ready to send; otherwise `body` must be serialized (bigints as digits, see `stringifyJson`). */
export interface Answer {
  readonly status: number
  readonly body?: unknown
  readonly text?: string
  /** Failed searches within an answer of 200; for a union, the one failure that stands for all of it. */
  readonly failures?: ReadonlyArray<EngineError>
}
/** A streamed answer: JSON Lines in chunks of any size, to be concatenated. */
export interface StreamAnswer {
  readonly status: number
  readonly lines: AsyncIterable<string>
}
export type OperationResult = Result<Answer>
export type QueryParameters = { readonly [name: string]: string }

export const answer = (status: number, body: unknown): OperationResult => ok({ status, body })
export const COLLECTION_NOT_FOUND = notFound("Collection not found")
/** Finds a collection by its name, else by an alias. */
export const resolveCollection = (
  context: Pick<OperationContext, "engine" | "namespace" | "resources">,
  name: string
): CollectionInfo | undefined => {
  const direct = context.engine.describeCollection(context.namespace, name)
  if (direct !== undefined) return direct
  const alias = context.resources.get(context.namespace, "alias", name)
  return alias === undefined ? undefined : context.engine.describeCollection(context.namespace, alias.collection_name)
}
export const withCollection = async <A>(
  context: OperationContext,
  name: string,
  run: (collection: CollectionInfo) => Promise<Result<A>> | Result<A>
): Promise<Result<A>> => {
  const collection = resolveCollection(context, name)
  return collection === undefined ? fail(COLLECTION_NOT_FOUND) : run(collection)
}
/** A body that its host has parsed, or failed to parse, so that it is parsed only once for any number of readers. */
export class ParsedBody {
  readonly result: Result<unknown>
  constructor(result: Result<unknown>) {
    this.result = result
  }
}
/** A body's text, or its parsed value. */
export type Body = string | ParsedBody
/** Parses a JSON body; Invalid `Bad JSON.` if that fails. */
export const parseBody = (body: Body): Result<unknown> => {
  if (typeof body !== "string") return body.result
  const parsed = parseBounded(body)
  if (typeof parsed !== "object") return fail(invalid("Bad JSON."))
  return holdsTooLarge(body, parsed.value) ? fail(invalid(TOO_LARGE_TEXT)) : ok(parsed.value)
}
export const BAD_REQUEST = "Bad request."
/** Applies `limit` and `offset`; an offset at or past the end is refused, except 0 of an empty list. */
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
