/**
 * Search and multi-search: the control plane's part around the engine call. A request is charged, goes through its
 * steps (`asked-search.ts`) or is answered from the cache, and gets one text. This module takes and returns values; its
 * routes handle headers, bodies and statuses.
 */
import {
  AnswerBudget,
  type Body,
  type MultiSearch,
  type OperationContext,
  readMultiSearch,
  resultsText
} from "@dowser/engine-sdk/operations"
import type { Result as Outcoming } from "@dowser/engine-sdk"
import { Cause, Clock, Context, Effect, Exit, Layer, Result } from "effect"
import { readFingerprintKey } from "@dowser/log/fingerprint-key"
import { narrowKey, shortPrint } from "@dowser/log/fingerprint"
import { currentStages, type Stages } from "@dowser/log/process/traces"
import { type Weights, weightIn } from "@dowser/streams/runner/weights"
import { Access } from "../access/access.ts"
import { collectionClosed } from "../identity/reach.ts"
import { PopularDocuments } from "../analytics/popular-documents.ts"
import { declaredOf, makeContexts } from "../engine-plane/engine-plane.ts"
import { reachesNamed } from "../engine-plane/reached.ts"
import { Experiments } from "../experiments/experiments.ts"
import { SearchServed } from "./serve-log.ts"
import { EngineRefusal } from "../http/errors.ts"
import type { SearchFailure } from "./search-errors.ts"
import type { Caller } from "../identity/caller.ts"
import { Quota } from "../metering/quota.ts"
import { networkOf } from "../net/network-address.ts"
import { SearchPolicies } from "../policies/search-policies.ts"
import { SearchProfiles } from "../profiles/search-profiles.ts"
import { SearchRules } from "../rules/search-rules.ts"
import { Personalization } from "../personalization/personalized.ts"
import { PopularQueries } from "../suggestions/popular-queries.ts"
import { NlSearch } from "../nl-search/nl-search.ts"
import { Understanding } from "../understanding/understanding.ts"
import { SearchAccounts } from "./accounts.ts"
import { type CacheFigures, makeAnswerCache } from "./answer-cache.ts"
import { makeAnswerEpoch } from "./answer-epoch.ts"
import { AskedSearch, type AskedParts, type Outcome, type Written } from "./asked-search.ts"
import { asksCache, cachedSearch, type CachedParts } from "./cached-search.ts"
import { browse, type BrowseAsked } from "./browsed.ts"
import { charging, type Charge } from "./charge.ts"
import { ChosenDocuments } from "./chosen-documents.ts"
import { areOne, callersOf, entryKeys, withinLimits } from "./entry-keys.ts"
import { rank, rankable, type RankAsked, type RankFailure, type RankParts } from "./ranked.ts"
import type { SearchAnswer, SearchRequest } from "./request.ts"
import { restrictionsOf } from "../identity/restrictions.ts"
import { FallbackMeanings } from "../embedding/fallback-meanings.ts"
import { FallbackModels } from "../recommendation-models/fallback-models.ts"
import { Rerankers } from "../rerankers/rerankers.ts"
import { environmentOf } from "../rules/search-merchandise.ts"
import { SearchMinutes } from "./search-minutes.ts"
import { timelyEngine } from "./timely-engine.ts"
import { makeTurns, type Turns } from "./turns.ts"

/** Maximum length of the query string of a GET search, in bytes. */
const QUERY_STRING_BYTES_MAX = 4000

interface SearchShape {
  /** Cost: one engine call; the answer's text is built once. */
  readonly searchCollection: (request: SearchRequest, collection: string) => Effect.Effect<SearchAnswer, SearchFailure>
  /** Costs one token of a key's rate limit for each entry. */
  readonly multiSearch: (request: SearchRequest, body: Body) => Effect.Effect<SearchAnswer, SearchFailure>
  /** Ids of what a search shows, best first, without a unit and without a trace (`ranked.ts`). */
  readonly rank: (asked: RankAsked) => Promise<Outcoming<ReadonlyArray<string>, RankFailure>>
  /** Why `rank` could not run with these arguments; nothing is searched. */
  readonly rankable: (asked: RankAsked) => Promise<Outcoming<void, RankFailure>>
  /** What visitors see without a query, without a unit and without a trace (`browsed.ts`). */
  readonly browse: (asked: BrowseAsked) => ReturnType<typeof browse>
  /** The result of a chooser (`chosen-documents.ts`), for one unit, and the query id by which it is accounted. */
  readonly choosing: <A>(
    request: SearchRequest,
    collection: string,
    choose: (documents: ChosenDocuments) => Promise<Outcome<A>>
  ) => Effect.Effect<{ readonly chosen: A; readonly query_id: string }, SearchFailure>
  /** Makes all cached answers of the organization unusable. */
  readonly forgetAnswers: (organizationId: string) => void
  /** How long searches of this process took. */ readonly minutes: SearchMinutes
  readonly figures: Effect.Effect<{ readonly waiting: number; readonly cache: CacheFigures }>
}

