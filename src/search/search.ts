/**
 * Search and multi-search: the control plane's part around the engine call. Restrictions of the key go in as trees, the
 * rules of the collection act before and after it, every answer gets its query_id, and a report of it goes to the log
 * from a bounded buffer, so that no search waits for it.
 */
import type { IncomingHttpHeaders } from "node:http"
import {
  AnswerBudget,
  AnswerRefused,
  type Answered,
  type AnsweredSearch,
  type Body,
  type Merchandising,
  type MultiSearch,
  multiSearchesLimit,
  type OperationContext,
  readMultiSearch,
  resultsText,
  search,
  searchMany
} from "../../engine-sdk/src/operations/mod.ts"
import { Clock, Context, Effect, Exit, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { readFingerprintKey } from "../../log/fingerprint-key.ts"
import { type Weights, weightIn } from "../../streams/runner/weights.ts"
import { Access } from "../access/access.ts"
import { collectionClosed, reachesCollection } from "../access/check/decision.ts"
import { originOf } from "../access/check/origins.ts"
import { PopularDocuments } from "../analytics/popular-documents.ts"
import type { Caller } from "../identity/caller.ts"
import { declaredOf, makeContexts } from "../catalog/engine-plane.ts"
import { reachesNamed } from "../catalog/reached.ts"
import type { CatalogResources } from "../catalog/resources.ts"
import type { Configuration } from "../configuration/configuration.ts"
import { SearchServed } from "../events/served/serve-log.ts"
import type { Entitlements } from "../metering/entitlements.ts"
import type { Engine } from "../ports/engine/engine.ts"
import { RulesDamaged, SearchRules } from "../rules/search-rules.ts"
import { Quota, type QuotaRefusal, type Unit } from "../metering/quota.ts"
import { narrowKey, shortPrint } from "../../log/fingerprint.ts"
import { networkOf } from "../net/network-address.ts"
import { PopularQueries } from "../suggestions/popular-queries.ts"
import { seesWhole } from "../suggestions/sees-whole.ts"
import { facetRefinements, queryRefinements, type Refinement } from "../suggestions/refinements.ts"
import { EngineRefusal } from "../http/errors.ts"
import type { DeclaredError } from "../http/render.ts"
import type { HeldMemory } from "../http/request-memory.ts"
import { type AccountedSearch, type CachedSearch, cacheTtlOf, makeAnswerCache, replayed } from "./answer-cache.ts"
import { makeAnswerEpoch } from "./answer-epoch.ts"
import { engineCallerOf } from "./engine-caller.ts"
import { type SearchReply, searchReplyOf } from "./search-reply.ts"
import { environmentOf, isOn, ignoredOf, searchMerchandise } from "./search-merchandise.ts"
import { withinTime, withoutLimit } from "./time-limit.ts"
import { timelyEngine } from "./timely-engine.ts"
import { makeTurns } from "./turns.ts"
import { visitorOf } from "./visitor.ts"

/** What a request says beside its parameters. */
export interface SearchRequest {
  readonly caller: Caller
  readonly headers: IncomingHttpHeaders
  readonly address: string
  /** Query parameters: common to all entries of a multi-search. */ readonly shared: Readonly<Record<string, string>>
  /** The query string as sent. */ readonly queryText: string
  /** Field of the point that the search is about: hits say their `distance_m` from it. */
  readonly distanceField?: string
  /** What the request holds in memory: its answer is held there before it is written. */
  readonly held: () => HeldMemory
  /** What takes longer is answered with SearchTimedOut, and costs no unit. */ readonly timeLimit_ms?: number
}

/** Bytes of a query string that GET takes (reference contract, section 1 item 9). */
const queryStringBytesMax = 4000

/**
 * Thrown where a search that is right in itself is about to be asked for without a unit, so that a wrong one is told so
 * first.
 */
class QuotaRefused extends Error {
  readonly refusal: QuotaRefusal
  constructor(refusal: QuotaRefusal) {
    super(refusal.message)
    this.refusal = refusal
  }
}

/** One request's unit, and whether it was used. */
interface Charge {
  readonly unit: Unit
  isUsed: boolean
  /** Of the whole request, whatever it asks and of whom. */ readonly budget: AnswerBudget
  /** `performance.now()` when the request's time is over. */ readonly until: number
}

export interface SearchLayerOptions {
  /** Lower case; absent = no proxy tells the country. */ readonly countryHeader?: string | undefined
  /** Of organizations, where they share this thread. */ readonly weights?: Weights | undefined
}

export class Search extends Context.Service<
  Search,
  {
    /** Cost: one engine call; a reply is JSON text written once. */
    readonly searchCollection: (request: SearchRequest, collection: string) => Effect.Effect<SearchReply, DeclaredError>
    /** No answer of the organization that is kept until now is given again. */
    readonly forgetAnswers: (organizationId: string) => void
    /** One token of a key's rate for each entry. */
    readonly multiSearch: (request: SearchRequest, body: Body) => Effect.Effect<SearchReply, DeclaredError>
  }
>()("dowser/search/Search") {
  static readonly layer = ({ countryHeader, weights }: SearchLayerOptions = {}): Layer.Layer<
    Search,
    never,
    | Access
    | CatalogResources
    | Configuration
    | Engine
    | Entitlements
    | PopularDocuments
    | PopularQueries
    | Quota
    | SearchRules
    | SearchServed
    | SqlClient.SqlClient
  > =>
    Layer.effect(
      Search,
      Effect.gen(function* () {
        const contextOf = yield* makeContexts
        const access = yield* Access
        const quota = yield* Quota
        const served = yield* SearchServed
        const rules = yield* SearchRules
        const popular = yield* PopularDocuments
        const popularQueries = yield* PopularQueries
        const services = yield* Effect.context<never>()
        const mint = (organizationId: string, visitor: string | undefined) =>
          Effect.runSyncWith(services)(served.mint(organizationId, visitor))

        const fingerprintKey = yield* Effect.orDie(readFingerprintKey)
        /** So that invented visitors of one network can be told from many; the address itself is kept nowhere. */
        const networkPrint = (organizationId: string, address: string): number =>
          shortPrint(narrowKey(fingerprintKey, organizationId), "network ", networkOf(address))

        const clock = yield* Clock.Clock
        const cache = makeAnswerCache()
        const epoch = yield* makeAnswerEpoch
        const turns = makeTurns({ weightOf: weightIn(weights) })

        /** Mints the query_id of one answered search and reports it. `named` is how the caller named the collection. */
        const accountOf =
          ({ address, caller, headers }: SearchRequest, named: string | undefined) =>
          ({ asked, collection, found, parameters }: AccountedSearch): string => {
            const { anonymous_id, country, device, session_id, surface, user_id } = visitorOf(
              parameters,
              headers,
              caller.sessionId,
              countryHeader
            )
            const query_id = mint(caller.organizationId, session_id ?? user_id ?? anonymous_id)
            served.record({
              organization_id: caller.organizationId,
              query_id,
              collection: named ?? parameters.collection ?? collection.schema.name,
              q: parameters.q ?? "",
              ...(parameters.filter_by === undefined ? {} : { filter_by: parameters.filter_by }),
              ...(parameters.facet_by === undefined ? {} : { facet_by: parameters.facet_by }),
              ...(parameters.analytics_tag === undefined ? {} : { analytics_tag: parameters.analytics_tag }),
              found,
              ...(asked ? {} : { isRedirected: true }),
              ...(session_id === undefined ? {} : { session_id }),
              ...(user_id === undefined ? {} : { user_id }),
              ...(anonymous_id === undefined ? {} : { anonymous_id }),
              ...(device === undefined ? {} : { device }),
              ...(country === undefined ? {} : { country }),
              ...(surface === undefined ? {} : { surface }),
              network: networkPrint(caller.organizationId, address),
              isCounted: parameters.enable_analytics !== "false"
            })
            return query_id
          }

        /** An array in every answer, empty where there is nothing to narrow by. From memory: some microseconds. */
        const refinementsOf = (
          caller: Caller,
          named: string | undefined,
          { asked, collection, facet_counts, found, parameters }: AnsweredSearch
        ): ReadonlyArray<Refinement> => {
          if (!asked) return []
          const names = new Set([collection.schema.name, named ?? parameters.collection ?? collection.schema.name])
          const popular = [...names]
            .filter((name) => reachesCollection(caller, name))
            .map((name) => popularQueries.known(caller.organizationId, name))
            .filter((index) => index !== undefined)
          return [
            ...(seesWhole(caller) ? queryRefinements(parameters.q ?? "", popular) : []),
            ...(found === 0 ? [] : facetRefinements(collection, found, facet_counts))
          ]
        }

        /**
         * Explanations tell of rules and scores: they are for the owner, so neither for search keys nor for keys signed
         * with one.
         */
        const mayExplain = ({ embedded, scope }: Caller): boolean => scope === "full" && embedded === undefined
        const merchandisingOf = (
          { caller, headers }: SearchRequest,
          { refusal }: Unit,
          signal: AbortSignal
        ): Merchandising => ({
          environment: { ...environmentOf(caller.organizationId, popular), signal },
          // Called once a search's plan is made, before the engine is asked.
          of: (collection, parameters) => {
            if (refusal !== undefined) throw new QuotaRefused(refusal)
            return searchMerchandise({
              rules: rules.compiled(caller.organizationId, collection),
              parameters,
              visitor: () => visitorOf(parameters, headers, caller.sessionId, countryHeader),
              now_ms: clock.currentTimeMillisUnsafe(),
              explain: isOn(parameters, "debug") && mayExplain(caller)
            })
          }
        })

        /** As the plan of who sent the request says; what it holds is the request's own. */
        const budgetOf = ({ caller, held }: SearchRequest): AnswerBudget =>
          new AnswerBudget(contextOf(caller.organizationId).limits.answer_bytes_max, (bytes) =>
            held().holdWriting(bytes)
          )

        /** A unit for the effect, given back unless a search was answered by the engine, now or when it was cached. */
        const charging = (
          organizationId: string,
          { timeLimit_ms }: SearchRequest,
          budget: AnswerBudget,
          run: (charge: Charge) => Effect.Effect<SearchReply, DeclaredError>
        ): Effect.Effect<SearchReply, DeclaredError> =>
          Effect.suspend(() => {
            const until = timeLimit_ms === undefined ? Infinity : performance.now() + timeLimit_ms
            return Effect.flatMap(quota.reserve(organizationId), (unit) => {
              const charge: Charge = { unit, isUsed: false, budget, until }
              return Effect.onExit(
                timeLimit_ms === undefined ? withoutLimit(run(charge)) : withinTime(timeLimit_ms, run(charge)),
                (exit) =>
                  Effect.sync(() => {
                    if (!charge.isUsed || Exit.isFailure(exit)) unit.giveBack()
                  })
              )
            })
          })

        /** Runs with an account of each answer; from the cache where the request asks for it and has it. */
        const answered = async (
          request: SearchRequest,
          charge: Charge,
          signal: AbortSignal,
          named: string | undefined,
          searched: MultiSearch | undefined,
          run: (context: OperationContext) => Promise<Answered>
        ): Promise<Answered> => {
          const { caller, distanceField, shared } = request
          const account = accountOf(request, named)
          const searches: Array<CachedSearch> = []
          const own = contextOf(caller.organizationId)
          const context: OperationContext = {
            ...own,
            engine: timelyEngine(own.engine, turns, {
              organizationId: caller.organizationId,
              until: charge.until,
              signal
            }),
            merchandising: merchandisingOf(request, charge.unit, signal),
            budget: charge.budget,
            ...(distanceField === undefined
              ? {}
              : {
                  onHit: (hit) => {
                    const distance_m = hit.geo_distance_meters?.[distanceField]
                    if (distance_m !== undefined) hit.distance_m = distance_m
                  }
                }),
            annotate: ({ facet_counts, trace, ...search }) => {
              // Nobody gets this answer: nothing is counted of it.
              if (signal.aborted) return undefined
              const query_id = account(search)
              charge.isUsed ||= search.asked
              searches.push({ search, query_id })
              const refined =
                search.parameters.refinements === "off"
                  ? {}
                  : { refinements: refinementsOf(caller, named, { ...search, facet_counts }) }
              return trace !== undefined && isOn(search.parameters, "debug") && mayExplain(caller)
                ? { query_id, ...refined, explain: { ...trace, ignored: ignoredOf(search.parameters) } }
                : { query_id, ...refined }
            }
          }
          if (shared.use_cache !== "true" && shared.use_cache !== "1") return run(context)
          const { use_cache: _flag, ...parameters } = shared
          const now_ms = clock.currentTimeMillisUnsafe()
          const ruled = rules.answerKey(
            caller.organizationId,
            visitorOf(shared, request.headers, caller.sessionId, countryHeader),
            now_ms
          )
          const key = JSON.stringify([
            caller.organizationId,
            caller.key.id,
            caller.embedded ?? null,
            caller.index ?? null,
            caller.sessionId !== undefined,
            distanceField ?? null,
            named ?? null,
            Object.entries(parameters).sort(([a], [b]) => (a < b ? -1 : 1)),
            searched ?? null,
            ruled,
            epoch.of(caller.organizationId)
          ])
          const kept = cache.get(key, now_ms)
          if (kept !== undefined) {
            if (charge.unit.refusal !== undefined) throw new QuotaRefused(charge.unit.refusal)
            charge.budget.wrote(kept.length)
            charge.isUsed ||= kept.searches.some(({ asked }) => asked)
            const texts = replayed(kept, account)
            return {
              ok: true,
              value: kept.isMany
                ? { status: 200, text: resultsText(texts), entries: texts }
                : { status: 200, text: texts[0]! }
            }
          }
          const fresh = await run(context)
          const ttl_s = cacheTtlOf(caller.embedded?.cache_ttl ?? shared.cache_ttl)
          // Only a whole success is kept; an entry of a multi-search that failed has no account.
          if (
            fresh.ok &&
            fresh.value.status === 200 &&
            fresh.value.text !== undefined &&
            ttl_s > 0 &&
            fresh.value.failures === undefined
          ) {
            cache.put(key, {
              texts: fresh.value.entries ?? [fresh.value.text],
              isMany: fresh.value.entries !== undefined,
              searches,
              expiresAt: now_ms + ttl_s * 1000
            })
          }
          return fresh
        }

        /**
         * The first refusal of the whole request goes before whatever else was answered, also before a quota that is
         * used up.
         */
        const settle = (
          run: (refuse: (error: DeclaredError) => void, signal: AbortSignal) => Promise<Answered>,
          keepsEntries = false
        ): Effect.Effect<SearchReply, DeclaredError> =>
          Effect.suspend(() => {
            let refused: DeclaredError | undefined
            return Effect.flatMap(
              Effect.catch(
                Effect.tryPromise({
                  try: (signal) =>
                    run((error) => {
                      refused ??= error
                    }, signal),
                  catch: (error) => error
                }),
                (error): Effect.Effect<never, DeclaredError> =>
                  error instanceof QuotaRefused
                    ? Effect.fail(refused ?? error.refusal)
                    : error instanceof AnswerRefused
                      ? Effect.fail(declaredOf(error.error))
                      : error instanceof RulesDamaged
                        ? Effect.fail(error.refusal)
                        : Effect.die(error)
              ),
              (answered) => (refused === undefined ? searchReplyOf(answered, keepsEntries) : Effect.fail(refused))
            )
          })

        const many = (
          request: SearchRequest,
          charge: Charge,
          searches: MultiSearch,
          keepsEntries = false
        ): Effect.Effect<SearchReply, DeclaredError> =>
          settle(
            (refuse, signal) =>
              answered(request, charge, signal, undefined, searches, (context) =>
                searchMany(context, searches, request.shared, engineCallerOf(context, request.caller, refuse))
              ),
            keepsEntries
          )

        return Search.of({
          forgetAnswers: epoch.forget,
          searchCollection: (request, collection) =>
            Effect.suspend((): Effect.Effect<SearchReply, DeclaredError> => {
              if (!reachesNamed(contextOf(request.caller.organizationId), request.caller, collection))
                return Effect.fail(collectionClosed())
              if (Buffer.byteLength(request.queryText) > queryStringBytesMax) {
                return Effect.fail(
                  new EngineRefusal({
                    message:
                      "Query string exceeds max allowed length of 4000. Use the /multi_search end-point for larger payloads.",
                    status: 400
                  })
                )
              }
              return charging(request.caller.organizationId, request, budgetOf(request), (charge) =>
                settle((refuse, signal) =>
                  answered(request, charge, signal, collection, undefined, (context) =>
                    search(context, collection, request.shared, engineCallerOf(context, request.caller, refuse))
                  )
                )
              )
            }),
          multiSearch: Effect.fnUntraced(function* (request, body) {
            const { caller, shared } = request
            const read = readMultiSearch(
              contextOf(caller.organizationId),
              body,
              shared,
              caller.embedded === undefined ? {} : { embedded: caller.embedded }
            )
            if (!read.ok) return yield* searchReplyOf(read)
            const { searches, union } = read.value
            const budget = budgetOf(request)
            const keys = entryKeys(searches, shared)
            const foreign = keys.filter((key) => key !== undefined)
            // One token an entry: the request has taken one of its key's, and entries with keys of their own take
            // theirs.
            yield* access.takeTokens(caller, Math.max(0, searches.length - foreign.length - 1))
            const whole = (asking: Caller) =>
              charging(asking.organizationId, request, budget, (charge) =>
                many({ ...request, caller: asking }, charge, read.value)
              )
            if (foreign.length === 0) return yield* whole(caller)
            // Entries with keys of their own: each is decided by its own key, and one refusal refuses the request.
            const callers: Array<Caller> = []
            for (const key of keys) {
              callers.push(
                key === undefined
                  ? caller
                  : yield* access.check({
                      key,
                      scope: "search",
                      address: request.address,
                      origin: originOf(request.headers),
                      collection: undefined,
                      sessionId: caller.sessionId,
                      isRateFree: false,
                      isGateway: false
                    })
              )
            }
            if (callers.every(({ embedded, key }) => key.id === callers[0].key.id && embedded === undefined))
              return yield* whole(callers[0])
            if (union)
              return yield* new EngineRefusal({ message: "Searches of a union must share one key.", status: 400 })
            // One by one below, each entry would pass for a search of its own: every key's limit counts them all.
            for (const { embedded } of callers) {
              const limit = multiSearchesLimit(
                contextOf(caller.organizationId),
                shared,
                embedded === undefined ? {} : { embedded }
              )
              if (!limit.ok) return yield* searchReplyOf(limit)
              if (keys.length > limit.value)
                return yield* new EngineRefusal({
                  message: "Number of multi searches exceeds `limit_multi_searches` parameter.",
                  status: 400
                })
            }
            const entriesBy = (charges: ReadonlyMap<string, Charge>) =>
              Effect.gen(function* () {
                const results: Array<string> = []
                for (const [i, entry] of searches.entries()) {
                  const reply = yield* many(
                    { ...request, caller: callers[i] },
                    charges.get(callers[i].organizationId)!,
                    { ...read.value, searches: [entry] },
                    true
                  )
                  results.push(...reply.entries)
                }
                return yield* searchReplyOf({ ok: true, value: { status: 200, text: resultsText(results) } })
              })
            // One unit of each organization that is asked.
            const charged = (
              rest: ReadonlyArray<string>,
              charges: ReadonlyMap<string, Charge>
            ): Effect.Effect<SearchReply, DeclaredError> => {
              const [next, ...others] = rest
              return next === undefined
                ? entriesBy(charges)
                : charging(next, request, budget, (charge) => charged(others, new Map([...charges, [next, charge]])))
            }
            return yield* charged([...new Set(callers.map(({ organizationId }) => organizationId))], new Map())
          })
        })
      })
    )
}

/** The keys inside the entries of a multi-search (reference contract 6.7 item 7), by entry; a preset's are nobody's. */
const entryKeys = (
  searches: MultiSearch["searches"],
  shared: SearchRequest["shared"]
): ReadonlyArray<string | undefined> =>
  shared.preset !== undefined && shared.preset !== ""
    ? []
    : searches.map((entry) => {
        const key = entry["x-svc-api-key"] ?? entry["x-typesense-api-key"]
        return typeof key === "string" ? key : undefined
      })
