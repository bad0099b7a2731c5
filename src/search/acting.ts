/**
 * What profiles, policies and experiments did to the searches of one request. The notes are keyed by the parameters
 * object that each step created; plans carry that object along.
 */
import { type CollectionInfo, ok, type Result } from "@dowser/engine-sdk"
import { type OperationContext, Reach, type SearchRequest as ReadRequest } from "@dowser/engine-sdk/operations"
import { type Shown, shownBy, withParams } from "../experiments/experiment-step.ts"
import type { ExperimentTable } from "../experiments/running-experiments.ts"
import { profiled, profiledBy, type ProfileStepParts, type UsedProfile } from "../profiles/profile-step.ts"
import { type NlQuery } from "../nl-search/parsed-query.ts"
import { mayExplain } from "./accounts.ts"
import type { SearchRequest } from "./request.ts"
import { isOn } from "../rules/search-merchandise.ts"

type Parameters = ReadRequest["parameters"]
/** The sort order of a search around a point, which the gateway prepends (`src/gateway/search-body.ts`). */
const distanceSortOf = ({ sort_by = "" }: ReadRequest["parameters"]): string => {
  const end = sort_by.indexOf("):asc")
  return end < 0 ? sort_by : sort_by.slice(0, end + "):asc".length)
}

export class ActingSearches {
  /** The profile that was applied to each search. */ readonly used = new Map<Parameters, UsedProfile>()
  /** What experiments changed in their searches. */ readonly shown = new Map<Parameters, Shown>()
  /** Searches whose hits are merged into those of another, by the other's parameters. */
  readonly against = new Map<Parameters, ReadRequest>()
  /** How searches in words were interpreted. */ readonly nlQueries = new Map<Parameters, NlQuery>()
  readonly #parts: ProfileStepParts & { readonly experiments: ExperimentTable }
  readonly #request: SearchRequest
  readonly #context: OperationContext
  readonly #reach: Reach

  constructor(
    parts: ProfileStepParts & { readonly experiments: ExperimentTable },
    request: SearchRequest,
    context: OperationContext,
    reach: Reach
  ) {
    this.#parts = parts
    this.#request = request
    this.#context = context
    this.#reach = reach
  }
  /** Copies the notes about a request's parameters to those that a step derived from them. */
  keep(before: Parameters, after: Parameters): void {
    const used = this.used.get(before),
      shown = this.shown.get(before),
      against = this.against.get(before),
      nlQuery = this.nlQueries.get(before)
    if (used !== undefined) this.used.set(after, used)
    if (shown !== undefined) this.shown.set(after, shown)
    if (against !== undefined) this.against.set(after, against)
    if (nlQuery !== undefined) this.nlQueries.set(after, nlQuery)
  }
  /** Copies only how the words were interpreted, because a step determined the rest anew. */
  keepNlQuery({ parameters: before }: ReadRequest, { parameters: after }: ReadRequest): void {
    const nlQuery = this.nlQueries.get(before)
    if (nlQuery !== undefined) this.nlQueries.set(after, nlQuery)
  }

  /** Applies the profile of the request, or the policy that it names (`src/profiles/profile-step.ts`). */
  profiled(request: ReadRequest): Result<ReadRequest> {
    const step = profiled(this.#parts, this.#profiling(request))
    if (!step.ok) return step
    if (step.value.used !== undefined) this.used.set(step.value.request.parameters, step.value.used)
    return ok(step.value.request)
  }
  #profiling(request: ReadRequest) {
    const { caller, distanceField, own } = this.#request
    return {
      context: this.#context,
      caller,
      request,
      fields: this.#reach.fields,
      distanceSort: distanceField === undefined ? undefined : distanceSortOf(request.parameters),
      own
    }
  }
  /** Applies a running experiment of its collection to a search (`src/experiments/experiment-step.ts`). */
  experimented(request: ReadRequest): Result<ReadRequest> {
    const { organizationId } = this.#request.caller
    const { collection } = request
    const running =
      collection === undefined ? undefined : this.#parts.experiments.of(organizationId, collection.schema.name)
    const acting = this.profiled(request)
    if (running === undefined || !acting.ok || collection === undefined) return acting
    const { parameters } = acting.value
    const profile = this.used.get(parameters)?.name
    const { caller } = this.#request
    const drawn = shownBy(running, {
      preset: request.preset,
      profile,
      sessionId: caller.sessionId,
      parameters,
      mayForce: isOn(parameters, "debug") && mayExplain(caller)
    })
    if (!drawn.ok || drawn.value === undefined) return drawn.ok ? acting : drawn
    const { against } = drawn.value
    const first = this.#shownTo(request, collection, acting.value, drawn.value)
    if (against === undefined) return ok(first)
    const second = this.#shownTo(request, collection, acting.value, { ...drawn.value, variant: against.variant })
    // A search that one of the rankings cannot answer is not compared.
    if (first === acting.value || second === acting.value) return acting
    this.against.set(first.parameters, second)
    return ok(first)
  }
  /** A search that its variant makes invalid runs without it, and does not take part. */
  #shownTo(asked: ReadRequest, collection: CollectionInfo, acting: ReadRequest, shown: Shown): ReadRequest {
    const { caller } = this.#request
    const { params = {}, profile } = shown.variant
    let request = acting
    let used = this.used.get(acting.parameters)
    if (profile !== undefined) {
      const other = this.#parts.profiles.get(caller.organizationId, collection, profile)
      const step = other === undefined ? undefined : profiledBy(this.#parts, this.#profiling(asked), collection, other)
      if (step === undefined || !step.ok) return acting
      request = step.value.request
      used = step.value.used
    }
    // A separate object, which plans carry along: it identifies what was shown.
    const parameters = withParams(request.parameters, params, caller.embedded)
    if (used !== undefined) this.used.set(parameters, used)
    this.shown.set(parameters, shown)
    return { ...request, parameters }
  }
}