/** What one request searches: a collection by its path, or several searches. */
type Asking = { readonly name: string } | { readonly searches: MultiSearch }

interface Parts extends AskedParts, CachedParts {
  readonly contextOf: (
    organizationId: string
  ) => OperationContext & { readonly limits: { readonly answer_bytes_max: number } }
  readonly access: Access["Service"]
  readonly quota: Quota["Service"]
  readonly popular: PopularDocuments["Service"]
  readonly models: Rerankers["Service"]
  readonly fallbacks: FallbackModels["Service"]
  readonly meanings: FallbackMeanings["Service"]
  readonly turns: Turns
}

const answerOf = ({ failures, isMany, texts }: Written): SearchAnswer => ({
  text: isMany ? resultsText(texts) : texts[0]!,
  failures
})
const refusal = (message: string) => new EngineRefusal({ message, status: 400 })

class SearchService implements Pick<SearchShape, "searchCollection" | "multiSearch" | "choosing"> {
  readonly #parts: Parts
  constructor(parts: Parts) {
    this.#parts = parts
  }

  searchCollection = (request: SearchRequest, name: string): Effect.Effect<SearchAnswer, SearchFailure> =>
    Effect.suspend((): Effect.Effect<SearchAnswer, SearchFailure> => {
      const { caller, queryText } = request
      if (!reachesNamed(this.#parts.contextOf(caller.organizationId), caller, name))
        return Effect.fail(collectionClosed())
      if (Buffer.byteLength(queryText) > QUERY_STRING_BYTES_MAX)
        return Effect.fail(
          refusal(
            "Query string exceeds max allowed length of 4000. Use the /multi_search end-point for larger payloads."
          )
        )
      return this.#whole(request, this.#budgetOf(request), { name })
    })

  multiSearch = Effect.fnUntraced(
    function* (this: SearchService, request: SearchRequest, body: Body) {
      const { access, contextOf } = this.#parts
      const { caller, shared } = request
      const context = contextOf(caller.organizationId)
      const read = readMultiSearch(context, body, shared, restrictionsOf(caller))
      if (!read.ok) return yield* Effect.fail(declaredOf(read.error))
      const { searches, union } = read.value
      const budget = this.#budgetOf(request)
      const keys = entryKeys(searches, shared)
      const foreign = keys.filter((key) => key !== undefined).length
      // One token per entry: the request has taken one of its key's, and entries with keys of their own take theirs.
      yield* access.takeTokens(caller, Math.max(0, searches.length - foreign - 1))
      if (foreign === 0) return yield* this.#whole(request, budget, { searches: read.value })
      const callers = yield* callersOf(access, request, keys)
      if (areOne(callers))
        return yield* this.#whole({ ...request, caller: callers[0]! }, budget, { searches: read.value })
      if (union) return yield* Effect.fail(refusal("Searches of a union must share one key."))
      yield* withinLimits(context, callers, shared)
      const organizations = [...new Set(callers.map(({ organizationId }) => organizationId))]
      return yield* this.#charged(request, budget, organizations, new Map(), (charges) =>
        this.#entries(request, charges, read.value, callers)
      )
    }.bind(this)
  )

  choosing: SearchShape["choosing"] = (request, name, choose) =>
    Effect.suspend(() => {
      const { accounts, contextOf, quota } = this.#parts
      const { organizationId } = request.caller
      if (!reachesNamed(contextOf(organizationId), request.caller, name)) return Effect.fail(collectionClosed())
      return charging(quota, organizationId, request, this.#budgetOf(request), (charge) =>
        Effect.flatMap(
          Effect.promise(async (signal) => {
            const { context, environment } = this.#surroundings(request, charge, signal)
            const documents = new ChosenDocuments(this.#parts, request, charge, context, environment, name)
            const outcome = await choose(documents)
            return { outcome, answered: documents.answered }
          }),
          ({ answered, outcome }) => {
            if (!outcome.ok) return Effect.fail(outcome.error)
            if (answered === undefined) return Effect.die(new Error("Nothing was asked of the engine."))
            const { collection, parameters } = answered
            const withoutQuery = { ...parameters, q: "", enable_analytics: "false" }
            const query_id = accounts.open(request, name, {
              asked: true,
              collection,
              found: 0,
              parameters: withoutQuery
            })
            return Effect.succeed({ chosen: outcome.value, query_id })
          }
        )
      )
    })

  /** A request of a single caller: one unit. */
  #whole(request: SearchRequest, budget: AnswerBudget, asking: Asking): Effect.Effect<SearchAnswer, SearchFailure> {
    return charging(this.#parts.quota, request.caller.organizationId, request, budget, (charge) =>
      Effect.map(this.#asked(request, charge, asking), answerOf)
    )
  }
  /** Charges one unit to each organization that is searched. */
  #charged<A>(
    request: SearchRequest,
    budget: AnswerBudget,
    [next, ...others]: ReadonlyArray<string>,
    charges: ReadonlyMap<string, Charge>,
    run: (charges: ReadonlyMap<string, Charge>) => Effect.Effect<A, SearchFailure>
  ): Effect.Effect<A, SearchFailure> {
    if (next === undefined) return run(charges)
    return charging(this.#parts.quota, next, request, budget, (charge) =>
      this.#charged(request, budget, others, new Map([...charges, [next, charge]]), run)
    )
  }
  /** Runs the entries of several callers one by one. */
  #entries(
    request: SearchRequest,
    charges: ReadonlyMap<string, Charge>,
    searches: MultiSearch,
    callers: ReadonlyArray<Caller>
  ): Effect.Effect<SearchAnswer, SearchFailure> {
    const each = Effect.forEach(searches.searches, (entry, i) => {
      const caller = callers[i]!
      return this.#asked({ ...request, caller }, charges.get(caller.organizationId)!, {
        searches: { ...searches, searches: [entry] }
      })
    })
    return Effect.map(each, (written) => ({
      text: resultsText(written.flatMap(({ texts }) => texts)),
      failures: written.flatMap(({ failures }) => failures)
    }))
  }

  /** Answers from the cache if the request allows it and an answer is cached. */
  #asked(request: SearchRequest, charge: Charge, asking: Asking): Effect.Effect<Written, SearchFailure> {
    const answered = Effect.flatMap(currentStages, (stages) =>
      Effect.promise((signal): Promise<Outcome<Written>> => {
        const asked = this.#search(request, charge, signal, stages)
        const run = async () => {
          const written = await ("name" in asking ? asked.one(asking.name) : asked.many(asking.searches))
          return { written, isPersonal: asked.isPersonal }
        }
        if (!asksCache(request)) return "name" in asking ? asked.one(asking.name) : asked.many(asking.searches)
        const { name, searches } = { name: undefined, searches: undefined, ...asking }
        return cachedSearch(this.#parts, request, charge, name, searches, run)
      })
    )
    return Effect.flatMap(answered, (outcome) =>
      outcome.ok ? Effect.succeed(outcome.value) : Effect.fail(outcome.error)
    )
  }
  #search(request: SearchRequest, charge: Charge, signal: AbortSignal, stages: Stages | undefined): AskedSearch {
    const { context, environment } = this.#surroundings(request, charge, signal)
    return new AskedSearch(this.#parts, request, charge, context, environment, signal, stages)
  }
  /** The engine for this request, and the context of its searches. */
  #surroundings({ caller: { organizationId } }: SearchRequest, charge: Charge, signal: AbortSignal) {
    const { contextOf, fallbacks, meanings, models, popular, turns } = this.#parts
    const own = contextOf(organizationId)
    const context: OperationContext = {
      ...own,
      engine: timelyEngine(own.engine, turns, { organizationId, until: charge.until, signal }),
      budget: charge.budget
    }
    return { context, environment: { ...environmentOf(organizationId, popular, models, fallbacks, meanings), signal } }
  }
  /** By the plan of the request's sender; the memory belongs to the request. */
  #budgetOf({ caller, reserve }: SearchRequest): AnswerBudget {
    return new AnswerBudget(this.#parts.contextOf(caller.organizationId).limits.answer_bytes_max, reserve)
  }
}

