/**
 * Searches in words (`nl_query=true`): what the model that the request names makes of it, or the embedded one where the
 * organization has none. Only money, a session's allowance and the request's own mistakes refuse a search; whatever
 * else fails, it is made as it was asked, and the answer says why.
 */
import { type CollectionInfo, fail, ok, type Result } from "@dowser/engine-sdk"
import type { OperationContext, Reach, SearchRequest } from "@dowser/engine-sdk/operations"
import type { Parameters } from "@dowser/engine-sdk/query"
import { Clock, Context, Effect, Layer } from "effect"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import type { Caller } from "../identity/caller.ts"
import { AiSpending, type SpendingError } from "../metering/ai-spending.ts"
import { CurrentChanges } from "../ports/engine/engine.ts"
import { seesWhole } from "../suggestions/sees-whole.ts"
import { CollectionFacts } from "./collection-facts.ts"
import {
  augmented,
  failedQuery,
  generatedOf,
  NL_ERROR,
  NL_MODEL_ERROR,
  type ParsedNlQuery,
  shownParameters,
  showsResponse
} from "./parsed-query.ts"
import { parseRules } from "./rules/parse-rules.ts"

export interface WordsAsked {
  readonly caller: Caller
  readonly context: OperationContext
  readonly reach: Reach
  readonly collection: CollectionInfo
  /** Merged: request, scoped key, preset. */ readonly parameters: Parameters
  /** What holds for everything that is shown, beside what the caller may see. */
  readonly bounds: SearchRequest["bounds"]
  readonly signal: AbortSignal
}
interface Meant {
  readonly parameters: Parameters
  readonly parsed: ParsedNlQuery
}
/** The model that needs no credential. */
export const RULES_MODEL = "dowser/rules"
const PROMPT_CACHE_S = 86_400

const make = Effect.gen(function* () {
  const services = yield* Effect.context<never>()
  const clock = yield* Clock.Clock
  const spending = yield* AiSpending
  const facts = new CollectionFacts({
    contextOf: yield* makeContexts,
    changesOf: yield* CurrentChanges,
    now_ms: () => clock.currentTimeMillisUnsafe(),
    failed: (why) =>
      Effect.runSyncWith(services)(
        Effect.logError("Facet values could not be read; requests in words name none of them", why)
      )
  })

  const byRules = async ({ bounds, caller, collection, context, parameters, reach }: WordsAsked): Promise<unknown> => {
    const ttl = Number(parameters.nl_query_prompt_cache_ttl ?? PROMPT_CACHE_S)
    const known = facts.of({
      organizationId: caller.organizationId,
      collection,
      context,
      reach,
      seesWhole: seesWhole(caller),
      bounds,
      age_max_ms: 1_000 * (Number.isFinite(ttl) ? ttl : PROMPT_CACHE_S)
    })
    return parseRules(parameters.q ?? "", known instanceof Promise ? await known : known)
  }

  const meant = Effect.fnUntraced(function* (asked: WordsAsked) {
    const began = performance.now()
    const took = () => Math.round(performance.now() - began)
    const { caller, parameters } = asked
    const name = parameters.nl_model_id ?? ""
    if (name !== "" && name !== RULES_MODEL)
      return {
        parameters: { ...parameters },
        parsed: failedQuery(parameters, `${NL_MODEL_ERROR} Model not found`, took())
      }
    const answer = Effect.promise(() => byRules(asked))
    const said = yield* spending.spend(
      caller,
      "nl_query",
      0,
      Effect.map(answer, (made) => [made, 0] as const)
    )
    const generated = generatedOf(said)
    const own = generated.ok ? augmented(parameters, generated.value) : generated
    if (!own.ok)
      return {
        parameters: { ...parameters },
        parsed: failedQuery(parameters, `${NL_ERROR} ${own.error.message}`, took())
      }
    return {
      parameters: own.value,
      parsed: {
        parse_time_ms: took(),
        generated_params: generated.ok ? generated.value : {},
        augmented_params: shownParameters(own.value),
        ...(showsResponse(parameters) ? { llm_response: JSON.stringify(said) } : {})
      }
    }
  })
  return NlSearch.of({
    bytes: () => facts.bytes,
    meant: (asked) =>
      Effect.runPromiseWith(services)(Effect.match(meant(asked), { onFailure: fail, onSuccess: ok }), {
        signal: asked.signal
      })
  })
})

export class NlSearch extends Context.Service<
  NlSearch,
  {
    /** Rejects where nobody waits any more. */
    readonly meant: (asked: WordsAsked) => Promise<Result<Meant, SpendingError>>
    /** Of what is known of collections. */ readonly bytes: () => number
  }
>()("dowser/nl-search/NlSearch") {
  static readonly layer = Layer.effect(NlSearch, make)
}
