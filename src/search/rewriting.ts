/**
 * Another query instead of one that finds too little (`query_rewrite`): keys of another keyboard layout, another
 * script, words written together. Each attempt is a search of the same request: it uses its time, its turns, its byte
 * account, and the restrictions of its key.
 */
import type { WordUse } from "@dowser/engine-sdk"
import { fail, invalid, ok, type Result } from "@dowser/engine-sdk"
import { type FoundAnswer, type OperationContext, type PlannedSearch } from "@dowser/engine-sdk/operations"
import {
  type KnownWords,
  parseRewriteKinds,
  type Rewrite,
  type RewriteKind,
  RewriteSearch
} from "@dowser/engine-sdk/understanding"

/** Searches of one request in addition to those requested. */
export const REWRITES_MAX = 6

type Parameters = Readonly<Record<string, string>>
interface RewriteOrder {
  readonly kinds: ReadonlyArray<RewriteKind>
  /** Fewer hits than this are too few. */ readonly minFound: number
}
const MIN_FOUND_DEFAULT = 1
/** Reads and checks the parameters of a request, its key and its preset. Invalid if a kind is unknown. */
export const rewriteOrderOf = ({ query_rewrite, query_rewrite_min_found }: Parameters): Result<RewriteOrder> => {
  const kinds = query_rewrite === undefined ? ok([]) : parseRewriteKinds(query_rewrite)
  if (!kinds.ok) return kinds
  const min = (query_rewrite_min_found ?? "").trim()
  if (min !== "" && !/^\d{1,9}$/.test(min))
    return fail(invalid("Parameter `query_rewrite_min_found` must be an unsigned integer.", "query_rewrite_min_found"))
  return ok({ kinds: kinds.value, minFound: min === "" ? MIN_FOUND_DEFAULT : Number(min) })
}

export interface SearchWithAnswer {
  readonly search: PlannedSearch
  readonly found: FoundAnswer
}
export interface Rewritten extends SearchWithAnswer {
  /** The query as it was sent; the search's own if nothing was tried. */ readonly typed: string
  /** What was tried, in order. */ readonly tried: ReadonlyArray<Rewrite>
  /** The rewrite whose results are returned. */ readonly used?: Rewrite
}
interface Trying {
  readonly context: OperationContext
  /** What remains of `REWRITES_MAX`. */ readonly account: { left: number }
  /** Answers the same search with other words; undefined if it was refused, or nobody waits any longer. */
  readonly again: (q: string) => Promise<Result<SearchWithAnswer, unknown>>
}

/** Hits of the words themselves, without those that rules show if nothing was found. */
const foundByWords = ({ answer, asked, trace }: FoundAnswer): number =>
  !asked ? Infinity : trace?.fallback === undefined ? answer.found : 0

/** Replaces an answer with too few hits by that of a query that finds more. Never fails. */
export const rewritten = async (trying: Trying, answered: SearchWithAnswer): Promise<Rewritten> => {
  const order = rewriteOrderOf(answered.search.parameters)
  const typed = answered.search.parameters.q ?? ""
  const none = { ...answered, typed, tried: [] }
  const { account, context } = trying
  if (!order.ok || order.value.kinds.length === 0 || account.left <= 0) return none
  const { plan } = answered.search
  // A search that was cut off may have found more; one by meaning does not depend on spelling.
  if (foundByWords(answered.found) >= order.value.minFound || answered.found.answer.search_cutoff) return none
  if (plan.text === undefined && !plan.matchesNothing) return none
  const asked = new RewriteSearch(typed, order.value.kinds)
  const completes = plan.text?.fields.some(({ prefix }) => prefix) ?? true
  const candidates = asked.candidates(await knownWords(trying, answered.search, asked), account.left, completes)
  const tried: Array<Rewrite> = []
  for (const candidate of candidates) {
    const held = context.budget?.held ?? 0
    account.left--
    tried.push(candidate)
    const again = await trying.again(candidate.q)
    if (!again.ok) break
    if (foundByWords(again.value.found) > 0) return { ...withTyped(again.value, typed), tried, used: candidate, typed }
    // Releases the memory that the attempt held.
    context.budget?.holdAgain(held)
  }
  return { ...answered, typed, tried }
}
/** `request_params` then contains both the typed query and the one that was searched. */
const withTyped = (answered: SearchWithAnswer, typed: string): SearchWithAnswer => {
  const { answer } = answered.found
  answer.request_params = { ...answer.request_params, first_q: typed }
  return answered
}

/** Which words of the query exist, as far as the caller may see; undefined if the engine cannot tell. */
const knownWords = async (
  { context }: Trying,
  { collection, plan }: PlannedSearch,
  { words }: RewriteSearch
): Promise<KnownWords | undefined> => {
  if (context.engine.words === undefined || plan.text === undefined || words.length === 0) return undefined
  const uses = await context.engine.words(context.namespace, {
    collection: collection.schema.name,
    fields: plan.text.fields.map(({ field }) => field),
    words,
    ...(plan.pinnedFilter === undefined ? {} : { filter: plan.pinnedFilter })
  })
  if (!uses.ok) return undefined
  const known = new Map<string, WordUse>(words.map((word, i) => [word, uses.value[i]!]))
  return (word) => known.get(word)
}