export class Search extends Context.Service<Search, SearchShape>()("dowser/search/Search") {
  /** `weights`: of organizations, by which they share this thread. */
  static readonly layer = ({ weights }: { readonly weights?: Weights | undefined } = {}) =>
    Layer.effect(
      Search,
      Effect.gen(function* () {
        const clock = yield* Clock.Clock
        const epoch = yield* makeAnswerEpoch
        const rules = yield* SearchRules
        const cache = makeAnswerCache()
        const turns = makeTurns({ weightOf: weightIn(weights) })
        const contextOf = yield* makeContexts
        const popular = yield* PopularDocuments
        const models = yield* Rerankers
        const fallbacks = yield* FallbackModels
        const meanings = yield* FallbackMeanings
        const now_ms = () => clock.currentTimeMillisUnsafe()
        const profiles = { profiles: yield* SearchProfiles, policies: yield* SearchPolicies }
        const ranking: RankParts = {
          ...profiles,
          contextOf,
          environmentOf: (organizationId) => environmentOf(organizationId, popular, models, fallbacks, meanings),
          rules,
          meanings,
          turns,
          now_ms
        }
        const service = new SearchService({
          contextOf,
          access: yield* Access,
          quota: yield* Quota,
          rules,
          ...profiles,
          experiments: (yield* Experiments).running,
          understanding: yield* Understanding,
          words: yield* NlSearch,
          personalization: yield* Personalization,
          popular,
          models,
          fallbacks,
          meanings,
          accounts: yield* makeAccounts,
          cache,
          epochOf: epoch.of,
          turns,
          now_ms
        })
        const minutes = yield* SearchMinutes.make
        return Search.of({
          minutes,
          searchCollection: (request, collection) =>
            timed(minutes, request, service.searchCollection(request, collection)),
          multiSearch: (request, body) => timed(minutes, request, service.multiSearch(request, body)),
          choosing: (request, collection, choose) =>
            timed(minutes, request, service.choosing(request, collection, choose)),
          rank: (asked) => rank(ranking, asked),
          rankable: (asked) => rankable(ranking, asked),
          browse: (asked) => browse(ranking, asked),
          forgetAnswers: epoch.forget,
          figures: Effect.sync(() => ({ waiting: turns.waiting(), cache: cache.figures() }))
        })
      })
    )
}

