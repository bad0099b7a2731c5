/**
 * The step of a search that applies a profile, between the request and its plan. Every way to name a profile passes
 * through here: the parameter, an entry of a multi-search, a secured key's embedded parameters, a browser key bound to
 * one, and the collection's default. Cost without a profile: two look-ups; with one: its parameters.
 */
import { type CollectionInfo, type EngineError, fail, notFound, ok, type Result } from "@dowser/engine-sdk"
import type { OperationContext, SearchRequest } from "@dowser/engine-sdk/operations"
import { covers, type FieldList, fillGaps, joinedFields, type Parameters } from "@dowser/engine-sdk/query"
import type { Caller } from "../identity/caller.ts"
import type { SearchPolicies } from "../policies/search-policies.ts"
import type { ManifestChange } from "./compile-manifest.ts"
import {
  baseParameters,
  type Ignored,
  type Profiled,
  profiledParameters,
  type ProfileFields,
  sortIdOf
} from "./profile-parameters.ts"
import { type ActingProfile, actingManifest } from "./acting-profile.ts"
import type { StoredProfile } from "./profiles-repository.ts"
import { type ReadyProfile, readyProfile } from "./ready-profile.ts"
import type { SearchProfiles } from "./search-profiles.ts"

/** What an answer reports about the profile that was applied. */
export interface UsedProfile {
  readonly name: string
  /** Null for a draft that applies immediately. */ readonly release_id: string | null
  readonly version: number | null
  /** Why it no longer fits the collection's schema; empty if it does. */
  readonly changes: ReadonlyArray<ManifestChange>
  readonly ignored: ReadonlyArray<Ignored>
  readonly per_page_max: number
  /** The weight of meaning relative to words. */ readonly meaning: number
  /** Fields whose facets it counts. */ readonly facets: ReadonlyArray<string>
  /** Fields that clients may filter by. */ readonly filterable: ReadonlyArray<string>
  /** A filter on everything that is shown; undefined if there is none. */ readonly bounds: SearchRequest["bounds"]
}
interface ProfiledRequest {
  readonly request: SearchRequest
  readonly used?: UsedProfile
}
export interface ProfileStepParts {
  readonly profiles: SearchProfiles["Service"]
  readonly policies: SearchPolicies["Service"]
}
/** The input of one search. */
interface ProfileStepInput {
  readonly context: OperationContext
  readonly caller: Pick<Caller, "organizationId" | "profile">
  readonly request: SearchRequest
  /** The fields that the caller may name and see; undefined = all. */ readonly fields: FieldList | undefined
  /**
   * The sort of a search around a point, added by the service itself; the collection's default profile does not change
   * such a search.
   */
  readonly distanceSort?: string | undefined
  /** Parameters of the service itself, besides what the profile searches. */ readonly own?: Parameters | undefined
}

const cannotApply = (message: string): Result<never, EngineError> => fail({ kind: "RestrictionNotApplicable", message })
const isBlank = (text: string | undefined): boolean => text === undefined || text.trim() === ""

/** The profile that applies; undefined if none does. NotFound for a name that the collection does not have. */
const profileOf = (
  { profiles }: ProfileStepParts,
  { caller, distanceSort, request }: ProfileStepInput,
  collection: CollectionInfo
): Result<StoredProfile | undefined> => {
  const { organizationId, profile: pin } = caller
  const { profile: name = "", query_by } = request.parameters
  if (pin !== undefined) {
    if (pin.collection !== collection.schema.name)
      return fail({ kind: "Closed", message: "The key is bound to a profile of another collection." })
    if (name !== "" && name !== pin.name)
      return cannotApply("The key is bound to another profile: its restriction cannot be applied to this one.")
    const pinned = profiles.byId(organizationId, pin.id)
    return pinned === undefined || pinned.collection_created_at !== collection.created_at
      ? cannotApply("The profile that the key is bound to is gone: its restriction cannot be applied.")
      : ok(pinned)
  }
  if (name !== "") {
    const profile = profiles.get(organizationId, collection, name)
    return profile === undefined ? fail(notFound(`Search profile \`${name.slice(0, 80)}\` not found.`)) : ok(profile)
  }
  return ok(
    isBlank(query_by) && distanceSort === undefined ? profiles.defaultOf(organizationId, collection) : undefined
  )
}

