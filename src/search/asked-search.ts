/**
 * One request's way through the three steps: `prepare` (read, sessions, restrictions, plan, rules), the unit, `run`,
 * another query where it found too little (`rewriting.ts`), the account, `write`. What is added to a search later is a
 * step before `run`, or after it, here.
 */
import { type EngineError, fail, ok, type Result, type UnionAnswer } from "@dowser/engine-sdk"
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
import { givingWay } from "@dowser/engine-sdk/host"
import { collectionClosed } from "../identity/reach.ts"
import { declaredOf } from "../engine-plane/engine-plane.ts"
import { RestrictionNotApplicable, SearchTimedOut, type SessionRequired } from "../http/errors.ts"
import { profiled, type ProfileStepParts, type UsedProfile } from "../profiles/profile-step.ts"
import type { SearchFailure } from "./search-errors.ts"
import type { SearchRules } from "../rules/search-rules.ts"
import { type Answered, type Rewritten, rewriteOrderOf, rewritten } from "./rewriting.ts"
import { isAsking, type MadeAnswer, understoodMembers } from "./understood-answer.ts"
import type { Understanding } from "../understanding/understanding.ts"
import { type AccountedSearch, mayExplain, type SearchAccounts } from "./accounts.ts"
import type { Charge } from "./charge.ts"
import type { SearchRequest } from "./request.ts"
import { restrictionsOf, sessionRefusal } from "../identity/restrictions.ts"
import { isOn, searchMerchandise } from "../rules/search-merchandise.ts"
import { visitorOf } from "../identity/visitor.ts"

export type Outcome<A> = Result<A, SearchFailure>
const refusedBy = (error: EngineError): Outcome<never> => fail(declaredOf(error))
/** Nobody waits for the answer any more: nothing is counted of it, and nobody reads this. */
const abandoned = () => fail(new SearchTimedOut({ message: "The request was given up before its answer was made." }))

/** One answered search inside an answer, without its query id, which stands between `open` and `rest`. */
interface WrittenSearch {
  readonly open: string
  readonly rest: string
  readonly search: AccountedSearch
}
/** What a request's searches came to. */
export interface Written {
  /** JSON text of the one answer, or of each entry of a multi-search (`isMany`). */
  readonly texts: ReadonlyArray<string>
  readonly isMany: boolean
  readonly searches: ReadonlyArray<WrittenSearch>
  readonly failures: ReadonlyArray<EngineError>
}
/** An answer's text with its query id in place. */
export const identified = ({ open, rest }: WrittenSearch, query_id: string): string =>
  closed(open, `"query_id":"${query_id}"${rest}`)

export interface AskedParts extends ProfileStepParts {
  readonly rules: SearchRules["Service"]
  readonly accounts: SearchAccounts
  readonly understanding: Understanding["Service"]
  readonly now_ms: () => number
}

export class AskedSearch {
  readonly #parts: AskedParts
  readonly #request: SearchRequest
  readonly #charge: Charge
  readonly #signal: AbortSignal
  readonly #context: OperationContext
  readonly #environment: Environment
  readonly #reach: Reach
  /** The profiles that act, by the parameters that they made, which plans carry. */
  readonly #used = new Map<ReadRequest["parameters"], UsedProfile>()

  constructor(
    parts: AskedParts,
    request: SearchRequest,
    charge: Charge,
    context: OperationContext,
    environment: Environment,
    signal: AbortSignal
  ) {
    this.#parts = parts
    this.#request = request
    this.#charge = charge
    this.#signal = signal
    this.#context = context
    this.#environment = environment
    this.#reach = new Reach(context, restrictionsOf(request.caller))
  }