/** Our own failures, without mistakes and refusals of the request. */
const FAULTS = new Set(["EngineUnavailable", "EngineOverloaded", "SearchTimedOut", "OrganizationUnavailable"])
const isFault = (exit: Exit.Exit<unknown, SearchFailure>): boolean => {
  if (Exit.isSuccess(exit)) return false
  const failure = Cause.findError(exit.cause)
  return Result.isFailure(failure) ? !Cause.hasInterruptsOnly(exit.cause) : FAULTS.has(failure.success._tag)
}
const timed = <A>(
  minutes: SearchMinutes,
  { caller }: SearchRequest,
  answer: Effect.Effect<A, SearchFailure>
): Effect.Effect<A, SearchFailure> =>
  Effect.suspend(() => {
    const began = performance.now()
    return Effect.onExit(answer, (exit) =>
      Effect.sync(() => minutes.add(caller.organizationId, performance.now() - began, isFault(exit)))
    )
  })

const makeAccounts = Effect.gen(function* () {
  const served = yield* SearchServed
  const services = yield* Effect.context<never>()
  const fingerprintKey = yield* Effect.orDie(readFingerprintKey)
  return new SearchAccounts({
    mint: (organizationId, visitor) => Effect.runSyncWith(services)(served.mint(organizationId, visitor)),
    record: served.record,
    popularQueries: yield* PopularQueries,
    networkPrint: (organizationId, address) =>
      shortPrint(narrowKey(fingerprintKey, organizationId), "network ", networkOf(address))
  })
})
