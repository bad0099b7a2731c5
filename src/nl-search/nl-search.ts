/**
 * Searches in words (`nl_query=true`): interpreted by the model that the request names, or the embedded one if the
 * organization has none. A search is refused only for lack of credits, a session's allowance, or mistakes in the
 * request; if anything else fails, it runs as typed, and the answer says why.
 */
import { type CollectionInfo, fail, type Field, notFound, ok, type Result } from "@dowser/engine-sdk"
import type { OperationContext, Reach, SearchRequest } from "@dowser/engine-sdk/operations"
import { covers, type Parameters } from "@dowser/engine-sdk/query"
import { Clock, Context, Effect, Layer } from "effect"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import type { Caller } from "../identity/caller.ts"
import { AiSpending, type SpendingError } from "../metering/ai-spending.ts"
import { CurrentChanges } from "../ports/engine/engine.ts"
import { inSlices } from "../suggestions/typeahead/sliced.ts"
import { seesWhole } from "../suggestions/sees-whole.ts"
import { CollectionFacts, type PromptFacts } from "./collection-facts.ts"
import type { LanguageModel } from "../language-models/model.ts"
import { NlModels } from "./models/nl-models.ts"
import { objectIn, promptOf } from "./models/prompt.ts"
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

interface WordsAsked {
  readonly caller: Caller
  /** The session's unit was already taken; credits are still charged. */ readonly isPaid: boolean
  readonly context: OperationContext
  readonly reach: Reach
  readonly collection: CollectionInfo
  /** Merged: request, scoped key, preset. */ readonly parameters: Parameters
  /** Filters on everything that is shown, in addition to the caller's own. */
  readonly bounds: SearchRequest["bounds"]
  /** Fields that the applied profile lets clients filter by; the profile also has its own sorts. */
  readonly filterable: ReadonlyArray<string> | undefined
  readonly signal: AbortSignal
}
interface Meant {
  readonly parameters: Parameters
  readonly parsed: ParsedNlQuery
}
/** A model's text, and the object in it. */
interface ModelReply {
  readonly text: string
  readonly object: unknown
}
/** The model that needs no credentials. */
const RULES_MODEL = "dowser/rules"
const DEFAULT_MODEL = "default"
const PROMPT_CACHE_S = 86_400
/** Limit of the model's text, if the request asks to see it. */
const RESPONSE_CHARACTERS_MAX = 4_000

/** The fields that a request may filter and sort by; undefined for all. */
const namedFields = ({ collection, filterable, reach }: WordsAsked): ReadonlyArray<Field> | undefined => {
  if (reach.fields === undefined && filterable === undefined) return undefined
  const sees = (name: string) =>
    (reach.fields === undefined || covers(reach.fields, name)) &&
    (filterable === undefined || filterable.includes(name))
  const fields = collection.schema.fields.filter(({ name }) => sees(name))
  return filterable === undefined ? fields : fields.map((field) => ({ ...field, sort: false }))
}

/** The facts about collections, and the models. */
const makeReplies = Effect.gen(function* () {
  const models = yield* NlModels
  const services = yield* Effect.context<never>()
  const clock = yield* Clock.Clock
  const facts = new CollectionFacts({
    contextOf: yield* makeContexts,
    changesOf: yield* CurrentChanges,
    now_ms: () => clock.currentTimeMillisUnsafe(),
    inSlices: (steps) => Effect.runPromiseWith(services)(inSlices(steps)),
    failed: (why) =>
      Effect.runSyncWith(services)(
        Effect.logError("Facet values could not be read; searches in words will not name any", why)
      )
  })

  const knownOf = async (asked: WordsAsked): Promise<PromptFacts> => {
    const { bounds, caller, collection, context, parameters, reach } = asked
    const ttl = Number(parameters.nl_query_prompt_cache_ttl ?? PROMPT_CACHE_S)
    return facts.of({
      organizationId: caller.organizationId,
      collection,
      context,
      reach,
      fields: namedFields(asked),
      seesWhole: seesWhole(caller),
      bounds,
      age_max_ms: 1_000 * (Number.isFinite(ttl) ? ttl : PROMPT_CACHE_S)
    })
  }
  /** The answer of the organization's own model; its price is per answer, whatever the answer is. */
  const byModel = Effect.fnUntraced(function* (asked: WordsAsked, model: LanguageModel, known: PromptFacts) {
    const { caller, collection, parameters } = asked
    const system = promptOf(model, namedFields(asked) ?? collection.schema.fields, known.samples)
    const text = yield* models.ask(caller.organizationId, model, { system, user: parameters.q ?? "" })
    return { text, object: objectIn(text) }
  })
  const reply = Effect.fnUntraced(function* (asked: WordsAsked, model: LanguageModel | undefined) {
    const known = yield* Effect.promise(() => knownOf(asked))
    if (model === undefined) {
      const own = parseRules(asked.parameters.q ?? "", known.facts)
      return { text: JSON.stringify(own), object: own as unknown }
    }
    return yield* byModel(asked, model, known)
  })

  return { reply, bytes: () => facts.bytes }
})

