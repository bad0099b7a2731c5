/**
 * The path of one request: `prepare` (read, sessions, restrictions, plan, rules), taking the unit, `run`, another
 * query if that found too little (`rewriting.ts`), the account, and `write`. Later additions to a search are a step
 * before `run`, or after it, here.
 */
import { type Awaitable, type EngineError, fail, ok, type Result } from "@dowser/engine-sdk"
import type { CompiledRules } from "@dowser/engine-sdk/rules"
import {
  closed,
  type Environment,
  type FoundAnswer,
  isAway,
  isRestriction,
  type MultiSearch,
  type OperationContext,
  type PlannedSearch,
  prepareSearch,
  prepareSearches,
  prepareUnion,
  Reach,
  readSearch,
  readSearches,
  runSearch,
  runSearches,
  runUnion,
  type SearchRequest as ReadRequest,
  weigh,
  writeAnswer,
  writeFailure
} from "@dowser/engine-sdk/operations"
import type { Stages } from "@dowser/log/process/traces"
import type { Teams } from "@dowser/engine-sdk/experiments"
import { givingWay } from "@dowser/engine-sdk/host"
import { collectionClosed } from "../identity/reach.ts"
import { declaredOf } from "../engine-plane/engine-plane.ts"
import { RestrictionNotApplicable, SearchTimedOut, type SessionRequired } from "../http/errors.ts"
import type { ExperimentTable } from "../experiments/running-experiments.ts"
import { type ProfileStepParts } from "../profiles/profile-step.ts"
import { actingStrength, isImpersonal, type Personalization } from "../personalization/personalized.ts"
import type { NlSearch } from "../nl-search/nl-search.ts"
import { asksInWords, failedQuery, NL_ERROR, showsParsed } from "../nl-search/parsed-query.ts"
import type { FallbackMeanings } from "../embedding/fallback-meanings.ts"
import { ActingSearches } from "./acting.ts"
import { byMeaning } from "./by-meaning.ts"
import { mayMerge, mergeHits } from "./interleaved.ts"
import type { SearchFailure } from "./search-errors.ts"
import type { SearchRules } from "../rules/search-rules.ts"
import { type SearchWithAnswer, type Rewritten, rewritten } from "./rewriting.ts"
import { isAsking, type MadeAnswer, understoodMembers } from "./understood-answer.ts"
import type { Understanding } from "../understanding/understanding.ts"
import { type AccountedSearch, mayExplain, type SearchAccounts } from "./accounts.ts"
import type { Charge } from "./charge.ts"
import type { SearchRequest } from "./request.ts"
import { restrictionsOf, sessionRefusal } from "../identity/restrictions.ts"
import { isOn, searchMerchandise } from "../rules/search-merchandise.ts"
import { visitorOf } from "../identity/visitor.ts"
import { checkedParameters, pagedBy, setDistances, timesOf, withOrder } from "./asked-parts.ts"

export type Outcome<A> = Result<A, SearchFailure>
const refusedBy = (error: EngineError): Outcome<never> => fail(declaredOf(error))
/** The client disconnected; the search must not be recorded. */
const abandoned = () => fail(new SearchTimedOut({ message: "The request was abandoned before its answer was ready." }))

/** One answered search inside an answer, without its query id, which is inserted between `open` and `rest`. */
interface WrittenSearch {
  readonly open: string
  readonly rest: string
  readonly search: AccountedSearch
}
/** The result of a request's searches. */
export interface Written {
  /** JSON text of the one answer, or of each entry of a multi-search (`isMany`). */
  readonly texts: ReadonlyArray<string>
  readonly isMany: boolean
  readonly searches: ReadonlyArray<WrittenSearch>
  readonly failures: ReadonlyArray<EngineError>
}
/** An answer's text with its query id inserted. */
export const identified = ({ open, rest }: WrittenSearch, query_id: string): string =>
  closed(open, `"query_id":"${query_id}"${rest}`)

export interface AskedParts extends ProfileStepParts {
  readonly rules: SearchRules["Service"]
  readonly accounts: SearchAccounts
  readonly understanding: Understanding["Service"]
  readonly words: Pick<NlSearch["Service"], "meant">
  /** The running experiments. */ readonly experiments: ExperimentTable
  readonly personalization: Pick<Personalization["Service"], "personalized">
  readonly meanings: Pick<FallbackMeanings["Service"], "near">
  readonly now_ms: () => number
}

