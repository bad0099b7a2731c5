/**
 * Values of a collection's facet fields, as filters that a visitor may want. Restrictions of the caller's key are part
 * of the engine call, so a key never learns a value that only documents outside its filter have.
 *
 * Decision: the first four text facets, in schema order, 1,000 values each. For callers that see every document the
 * values are cached for half a minute and completed with typo tolerance; what a restricted key may see is requested
 * from the engine each time, because a document may leave its filter at any moment.
 */
import { BoundedMap } from "@dowser/engine-sdk/host"
import { type CollectionInfo, type FacetCount, type Field, ok, type Result } from "@dowser/engine-sdk"
import { mayName, type OperationContext, Reach, type SearchRequest, seenFieldsOf } from "@dowser/engine-sdk/operations"
import type { FieldList } from "@dowser/engine-sdk/query"
import { Clock, Effect } from "effect"
import type { Caller } from "../identity/caller.ts"
import type { SearchTimedOut } from "../http/errors.ts"
import { declaredOf, makeContexts } from "../engine-plane/engine-plane.ts"
import { restrictionsOf } from "../identity/restrictions.ts"
import type { EngineFailure } from "../engine-plane/engine-errors.ts"
import { facetCountsOf } from "./facet-counts.ts"
import { SearchPolicies } from "../policies/search-policies.ts"
import { profiled, type ProfileStepParts } from "../profiles/profile-step.ts"
import { SearchProfiles } from "../profiles/search-profiles.ts"
import { seesWhole } from "./sees-whole.ts"
import { valueFilter } from "./filter-text.ts"
import { inSlices } from "./typeahead/sliced.ts"
import { type Completable, foldText, Typeahead } from "./typeahead/typeahead.ts"

interface FacetValue extends Completable {
  readonly value: string
  readonly filter_by: string
}
const FIELDS_MAX = 4
const VALUES_MAX = 1_000
/** Per field, if values are requested each time. */
const RESTRICTED_VALUES_MAX = 250
const VALUE_CHARACTERS_MAX = 100
const FRESH_MS = 30_000
/** Maximum size of all collections together, and the overhead of a collection. */
const BYTES_MAX = 64_000_000,
  COLLECTION_BYTES = 1_000

const isFacetText = ({ facet, index, name, type }: Field): boolean =>
  facet && index && (type === "string" || type === "string[]") && !name.includes("*")

/** Fields that the key hides are not used here. Nothing is joined. */
const fieldsOf = ({ schema }: CollectionInfo, caller: Caller): ReadonlyArray<string> => {
  const seen = seenFieldsOf(restrictionsOf(caller), (name) => name)
  return schema.fields
    .filter(isFacetText)
    .map(({ name }) => name)
    .filter((name) => mayName(seen, name))
    .slice(0, FIELDS_MAX)
}

interface CachedFacetValues {
  readonly created_at: number
  index: Typeahead<FacetValue>
  read_at: number
  isBusy: boolean
}

/** Applies the profile that the key is bound to; the sources of other callers are not restricted by one. */
const stepOf =
  (parts: ProfileStepParts, context: OperationContext, caller: Caller, fields: FieldList | undefined) =>
  (request: SearchRequest): Result<SearchRequest> => {
    if (caller.profile === undefined && (request.parameters.profile ?? "") === "") return ok(request)
    const step = profiled(parts, { context, caller, request, fields })
    return step.ok ? ok(step.value.request) : step
  }

type Failure = EngineFailure | SearchTimedOut
type Values = ReadonlyArray<FacetValue>

/** The parts of a signed key that restrict the counted documents. */
const narrowed = (caller: Caller): Caller => {
  const { filter_by, preset, profile } = caller.embedded ?? {}
  return {
    ...caller,
    embedded:
      caller.embedded === undefined
        ? undefined
        : {
            ...(filter_by === undefined ? {} : { filter_by }),
            ...(preset === undefined ? {} : { preset }),
            ...(profile === undefined ? {} : { profile })
          }
  }
}
/** Most frequent first; the same word in two fields would be suggested twice without a visible difference. */
const valuesOf = (facets: ReadonlyArray<FacetCount>): Values => {
  const found: Array<FacetValue> = []
  const seen = new Set<string>()
  for (const { counts, field_name } of facets) {
    for (const { count, value } of counts) {
      const filter = valueFilter(field_name, value)
      if (filter === undefined || count === 0 || value.length > VALUE_CHARACTERS_MAX || seen.has(value)) continue
      seen.add(value)
      found.push({ label: value, value, filter_by: filter, score: count, count })
    }
  }
  return found.sort((a, b) => b.count - a.count)
}
/** Values that begin with what was typed, then those with a word that does. */
const matching = (values: Values, typed: string, limit: number): Values => {
  const text = foldText(typed)
  if (text === "") return values.slice(0, limit)
  const begins = (value: FacetValue) => foldText(value.label).startsWith(text)
  const has = (value: FacetValue) => foldText(value.label).includes(` ${text}`)
  return [...values.filter(begins), ...values.filter((value) => !begins(value) && has(value))].slice(0, limit)
}