const make = Effect.gen(function* () {
  const services = yield* Effect.context<never>()
  const spending = yield* AiSpending
  const models = yield* NlModels
  const { bytes, reply } = yield* makeReplies

  /** The model that the request names, else the one called `default`; undefined: this program's own. */
  const modelOf = ({ caller, parameters }: WordsAsked): Result<LanguageModel | undefined> => {
    const name = parameters.nl_model_id ?? ""
    if (name === RULES_MODEL) return ok(undefined)
    const model = models.get(caller.organizationId, name === "" ? DEFAULT_MODEL : name)
    if (model === undefined && name !== "" && name !== DEFAULT_MODEL) return fail(notFound("Model not found"))
    return ok(model?.provider === "dowser" ? undefined : model)
  }

  const meant = Effect.fnUntraced(function* (asked: WordsAsked) {
    const began = performance.now()
    const { caller, parameters } = asked
    const without = (error: string): Meant => ({
      parameters: { ...parameters },
      parsed: failedQuery(parameters, error, Math.round(performance.now() - began))
    })
    const model = modelOf(asked)
    if (!model.ok) return without(`${NL_MODEL_ERROR} ${model.error.message}`)
    const price = model.value === undefined ? 0 : 1
    const answered = Effect.match(reply(asked, model.value), {
      onFailure: ({ message }): readonly [Result<ModelReply, string>, number] => [fail(message), 0],
      onSuccess: (answer): readonly [Result<ModelReply, string>, number] => [ok(answer), price]
    })
    const answer =
      asked.isPaid && price === 0 ? (yield* answered)[0] : yield* spending.spend(caller, "nl_query", price, answered)
    if (!answer.ok) return without(`${NL_ERROR} ${answer.error}`)
    const shown = showsResponse(parameters) ? { llm_response: answer.value.text.slice(0, RESPONSE_CHARACTERS_MAX) } : {}
    const generated = generatedOf(answer.value.object)
    const own = generated.ok ? augmented(parameters, generated.value) : generated
    if (!own.ok) {
      const failed = without(`${NL_ERROR} ${own.error.message}`)
      return { ...failed, parsed: { ...failed.parsed, ...shown } }
    }
    return {
      parameters: own.value,
      parsed: {
        parse_time_ms: Math.round(performance.now() - began),
        generated_params: generated.ok ? generated.value : {},
        augmented_params: shownParameters(own.value),
        ...shown
      }
    }
  })
  return NlSearch.of({
    bytes,
    meant: (asked) =>
      Effect.runPromiseWith(services)(Effect.match(meant(asked), { onFailure: fail, onSuccess: ok }), {
        signal: asked.signal
      })
  })
})

export class NlSearch extends Context.Service<
  NlSearch,
  {
    /** Rejects if the request was abandoned. */
    readonly meant: (asked: WordsAsked) => Promise<Result<Meant, SpendingError>>
    /** Memory of the facts about collections. */ readonly bytes: () => number
  }
>()("dowser/nl-search/NlSearch") {
  static readonly layer = Layer.effect(NlSearch, make)
}
