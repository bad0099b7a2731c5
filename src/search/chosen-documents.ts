/**
 * Documents chosen otherwise than by words: searches of `*` that are subject to the caller's key, its profile and the
 * collection's rules, restricted to given ids. One request is one unit and one query id, however many searches it
 * takes; it is not reported as a visitor's search.
 */
import { type EngineError, fail, type Hit, ok, type Result } from "@dowser/engine-sdk"
import {
  type Environment,
  type OperationContext,
  type PlannedSearch,
  prepareSearch,
  Reach,
  readSearch,
  runSearch
} from "@dowser/engine-sdk/operations"
import type { CompiledRules } from "@dowser/engine-sdk/rules"
import { declaredOf } from "../engine-plane/engine-plane.ts"
import { RestrictionNotApplicable } from "../http/errors.ts"
import { restrictionsOf } from "../identity/restrictions.ts"
import { NO_TRAITS, visitorOf } from "../identity/visitor.ts"
import { profiled, type ProfileStepParts } from "../profiles/profile-step.ts"
import { searchMerchandise } from "../rules/search-merchandise.ts"
import type { SearchRules } from "../rules/search-rules.ts"
import type { Outcome } from "./asked-search.ts"
import type { Charge } from "./charge.ts"
import type { SearchRequest } from "./request.ts"

/** Parameters in addition to the request's own, and the only documents that may be found. */
export interface ChosenAsked {
  readonly parameters?: Readonly<Record<string, string>>
  /** How many, 1 to 250, regardless of a profile's page length. */ readonly limit: number
  readonly ids?: ReadonlyArray<string>
}
type ChosenParts = ProfileStepParts & {
  readonly rules: SearchRules["Service"]
  readonly now_ms: () => number
}

export class ChosenDocuments {
  readonly #parts: ChosenParts
  readonly #request: SearchRequest
  readonly #charge: Charge
  readonly #context: OperationContext
  readonly #environment: Environment
  readonly #reach: Reach
  readonly #name: string
  /** The last search that was answered. */ answered: PlannedSearch | undefined

  constructor(
    parts: ChosenParts,
    request: SearchRequest,
    charge: Charge,
    context: OperationContext,
    environment: Environment,
    name: string
  ) {
    this.#parts = parts
    this.#request = request
    this.#charge = charge
    this.#context = context
    this.#environment = environment
    this.#reach = new Reach(context, restrictionsOf(request.caller))
    this.#name = name
  }

  /** Hits in the engine's order. Cost: one engine call. */
  async find({ ids, limit, parameters = {} }: ChosenAsked): Promise<Outcome<ReadonlyArray<Hit>>> {
    const planned = await this.#planned(parameters)
    if (!planned.ok) return fail(this.#refusal(planned.error))
    const { refusal } = this.#charge.unit
    if (refusal !== undefined) return fail(refusal)
    const { caller } = this.#request
    const search = planned.value
    const rules = this.#parts.rules.compiled(caller.organizationId, search.collection)
    if (!rules.ok) return rules
    const merchandise = searchMerchandise({
      rules: rules.value === undefined ? undefined : excluding(rules.value),
      parameters: search.parameters,
      visitor: () => visitorOf(search.parameters, NO_TRAITS, caller.sessionId),
      now_ms: this.#parts.now_ms(),
      explain: false
    })
    const page = { ...search.plan, offset: 0, limit, group: undefined }
    const plan = ids === undefined ? page : { ...page, filter: only(page.filter, ids) }
    const found = await runSearch(
      this.#context,
      merchandise === undefined ? { ...search, plan } : { ...search, plan, merchandise },
      this.#environment
    )
    if (!found.ok) return fail(declaredOf(found.error))
    this.#charge.isUsed = true
    this.answered = search
    const { answer } = found.value
    return ok(answer.hits ?? [])
  }
  async #planned(parameters: Readonly<Record<string, string>>): Promise<Result<PlannedSearch>> {
    const { caller, shared } = this.#request
    const read = readSearch(this.#context, this.#name, { ...shared, ...parameters }, this.#reach.restrictions)
    if (!read.ok) return read
    const step = profiled(this.#parts, {
      context: this.#context,
      caller,
      request: read.value,
      fields: this.#reach.fields
    })
    return step.ok ? prepareSearch(this.#context, step.value.request, this.#reach) : step
  }
  #refusal(error: EngineError) {
    return error.kind === "RestrictionNotApplicable"
      ? new RestrictionNotApplicable({ message: error.message })
      : declaredOf(error)
  }
}
/** Of a collection's rules only those that hide documents: promotions apply to searches. */
export const excluding = (rules: CompiledRules): CompiledRules => {
  const known = excludings.get(rules)
  if (known !== undefined) return known
  const { effects, ruleSet } = rules
  const own: CompiledRules = {
    ...rules,
    ruleSet: { ...ruleSet, zero_hits_fallback: "none", diversity: [], rerank: { ...ruleSet.rerank, enabled: false } },
    effects: effects.map(() => ({ kind: "suggestion", suggestions: [] })),
    boosts: undefined
  }
  excludings.set(rules, own)
  return own
}
const excludings = new WeakMap<CompiledRules, CompiledRules>()
type Filter = PlannedSearch["plan"]["filter"]
const only = (filter: Filter, ids: ReadonlyArray<string>): Filter => {
  const left = { kind: "ids", ids } as const
  return filter === undefined ? left : { kind: "and", left, right: filter }
}
