/**
 * The account of an answered search: its query id, created here and reported to the log from a bounded buffer, and what
 * an answer contains besides its hits: refinements, and explanations for the owner.
 */
import { stringifyJson } from "@dowser/engine-sdk/documents"
import type { CollectionInfo, FacetCount } from "@dowser/engine-sdk"
import type { Trace } from "@dowser/engine-sdk/pipeline"
import { reachesCollection } from "../identity/reach.ts"
import type { Caller } from "../identity/caller.ts"
import type { ServedExposure } from "@dowser/log/event-schema"
import type { SearchServed } from "./serve-log.ts"
import type { PopularQueries } from "../suggestions/popular-queries.ts"
import { facetRefinements, queryRefinements, type Refinement } from "../suggestions/refinements.ts"
import { seesWhole } from "../suggestions/sees-whole.ts"
import type { Shown } from "../experiments/experiment-step.ts"
import { INTERLEAVED } from "../experiments/schema.ts"
import type { UsedProfile } from "../profiles/profile-step.ts"
import { ignoredOf, isOn } from "../rules/search-merchandise.ts"
import type { SearchRequest } from "./request.ts"
import { visitorOf } from "../identity/visitor.ts"

/** What an account needs of a search; stored with a cached answer, which is counted again at every hit. */
export interface AccountedSearch {
  readonly collection: CollectionInfo
  /** The parameters of the request, the scoped key and the preset, merged. */
  readonly parameters: Readonly<Record<string, string>>
  readonly found: number
  /** False if a rule answered with a redirect, so that nothing was searched. */
  readonly asked: boolean
  /** Present if an experiment included it. */
  readonly exposure?: ServedExposure | undefined
}
interface AnsweredSearch extends AccountedSearch {
  /** As the request asked for them; none in a union. */
  readonly facet_counts: ReadonlyArray<FacetCount>
  /** Present if rules or stages acted: what they did. */
  readonly trace?: Trace | undefined
  /** The profile that set the parameters, if any. */
  readonly profile?: UsedProfile | undefined
  /** What an experiment showed. */
  readonly shown?: Shown | undefined
}

/** Explanations reveal rules and scores. They are for the owner, so not for search keys or tokens derived from them. */
export const mayExplain = ({ embedded, scope }: Caller): boolean => scope === "full" && embedded === undefined

const shownVariant = ({ experiment, isMerged, variant }: Shown): string =>
  JSON.stringify({ id: experiment.id, variant_id: isMerged === true ? INTERLEAVED : variant.id })
const shownProfile = ({ name, release_id, version }: UsedProfile): string =>
  JSON.stringify({ name, release_id, version })
const explained = (trace: Trace, parameters: AccountedSearch["parameters"], profile: UsedProfile | undefined) => ({
  ...trace,
  ignored: [...ignoredOf(parameters), ...(profile?.ignored ?? [])],
  ...(profile === undefined
    ? {}
    : { profile: { name: profile.name, broken: profile.changes.length > 0, changes: profile.changes } })
})

interface AccountsParts {
  readonly mint: (organizationId: string, visitor: string | undefined) => string
  readonly record: SearchServed["Service"]["record"]
  readonly popularQueries: PopularQueries["Service"]
  /** Distinguishes visitors invented on one network from many real ones; the address itself is stored nowhere. */
  readonly networkPrint: (organizationId: string, address: string) => number
}

export class SearchAccounts {
  readonly #parts: AccountsParts
  constructor(parts: AccountsParts) {
    this.#parts = parts
  }

  /**
   * Creates the query_id of one answered search and reports it. `named` is the caller's name for the collection;
   * `took_us` is called for searches in an experiment.
   */
  open(
    { address, caller, traits }: SearchRequest,
    named: string | undefined,
    { asked, collection, exposure, found, parameters }: AccountedSearch,
    took_us?: number
  ): string {
    const { mint, networkPrint, record } = this.#parts
    const { anonymous_id, country, device, session_id, surface, user_id } = visitorOf(
      parameters,
      traits,
      caller.sessionId
    )
    const query_id = mint(caller.organizationId, session_id ?? user_id ?? anonymous_id)
    record({
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
      ...(exposure === undefined
        ? {}
        : { experiment: took_us === undefined ? exposure : { ...exposure, took_us: Math.round(took_us) } }),
      network: networkPrint(caller.organizationId, address),
      isCounted: parameters.enable_analytics !== "false"
    })
    return query_id
  }

  /** JSON members that follow the `query_id`, each preceded by a comma. */
  members(caller: Caller, named: string | undefined, search: AnsweredSearch): string {
    const { parameters, profile, shown, trace } = search
    const refinements =
      parameters.refinements === "off"
        ? ""
        : `,"refinements":${JSON.stringify(this.#refinementsOf(caller, named, search))}`
    const members =
      refinements +
      (profile === undefined ? "" : `,"profile":${shownProfile(profile)}`) +
      (shown === undefined ? "" : `,"experiment":${shownVariant(shown)}`)
    return trace !== undefined && isOn(parameters, "debug") && mayExplain(caller)
      ? `${members},"explain":${stringifyJson(explained(trace, parameters, profile))}`
      : members
  }

  /** An array in every answer, empty if there is nothing to narrow by. From memory: some microseconds. */
  #refinementsOf(
    caller: Caller,
    named: string | undefined,
    { asked, collection, facet_counts, found, parameters }: AnsweredSearch
  ): ReadonlyArray<Refinement> {
    if (!asked) return []
    const names = new Set([collection.schema.name, named ?? parameters.collection ?? collection.schema.name])
    const popular = [...names]
      .filter((name) => reachesCollection(caller, name))
      .map((name) => this.#parts.popularQueries.known(caller.organizationId, name))
      .filter((index) => index !== undefined)
    return [
      ...(seesWhole(caller) ? queryRefinements(parameters.q ?? "", popular) : []),
      ...(found === 0 ? [] : facetRefinements(collection, found, facet_counts))
    ]
  }
}