  /** A search of the collection that the path names. */
  async one(name: string): Promise<Outcome<Written>> {
    const asked = readSearch(this.#context, name, this.#request.shared, this.#reach.restrictions)
    if (!asked.ok) return refusedBy(asked.error)
    const read = this.#profiled(asked.value)
    if (!read.ok) return this.#refusedByProfile(read.error)
    const order = rewriteOrderOf(read.value.parameters)
    if (!order.ok) return refusedBy(order.error)
    const refused = this.#sessionOf([read.value])
    if (refused !== undefined) return fail(refused)
    const prepared = await prepareSearch(this.#context, read.value, this.#reach)
    if (!prepared.ok) return refusedBy(prepared.error)
    const planned = this.#payable([prepared.value])
    if (!planned.ok) return planned
    const [search] = planned.value
    const found = await runSearch(this.#context, search!, this.#environment)
    if (!found.ok) return refusedBy(found.error)
    return this.#whole(await this.#rewritten(read.value, { search: search!, found: found.value }), name)
  }

  /** The same search with other words where it found too little. */
  #rewritten(request: ReadRequest, answered: Answered): Promise<Rewritten> {
    const [context, reach] = [this.#context, this.#reach]
    return rewritten(
      {
        context,
        account: this.#charge.rewrites,
        again: async (q) => {
          const parameters = { ...request.parameters, q }
          const used = this.#used.get(request.parameters)
          if (used !== undefined) this.#used.set(parameters, used)
          const prepared = await prepareSearch(context, { ...request, parameters }, reach)
          if (!prepared.ok) return prepared
          const planned = this.#payable([prepared.value])
          if (!planned.ok) return planned
          const [search] = planned.value
          const found = await runSearch(context, search!, this.#environment)
          return found.ok ? ok({ search: search!, found: found.value }) : found
        }
      },
      answered
    )
  }

  /** Several searches: each with its own result or failure, or as a union one ranked list. */
  async many(searches: MultiSearch): Promise<Outcome<Written>> {
    const read = readSearches(this.#context, searches, this.#request.shared, this.#reach.restrictions)
    if (!read.ok) return refusedBy(read.error)
    const requests = read.value
    if (requests.length === 0) return ok({ texts: [], isMany: true, searches: [], failures: [] })
    if (!requests.every(({ name }) => this.#reach.reaches(name))) return fail(collectionClosed())
    const profiled = requests.map((request) => this.#profiled(request))
    for (const each of profiled) if (!each.ok && isRestriction(each.error)) return this.#refusedByProfile(each.error)
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

  /** What the profile of the request makes of it, or the policy that it names (`src/profiles/profile-step.ts`). */
  #profiled(request: ReadRequest): Result<ReadRequest> {
    const { caller, distanceField } = this.#request
    const step = profiled(this.#parts, {
      context: this.#context,
      caller,
      request,
      fields: this.#reach.fields,
      distanceSort: distanceField === undefined ? undefined : distanceSortOf(request.parameters)
    })
    if (!step.ok) return step
    if (step.value.used !== undefined) this.#used.set(step.value.request.parameters, step.value.used)
    return ok(step.value.request)
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
    // What its profile refused keeps its place.
    let next = 0
    const prepared = profiled.map((each) => (each.ok ? withOrder(plans.value[next++]!, each.value) : each))
    const planned = this.#payable(prepared.flatMap((plan) => (plan.ok ? [plan.value] : [])))
    if (!planned.ok) return planned
    const answers = await runSearches(this.#context, planned.value, this.#environment)
    if (!answers.ok) return refusedBy(answers.error)
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
        const written = await this.#written(await this.#rewritten(request.value, { search, found }), undefined)
        if (!written.ok) return written
        texts.push(written.value.text)
        searches.push(written.value.search)
        await give()
      }
    }
    return ok({ texts, isMany: true, searches, failures })
  }

  async #union(requests: ReadonlyArray<ReadRequest>, removeDuplicates: boolean): Promise<Outcome<Written>> {
    const order = requests.map(({ parameters }) => rewriteOrderOf(parameters)).find(({ ok: isFine }) => !isFine)
    if (order?.ok === false) return this.#unionFailed(order.error)
    const shared = pagedBy(
      this.#request.shared,
      requests.flatMap(({ parameters }) => this.#used.get(parameters) ?? [])
    )
    const union = await prepareUnion(this.#context, requests, this.#reach, shared, removeDuplicates)
    if (!union.ok) return this.#unionFailed(union.error)
    const planned = this.#payable(union.value.searches)
    if (!planned.ok) return planned
    const found = await runUnion(this.#context, { ...union.value, searches: planned.value }, this.#environment)
    if (!found.ok) return this.#unionFailed(found.error)
    // One answer, one account: the first entry's query over its collection stands for the whole.
    const [search] = planned.value
    return this.#whole({ search: search!, found: found.value, typed: search!.parameters.q ?? "", tried: [] }, undefined)
  }
  /** Decision: a failed union is an answer of 200 that says so, but where the engine failed, or it is not to be had. */
  #unionFailed(error: EngineError): Outcome<Written> {
    return isAway(error) || isRestriction(error) || this.#charge.budget.refusal !== undefined
      ? refusedBy(error)
      : ok({ texts: [writeFailure(error)], isMany: false, searches: [], failures: [error] })
  }

  /** An AI operation without a session is refused before it is planned; a collection that is missing, before that. */
  #sessionOf(requests: ReadonlyArray<ReadRequest>): SessionRequired | undefined {
    for (const { collection, parameters } of requests) {
      const refused = collection === undefined ? undefined : sessionRefusal(this.#request.caller, parameters)
      if (refused !== undefined) return refused
    }
    return undefined
  }

  /**
   * The searches with the rules of their collections. Here a quota that is used up answers: a search that is wrong in
   * itself was told so, and nothing that costs was done.
   */
  #payable(searches: ReadonlyArray<PlannedSearch>): Outcome<ReadonlyArray<PlannedSearch>> {
    const { refusal } = this.#charge.unit
    if (refusal !== undefined && searches.length > 0) return fail(refusal)
    const ruled: Array<PlannedSearch> = []
    for (const search of searches) {
      const rules = this.#parts.rules.compiled(this.#request.caller.organizationId, search.collection)
      if (!rules.ok) return rules
      const merchandise = searchMerchandise({
        rules: rules.value,
        parameters: search.parameters,
        visitor: () => visitorOf(search.parameters, this.#request.traits, this.#request.caller.sessionId),
        now_ms: this.#parts.now_ms(),
        explain: isOn(search.parameters, "debug") && mayExplain(this.#request.caller)
      })
      const plan = isAsking(search.parameters.q) ? { ...search.plan, corrects: true } : search.plan
      ruled.push(merchandise === undefined ? { ...search, plan } : { ...search, plan, merchandise })
    }
    return ok(ruled)
  }

  async #whole(answered: MadeAnswer, named: string | undefined): Promise<Outcome<Written>> {
    const written = await this.#written(answered, named)
    return written.ok
      ? ok({ texts: [written.value.text], isMany: false, searches: [written.value.search], failures: [] })
      : written
  }
  /** The text is made, then the search is accounted for: what cannot be sent was not answered. */
  async #written(
    made: MadeAnswer,
    named: string | undefined
  ): Promise<Outcome<{ readonly text: string; readonly search: WrittenSearch }>> {
    const { found, search: planned } = made
    const { caller, distanceField } = this.#request
    if (distanceField !== undefined) sayDistances(found, distanceField)
    const open = writeAnswer(planned, found)
    if (!open.ok) return refusedBy(open.error)
    const understood = await this.#understood(made)
    if (this.#signal.aborted) return abandoned()
    const { answer, asked, trace } = found
    const search: AccountedSearch = {
      collection: planned.collection,
      // What the visitor typed is reported, whatever was found with.
      parameters: made.used === undefined ? planned.parameters : { ...planned.parameters, q: made.typed },
      found: answer.found,
      asked
    }
    const query_id = this.#parts.accounts.open(this.#request, named, search)
    this.#charge.isUsed ||= asked
    const profile = this.#used.get(planned.parameters)
    const facet_counts = "facet_counts" in answer ? answer.facet_counts : []
    const { parameters } = planned
    const rest =
      understood + this.#parts.accounts.members(caller, named, { ...search, parameters, facet_counts, trace, profile })
    const written = { open: open.value, rest, search }
    const weighed = weigh(this.#charge.budget, rest.length)
    return weighed.ok ? ok({ text: identified(written, query_id), search: written }) : refusedBy(weighed.error)
  }
  async #understood(made: MadeAnswer): Promise<string> {
    if (!isAsking(made.typed)) return ""
    const { search } = made
    const profile = this.#used.get(search.parameters)
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

/** Also of the parameters that this program reads itself, one that is wrong fails its entry. */
const withOrder = (plan: Result<PlannedSearch>, { parameters }: ReadRequest): Result<PlannedSearch> => {
  const order = plan.ok ? rewriteOrderOf(parameters) : undefined
  return order?.ok === false ? order : plan
}

/** The order of a search around a point, which the gateway puts before the caller's (`src/gateway/search-body.ts`). */
const distanceSortOf = ({ sort_by = "" }: ReadRequest["parameters"]): string => {
  const end = sort_by.indexOf("):asc")
  return end < 0 ? sort_by : sort_by.slice(0, end + "):asc".length)
}
/** A merged list is no longer than the shortest page that a profile in it allows. */
const pagedBy = (shared: SearchRequest["shared"], used: ReadonlyArray<UsedProfile>): SearchRequest["shared"] => {
  const max = Math.min(...used.map(({ per_page_max }) => per_page_max))
  const asked = shared.per_page ?? shared.limit ?? "10"
  return /^\d+$/.test(asked) && Number(asked) > max ? { ...shared, per_page: String(max) } : shared
}
const sayDistances = ({ answer }: FoundAnswer | FoundAnswer<UnionAnswer>, field: string): void => {
  for (const hit of answer.hits ?? answer.grouped_hits?.flatMap(({ hits }) => hits) ?? []) {
    const distance_m = hit.geo_distance_meters?.[field]
    if (distance_m !== undefined) hit.distance_m = distance_m
  }
}