export class AskedSearch {
  readonly #parts: AskedParts
  readonly #request: SearchRequest
  readonly #charge: Charge
  readonly #signal: AbortSignal
  /** Set if this search is traced. */ readonly #stages: Stages | undefined
  readonly #began = performance.now()
  readonly #context: OperationContext
  readonly #environment: Environment
  readonly #reach: Reach
  readonly #acting: ActingSearches
  #isPersonal = false

  constructor(
    parts: AskedParts,
    request: SearchRequest,
    charge: Charge,
    context: OperationContext,
    environment: Environment,
    signal: AbortSignal,
    stages: Stages | undefined
  ) {
    this.#parts = parts
    this.#request = request
    this.#charge = charge
    this.#signal = signal
    this.#stages = stages
    this.#context = context
    this.#environment = environment
    this.#reach = new Reach(context, restrictionsOf(request.caller))
    this.#acting = new ActingSearches(parts, request, context, this.#reach)
  }

  /** A search of the collection that the path names. */
  async one(name: string): Promise<Outcome<Written>> {
    const asked = readSearch(this.#context, name, this.#request.shared, this.#reach.restrictions)
    if (!asked.ok) return refusedBy(asked.error)
    const meant = await this.#meant(asked.value)
    if (!meant.ok) return meant
    const drawn = this.#acting.experimented(meant.value)
    if (!drawn.ok) return this.#refusedByProfile(drawn.error)
    this.#acting.keepNlQuery(meant.value, drawn.value)
    const read = await this.#fused(drawn.value)
    const order = checkedParameters(read.parameters)
    if (!order.ok) return refusedBy(order.error)
    const refused = this.#sessionOf([read])
    if (refused !== undefined) return fail(refused)
    this.#stages?.ended("read, profile, experiment")
    const prepared = await prepareSearch(this.#context, read, this.#reach)
    if (!prepared.ok) return refusedBy(prepared.error)
    this.#stages?.ended("plan")
    const planned = await this.#payable([prepared.value])
    if (!planned.ok) return planned
    this.#stages?.ended("rules, personalization")
    const [search] = planned.value
    const found = await runSearch(this.#context, search!, this.#environment)
    if (!found.ok) return refusedBy(found.error)
    this.#stages?.ended("engine", timesOf(found.value))
    const made = await this.#made(read, { search: search!, found: found.value })
    this.#stages?.ended("rewriting, interleaving")
    const written = await this.#whole(made, name)
    this.#stages?.ended("account, write")
    return written
  }

  /** Searches with other words if too little was found, or merges two rankings if an experiment compares them. */
  async #made(request: ReadRequest, answered: SearchWithAnswer): Promise<Rewritten> {
    const made = await this.#rewritten(request, answered)
    const against = this.#acting.against.get(request.parameters)
    if (against === undefined) return made
    const shown = this.#acting.shown.get(request.parameters)!
    const teams = made.used === undefined ? await this.#merged(made, against, shown.against!.seed) : undefined
    const exposure = teams === undefined ? undefined : { ...shown.exposure!, teams }
    this.#acting.shown.set(made.search.parameters, { ...shown, exposure, isMerged: teams !== undefined })
    return made
  }
  async #merged({ found, search }: SearchWithAnswer, against: ReadRequest, seed: string): Promise<Teams | undefined> {
    if (!mayMerge(search, found)) return undefined
    const prepared = await prepareSearch(this.#context, against, this.#reach)
    if (!prepared.ok) return undefined
    const planned = await this.#payable([prepared.value])
    const other = planned.ok ? await runSearch(this.#context, planned.value[0]!, this.#environment) : planned
    return other.ok ? mergeHits(search, found, other.value, seed) : undefined
  }

  /** The same search with other words, if it found too little. */
  #rewritten(request: ReadRequest, answered: SearchWithAnswer): Promise<Rewritten> {
    const [context, reach] = [this.#context, this.#reach]
    return rewritten(
      {
        context,
        account: this.#charge.rewrites,
        again: async (q) => {
          const parameters = { ...request.parameters, q }
          this.#acting.keep(request.parameters, parameters)
          const prepared = await prepareSearch(context, { ...request, parameters }, reach)
          if (!prepared.ok) return prepared
          const planned = await this.#payable([prepared.value])
          if (!planned.ok) return planned
          const [search] = planned.value
          const found = await runSearch(context, search!, this.#environment)
          return found.ok ? ok({ search: search!, found: found.value }) : found
        }
      },
      answered
    )
  }

  /** Several searches: each with its own result or failure, or as a union with one ranked list. */
  async many(searches: MultiSearch): Promise<Outcome<Written>> {
    const read = readSearches(this.#context, searches, this.#request.shared, this.#reach.restrictions)
    if (!read.ok) return refusedBy(read.error)
    if (read.value.length === 0) return ok({ texts: [], isMany: true, searches: [], failures: [] })
    if (!read.value.every(({ name }) => this.#reach.reaches(name))) return fail(collectionClosed())
    const requests: Array<ReadRequest> = []
    // Concurrently, so that a slow model is waited for only once.
    for (const meant of await Promise.all(read.value.map((each) => this.#meant(each)))) {
      if (!meant.ok) return meant
      requests.push(meant.value)
    }
    // A union is one answer to several searches, so no experiment could attribute it.
    const profiled = requests.map((request) => {
      const made = searches.union ? this.#acting.profiled(request) : this.#acting.experimented(request)
      if (made.ok) this.#acting.keepNlQuery(request, made.value)
      return made
    })
    for (const each of profiled) if (!each.ok && isRestriction(each.error)) return this.#refusedByProfile(each.error)
    if (!searches.union)
      for (const [i, each] of profiled.entries()) if (each.ok) profiled[i] = ok(await this.#fused(each.value))
    const refused = this.#sessionOf(profiled.flatMap((each) => (each.ok ? [each.value] : [])))
    if (refused !== undefined) return fail(refused)
    if (!searches.union) return this.#separate(profiled)
    const failed = profiled.find((each) => !each.ok)
    if (failed !== undefined && !failed.ok) return this.#unionFailed(failed.error)
    return this.#union(
      profiled.flatMap((each) => (each.ok ? [each.value] : [])),
      searches.removeDuplicates
    )
  }

  /**
   * Interprets a search in words (`src/nl-search`). Nothing is spent on a search that is malformed or refused; the
   * model's result only narrows the request, and is dropped if it cannot be searched.
   */
  async #meant(asked: ReadRequest): Promise<Outcome<ReadRequest>> {
    const { collection, parameters } = asked
    if (!asksInWords(parameters) || collection === undefined) return ok(asked)
    if (this.#charge.unit.refusal !== undefined || sessionRefusal(this.#request.caller, parameters) !== undefined)
      return ok(asked)
    const plain = this.#acting.profiled(asked)
    if (!plain.ok || !(await prepareSearch(this.#context, plain.value, this.#reach)).ok) return ok(asked)
    const made = await this.#parts.words.meant({
      caller: this.#request.caller,
      isPaid: this.#request.isPaid === true,
      context: this.#context,
      reach: this.#reach,
      collection,
      parameters,
      bounds: plain.value.bounds,
      filterable: this.#acting.used.get(plain.value.parameters)?.filterable,
      signal: this.#signal
    })
    if (!made.ok) return made
    const own = { ...asked, parameters: made.value.parameters }
    const narrowed = this.#acting.profiled(own)
    const prepared = narrowed.ok ? await prepareSearch(this.#context, narrowed.value, this.#reach) : narrowed
    const { parsed } = made.value
    const request = prepared.ok ? own : { ...asked, parameters: { ...parameters } }
    this.#acting.nlQueries.set(request.parameters, {
      q: parameters.q ?? "",
      parsed: prepared.ok
        ? parsed
        : failedQuery(parameters, `${NL_ERROR} ${prepared.error.message}`, parsed.parse_time_ms)
    })
    return ok(request)
  }
  /** Also searches by meaning if its profile says so (`by-meaning.ts`). */
  async #fused(request: ReadRequest): Promise<ReadRequest> {
    const used = this.#acting.used.get(request.parameters)
    if (used === undefined || used.meaning === 0) return request
    const { organizationId } = this.#request.caller
    const fused = await byMeaning(this.#parts.meanings, organizationId, request, this.#reach.fields, used.meaning)
    if (fused === request) return request
    this.#acting.keep(request.parameters, fused.parameters)
    return fused
  }
  #refusedByProfile(error: EngineError): Outcome<never> {
    return error.kind === "RestrictionNotApplicable"
      ? fail(new RestrictionNotApplicable({ message: error.message }))
      : refusedBy(error)
  }

  async #separate(profiled: ReadonlyArray<Result<ReadRequest>>): Promise<Outcome<Written>> {
    const requests = profiled.flatMap((each) => (each.ok ? [each.value] : []))
    const plans = await prepareSearches(this.#context, requests, this.#reach)
    if (!plans.ok) return refusedBy(plans.error)
    // An entry that its profile refused keeps its position.
    let next = 0
    const prepared = profiled.map((each) => (each.ok ? withOrder(plans.value[next++]!, each.value) : each))
    const planned = await this.#payable(prepared.flatMap((plan) => (plan.ok ? [plan.value] : [])))
    if (!planned.ok) return planned
    this.#stages?.ended("read, plan", { "dowser.searches": planned.value.length })
    const answers = await runSearches(this.#context, planned.value, this.#environment)
    if (!answers.ok) return refusedBy(answers.error)
    this.#stages?.ended("engine")
    const give = givingWay()
    const texts: Array<string> = [],
      searches: Array<WrittenSearch> = [],
      failures: Array<EngineError> = []
    let at = 0
    for (const [i, plan] of prepared.entries()) {
      const request = profiled[i]!
      const search = plan.ok ? planned.value[at] : undefined
      const result = plan.ok ? answers.value[at++]! : plan
      if (!result.ok) {
        failures.push(result.error)
        texts.push(writeFailure(result.error))
      } else if (search !== undefined && request.ok) {
        const found = result.value as FoundAnswer
        const written = await this.#written(await this.#made(request.value, { search, found }), undefined)
        if (!written.ok) return written
        texts.push(written.value.text)
        searches.push(written.value.search)
        await give()
      }
    }
    this.#stages?.ended("rewriting, account, write")
    return ok({ texts, isMany: true, searches, failures })
  }

  async #union(requests: ReadonlyArray<ReadRequest>, removeDuplicates: boolean): Promise<Outcome<Written>> {
    const order = requests.map(({ parameters }) => checkedParameters(parameters)).find(({ ok: isFine }) => !isFine)
    if (order?.ok === false) return this.#unionFailed(order.error)
    const shared = pagedBy(
      this.#request.shared,
      requests.flatMap(({ parameters }) => this.#acting.used.get(parameters) ?? [])
    )
    const union = await prepareUnion(this.#context, requests, this.#reach, shared, removeDuplicates)
    if (!union.ok) return this.#unionFailed(union.error)
    const planned = await this.#payable(union.value.searches)
    if (!planned.ok) return planned
    this.#stages?.ended("read, plan", { "dowser.searches": planned.value.length })
    const found = await runUnion(this.#context, { ...union.value, searches: planned.value }, this.#environment)
    if (!found.ok) return this.#unionFailed(found.error)
    this.#stages?.ended("engine")
    for (const [i, params] of found.value.answer.union_request_params.entries()) {
      const nlQuery = this.#acting.nlQueries.get(requests[i]?.parameters ?? {})
      if (nlQuery !== undefined) Object.assign(params, { q: nlQuery.q, first_q: nlQuery.q })
    }
    // One answer, one account: the first entry's query over its collection represents all.
    const [search] = planned.value
    return this.#whole({ search: search!, found: found.value, typed: search!.parameters.q ?? "", tried: [] }, undefined)
  }
  /** Decision: a failed union is a 200 answer with an error, unless the engine failed or is unavailable. */
  #unionFailed(error: EngineError): Outcome<Written> {
    return isAway(error) || isRestriction(error) || this.#charge.budget.refusal !== undefined
      ? refusedBy(error)
      : ok({ texts: [writeFailure(error)], isMany: false, searches: [], failures: [error] })
  }

  /** An AI operation without a session is refused before it is planned; a missing collection, before that. */
  #sessionOf(requests: ReadonlyArray<ReadRequest>): SessionRequired | undefined {
    for (const { collection, parameters } of requests) {
      const refused = collection === undefined ? undefined : sessionRefusal(this.#request.caller, parameters)
      if (refused !== undefined) return refused
    }
    return undefined
  }

  /**
   * Adds the rules of their collections to the searches. An exhausted quota is answered here, after malformed searches
   * were refused and before anything costly was done.
   */
  #payable(searches: ReadonlyArray<PlannedSearch>): Awaitable<Outcome<ReadonlyArray<PlannedSearch>>> {
    const { refusal } = this.#charge.unit
    if (refusal !== undefined && searches.length > 0) return fail(refusal)
    const ruled: Array<PlannedSearch> = []
    for (const search of searches) {
      const rules = this.#rulesOf(search)
      if (!rules.ok) return rules
      const merchandise = searchMerchandise({
        rules: rules.value,
        parameters: search.parameters,
        visitor: () => visitorOf(search.parameters, this.#request.traits, this.#request.caller.sessionId),
        isImpersonal: isImpersonal(this.#request.caller),
        now_ms: this.#parts.now_ms(),
        explain: isOn(search.parameters, "debug") && mayExplain(this.#request.caller)
      })
      const plan = isAsking(search.parameters.q) ? { ...search.plan, corrects: true } : search.plan
      ruled.push(merchandise === undefined ? { ...search, plan } : { ...search, plan, merchandise })
    }
    return this.#personalized(ruled)
  }
  /** Adds what is known of the visitor to personalized searches. */
  #personalized(searches: ReadonlyArray<PlannedSearch>): Awaitable<Outcome<ReadonlyArray<PlannedSearch>>> {
    const { caller, traits } = this.#request
    const strengths = searches.map((search) => actingStrength(caller, search))
    if (strengths.every((strength) => strength === 0)) return ok(searches)
    this.#isPersonal = true
    const made = searches.map(async (search, i) =>
      strengths[i] === 0
        ? search
        : this.#parts.personalization.personalized(search, {
            organizationId: caller.organizationId,
            visiting: visitorOf(search.parameters, traits, caller.sessionId),
            context: this.#context,
            strength: strengths[i]!
          })
    )
    return Promise.all(made).then(ok)
  }
  /** Whether its answer is specific to one visitor, who may act at any moment. */
  get isPersonal(): boolean {
    return this.#isPersonal
  }

  /** The collection's rules, or those that an experiment shows instead. */
  #rulesOf({ collection, parameters }: PlannedSearch): Outcome<CompiledRules | undefined> {
    const shown = this.#acting.shown.get(parameters)?.variant.rules
    return shown === undefined
      ? this.#parts.rules.compiled(this.#request.caller.organizationId, collection)
      : ok(shown.compiled(this.#context, collection))
  }

  async #whole(answered: MadeAnswer, named: string | undefined): Promise<Outcome<Written>> {
    const written = await this.#written(answered, named)
    return written.ok
      ? ok({ texts: [written.value.text], isMany: false, searches: [written.value.search], failures: [] })
      : written
  }
  /** The text is written before the search is counted: an answer that cannot be sent must not count. */
  async #written(
    made: MadeAnswer,
    named: string | undefined
  ): Promise<Outcome<{ readonly text: string; readonly search: WrittenSearch }>> {
    const { found, search: planned } = made
    const { caller, distanceField } = this.#request
    if (distanceField !== undefined) setDistances(found, distanceField)
    const nlQuery = this.#acting.nlQueries.get(planned.parameters)
    const asked_q = this.#request.typed ?? nlQuery?.q
    if (asked_q !== undefined && "request_params" in found.answer)
      found.answer.request_params = { ...found.answer.request_params, first_q: asked_q, q: asked_q }
    const open = writeAnswer(planned, found)
    if (!open.ok) return refusedBy(open.error)
    const typed = asked_q ?? made.typed
    const understood = await this.#understood({ ...made, typed })
    if (this.#signal.aborted) return abandoned()
    const { answer, asked, trace } = found
    this.#isPersonal ||= trace?.fallback === "recommendations"
    const shown = this.#acting.shown.get(planned.parameters)
    const search: AccountedSearch = {
      collection: planned.collection,
      // The query that the visitor typed is reported, whichever query found the hits.
      parameters:
        made.used === undefined && asked_q === undefined ? planned.parameters : { ...planned.parameters, q: typed },
      found: answer.found,
      asked,
      exposure: shown?.exposure
    }
    const query_id = this.#parts.accounts.open(this.#request, named, search, 1_000 * (performance.now() - this.#began))
    this.#charge.isUsed ||= asked
    const profile = this.#acting.used.get(planned.parameters)
    const facet_counts = "facet_counts" in answer ? answer.facet_counts : []
    const { parameters } = planned
    const rest =
      understood +
      (nlQuery === undefined || !showsParsed(parameters)
        ? ""
        : `,"parsed_nl_query":${JSON.stringify(nlQuery.parsed)}`) +
      this.#parts.accounts.members(caller, named, { ...search, parameters, facet_counts, trace, profile, shown })
    const written = { open: open.value, rest, search }
    const weighed = weigh(this.#charge.budget, rest.length)
    return weighed.ok ? ok({ text: identified(written, query_id), search: written }) : refusedBy(weighed.error)
  }
  async #understood(made: MadeAnswer): Promise<string> {
    if (!isAsking(made.typed)) return ""
    const { search } = made
    const profile = this.#acting.used.get(search.parameters)
    const understood = await this.#parts.understanding.of({
      caller: this.#request.caller,
      context: this.#context,
      reach: this.#reach,
      search,
      looks: this.#charge.looks,
      until: this.#charge.until,
      q: search.parameters.q ?? "",
      ...(profile === undefined ? {} : { fields: profile.facets, bounds: profile.bounds })
    })
    return understoodMembers(made, understood)
  }
}