/** Values with their numbers of documents. One engine call over every document that the caller sees. */
const makeRead = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const parts: ProfileStepParts = { profiles: yield* SearchProfiles, policies: yield* SearchPolicies }
  return (caller: Caller, collection: CollectionInfo, values_max: number): Effect.Effect<Values, Failure> => {
    const fields = fieldsOf(collection, caller)
    if (fields.length === 0) return Effect.succeed([])
    const context = contextOf(caller.organizationId)
    const asked = {
      q: "*",
      per_page: 0,
      facet_by: fields.join(","),
      max_facet_values: values_max,
      enable_curations: false
    }
    return Effect.flatMap(
      Effect.promise(() => {
        const reach = new Reach(context, restrictionsOf(narrowed(caller)))
        const step = stepOf(parts, context, caller, reach.fields)
        return facetCountsOf(context, reach, collection.schema.name, asked, step)
      }),
      (facets) => (facets.ok ? Effect.succeed(valuesOf(facets.value)) : Effect.fail(declaredOf(facets.error)))
    )
  }
})

/** Indexes for callers that see every document, reloaded after half a minute. */
const makeIndexes = Effect.gen(function* () {
  const read = yield* makeRead
  const clock = yield* Clock.Clock
  const scope = yield* Effect.scope
  const held = new BoundedMap<string, CachedFacetValues>({
    bytes_max: BYTES_MAX,
    bytesOf: (_key, { index }) => COLLECTION_BYTES + index.bytes
  })

  const refresh = (caller: Caller, collection: CollectionInfo, known: CachedFacetValues | undefined) =>
    Effect.gen(function* () {
      const index = yield* inSlices(Typeahead.build(yield* read(caller, collection, VALUES_MAX)))
      const key = `${caller.organizationId}\n${collection.schema.name}`
      const fresh: CachedFacetValues = {
        created_at: collection.created_at,
        index,
        read_at: clock.currentTimeMillisUnsafe(),
        isBusy: false
      }
      held.set(key, fresh)
      return fresh.index
    }).pipe(
      Effect.ensuring(
        Effect.sync(() => {
          if (known !== undefined) known.isBusy = false
        })
      )
    )

  const indexOf = (
    caller: Caller,
    collection: CollectionInfo
  ): Effect.Effect<Typeahead<FacetValue>, EngineFailure | SearchTimedOut> =>
    Effect.suspend(() => {
      const known = held.get(`${caller.organizationId}\n${collection.schema.name}`)
      if (known === undefined || known.created_at !== collection.created_at)
        return refresh(caller, collection, undefined)
      if (known.isBusy || clock.currentTimeMillisUnsafe() - known.read_at < FRESH_MS) return Effect.succeed(known.index)
      known.isBusy = true
      return Effect.as(
        Effect.forkIn(
          Effect.catch(refresh(caller, collection, known), (error) =>
            Effect.logError("Facet values could not be read; the ones of before are suggested meanwhile", error)
          ),
          scope
        ),
        known.index
      )
    })
  return indexOf
})

export const makeFacetValues = Effect.gen(function* () {
  const read = yield* makeRead
  const indexOf = yield* makeIndexes
  return {
    /** Values that begin, or have a word that begins, with what was typed; the most frequent if nothing was typed. */
    complete: (
      caller: Caller,
      collection: CollectionInfo,
      typed: string,
      limit: number
    ): Effect.Effect<Values, Failure> =>
      seesWhole(caller)
        ? Effect.map(indexOf(caller, collection), (index) => index.complete(typed, limit).map(({ item }) => item))
        : Effect.map(read(caller, collection, RESTRICTED_VALUES_MAX), (values) => matching(values, typed, limit))
  }
})
