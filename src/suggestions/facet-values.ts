/**
 * Values of a collection's facet fields, as filters that a visitor may want. Restrictions of the caller's key go to the
 * engine with the question, so a key never learns a value that only documents outside its filter have.
 *
 * Decision: the first four facet fields of text, in the order of the schema, 1,000 values each. For callers that see
 * every document the values are kept for half a minute and completed with typing errors; what a restricted key may see
 * is asked of the engine each time, because a document may leave its filter at any moment.
 */
import { BoundedMap } from "@dowser/engine-sdk/host"
import { type CollectionInfo, type FacetCount, type Field, ok, type Result } from "@dowser/engine-sdk"
import {
  mayName,
  type OperationContext,
  prepareSearch,
  Reach,
  readSearch,
  runSearch,
  seenFieldsOf
} from "@dowser/engine-sdk/operations"
import { Clock, Effect } from "effect"
import type { Caller } from "../identity/caller.ts"
import { declaredOf, makeContexts } from "../engine-plane/engine-plane.ts"
import { restrictionsOf } from "../identity/restrictions.ts"
import type { DeclaredError } from "../http/render.ts"
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
/** Of each field, where they are asked for anew each time. */
const RESTRICTED_VALUES_MAX = 250
const VALUE_CHARACTERS_MAX = 100
const FRESH_MS = 30_000
/** Of all collections together; what a collection takes beside its values. */
const BYTES_MAX = 64_000_000,
  COLLECTION_BYTES = 1_000

const isFacetText = ({ facet, index, name, type }: Field): boolean =>
  facet && index && (type === "string" || type === "string[]") && !name.includes("*")

/** What the key's own selection of fields hides stays hidden here. Nothing is joined. */
const fieldsOf = ({ schema }: CollectionInfo, caller: Caller): ReadonlyArray<string> => {
  const seen = seenFieldsOf(restrictionsOf(caller), (name) => name)
  return schema.fields
    .filter(isFacetText)
    .map(({ name }) => name)
    .filter((name) => mayName(seen, name))
    .slice(0, FIELDS_MAX)
}

interface Held {
  readonly created_at: number
  index: Typeahead<FacetValue>
  read_at: number
  isBusy: boolean
}

/** Facets of a search as the caller may make it. */
const facetsOf = async (
  context: OperationContext,
  reach: Reach,
  name: string,
  asked: { readonly [name: string]: unknown }
): Promise<Result<ReadonlyArray<FacetCount>>> => {
  const request = readSearch(context, name, asked, reach.restrictions)
  if (!request.ok) return request
  const planned = await prepareSearch(context, request.value, reach)
  if (!planned.ok) return planned
  const found = await runSearch(context, planned.value)
  return found.ok ? ok(found.value.answer.facet_counts) : found
}

export const makeFacetValues = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const clock = yield* Clock.Clock
  const scope = yield* Effect.scope
  const held = new BoundedMap<string, Held>({
    bytes_max: BYTES_MAX,
    bytesOf: (_key, { index }) => COLLECTION_BYTES + index.bytes
  })

  /** Values with the documents that have them, most first. One engine call over every document that the caller sees. */
  const read = (
    caller: Caller,
    collection: CollectionInfo,
    values_max: number
  ): Effect.Effect<ReadonlyArray<FacetValue>, DeclaredError> => {
    const fields = fieldsOf(collection, caller)
    if (fields.length === 0) return Effect.succeed([])
    const context = contextOf(caller.organizationId)
    const { filter_by, preset } = caller.embedded ?? {}
    const restricted = {
      ...caller,
      embedded:
        caller.embedded === undefined
          ? undefined
          : { ...(filter_by === undefined ? {} : { filter_by }), ...(preset === undefined ? {} : { preset }) }
    }
    return Effect.flatMap(
      Effect.promise(() =>
        facetsOf(context, new Reach(context, restrictionsOf(restricted)), collection.schema.name, {
          q: "*",
          per_page: 0,
          facet_by: fields.join(","),
          max_facet_values: values_max,
          enable_curations: false
        })
      ),
      (facets) => {
        if (!facets.ok) return Effect.fail(declaredOf(facets.error))
        const found: Array<FacetValue> = []
        const seen = new Set<string>()
        for (const { counts, field_name } of facets.value) {
          for (const { count, value } of counts) {
            const filter = valueFilter(field_name, value)
            // The same word in two fields would be offered twice without a visible difference.
            if (filter === undefined || count === 0 || value.length > VALUE_CHARACTERS_MAX || seen.has(value)) continue
            seen.add(value)
            found.push({ label: value, value, filter_by: filter, score: count, count })
          }
        }
        return Effect.succeed(found.sort((a, b) => b.count - a.count))
      }
    )
  }

  const refresh = (caller: Caller, collection: CollectionInfo, known: Held | undefined) =>
    Effect.gen(function* () {
      const index = yield* inSlices(Typeahead.build(yield* read(caller, collection, VALUES_MAX)))
      const key = `${caller.organizationId}\n${collection.schema.name}`
      const fresh: Held = {
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

  const indexOf = (caller: Caller, collection: CollectionInfo): Effect.Effect<Typeahead<FacetValue>, DeclaredError> =>
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

  return {
    /**
     * Values that begin, or have a word that begins, with what was typed; the most frequent ones when that is nothing.
     */
    complete: (
      caller: Caller,
      collection: CollectionInfo,
      typed: string,
      limit: number
    ): Effect.Effect<ReadonlyArray<FacetValue>, DeclaredError> => {
      if (seesWhole(caller))
        return Effect.map(indexOf(caller, collection), (index) => index.complete(typed, limit).map(({ item }) => item))
      const text = foldText(typed)
      return Effect.map(read(caller, collection, RESTRICTED_VALUES_MAX), (values) => {
        if (text === "") return values.slice(0, limit)
        const begins = (value: FacetValue) => foldText(value.label).startsWith(text),
          has = (value: FacetValue) => foldText(value.label).includes(` ${text}`)
        return [...values.filter(begins), ...values.filter((value) => !begins(value) && has(value))].slice(0, limit)
      })
    }
  }
})