/** Applies a policy that the request names, under its own parameters. */
const withPolicy = ({ policies }: ProfileStepParts, { caller, request }: ProfileStepInput): Result<ProfiledRequest> => {
  const name = request.parameters.search_policy ?? ""
  if (name === "") return ok({ request })
  const policy = policies.get(caller.organizationId, name)
  if (policy === undefined) return fail(notFound(`Search policy \`${name.slice(0, 80)}\` not found.`))
  const parameters = fillGaps(request.parameters, policy.parameters)
  return parameters.ok ? ok({ request: { ...request, parameters: parameters.value } }) : parameters
}

/** The profile's fields that the caller may see; refused if the profile needs others to search or sort. */
const seenOf = ({ compiled }: ReadyProfile, sortId: string | undefined, fields: FieldList): Result<ProfileFields> => {
  const { facets, highlight, searchable } = compiled.fields
  const sees = (name: string) => covers(fields, name)
  const isSearchable = searchable.every(sees)
  const isSortable =
    sortId === undefined ||
    (compiled.sortFields.get(sortId) ?? []).every(({ collection, field }) =>
      covers(collection === undefined ? fields : joinedFields(fields, collection), field)
    )
  return isSearchable && isSortable
    ? ok({ searchable, facets: facets.filter(sees), highlight: highlight.filter(sees) })
    : cannotApply(
        "A restriction cannot be applied: the profile searches or sorts by fields that the key does not reach."
      )
}

const searched = (ready: ReadyProfile, asked: Parameters, fields: FieldList | undefined): Result<Profiled> => {
  const { compiled, isFilterable, manifest, policy } = ready
  const sort = sortIdOf(manifest, asked.sort)
  if (!sort.ok) return sort
  const sortId = sort.value !== undefined && compiled.sortFields.has(sort.value) ? sort.value : undefined
  if (fields === undefined)
    return profiledParameters(manifest, compiled.fields, ready.baseOf(sortId), asked, isFilterable)
  const seen = seenOf(ready, sortId, fields)
  if (!seen.ok) return seen
  const base = baseParameters(manifest, seen.value, policy?.parameters, sortId)
  return profiledParameters(manifest, seen.value, base, asked, isFilterable)
}

/** Applies the profile, or the policy that the request names. A missing collection is reported later. */
export const profiled = (parts: ProfileStepParts, input: ProfileStepInput): Result<ProfiledRequest> => {
  const { request } = input
  const { collection } = request
  if (collection === undefined) return ok({ request })
  const acting = profileOf(parts, input, collection)
  if (!acting.ok) return acting
  return acting.value === undefined ? withPolicy(parts, input) : profiledBy(parts, input, collection, acting.value)
}

/** Applies this profile, whatever the request names; it may also be unsaved. */
export const profiledBy = (
  parts: Pick<ProfileStepParts, "policies">,
  { caller, context, distanceSort, fields, request, own }: ProfileStepInput,
  collection: CollectionInfo,
  profile: ActingProfile
): Result<ProfiledRequest> => {
  const { search_policy } = actingManifest(profile)
  const policy = search_policy === "" ? undefined : parts.policies.get(caller.organizationId, search_policy)
  if (search_policy !== "" && policy === undefined)
    return fail(notFound(`Search policy \`${search_policy}\` not found.`))
  const ready = readyProfile(context, collection, profile, policy)
  const { changes, fixedFilter } = ready.compiled
  if (changes.some(({ path }) => path === "fixed_filter_by"))
    return cannotApply("The profile's fixed filter cannot be applied to the collection as it is now.")
  const made = searched(ready, request.parameters, fields)
  if (!made.ok) return made
  const bounds = fixedFilter === undefined ? undefined : { filter: fixedFilter }
  return ok({
    request: {
      ...request,
      parameters: {
        ...made.value.parameters,
        ...(distanceSort === undefined ? {} : { sort_by: distanceSort }),
        ...own
      },
      ...(bounds === undefined ? {} : { bounds })
    },
    used: {
      name: profile.name,
      release_id: profile.active?.id ?? null,
      version: profile.active?.version ?? null,
      changes,
      ignored: made.value.ignored,
      per_page_max: ready.manifest.per_page_max,
      meaning: ready.manifest.meaning?.weight ?? 0,
      facets: ready.compiled.fields.facets,
      filterable: ready.manifest.filterable_fields,
      bounds
    }
  })
}
