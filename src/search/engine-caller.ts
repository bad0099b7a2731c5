/**
 * What a key may see, as the engine package understands it: parameters of a secured key, the filters that a collection
 * is seen through as a parsed tree, the fields that may be named and shown, and which collections a join may reach.
 * Never text glued to text.
 */
import { type CollectionInfo, invalid, notFound, ok, fail, type Result } from "../../engine-sdk/src/mod.ts"
import {
  type Caller as EngineCaller,
  joinable,
  type OperationContext,
  resolveCollection,
  searchResourcesOf
} from "../../engine-sdk/src/operations/mod.ts"
import { fieldContextOf } from "../../engine-sdk/src/query/query-context.ts"
import { allOf, parseFilter } from "../../engine-sdk/src/query/filter-parser.ts"
import type { Filter } from "../../engine-sdk/src/plan.ts"
import type { Caller } from "../identity/caller.ts"
import { collectionClosed } from "../access/check/decision.ts"
import { forcedFilterParameter } from "../catalog/engine-plane.ts"
import { forcedTextsOf } from "../catalog/forced-filters.ts"
import { reachesNamed } from "../catalog/reached.ts"
import { RestrictionNotApplicable, SessionRequired } from "../http/errors.ts"
import type { DeclaredError } from "../http/render.ts"
import { seenFieldsOf } from "./seen-fields.ts"

/** Parameters that make a search an AI operation (contract part 1). */
const isAiSearch = (parameters: Readonly<Record<string, string>>): boolean =>
  ["nl_query", "conversation"].some((name) => parameters[name] === "true" || parameters[name] === "1") ||
  (parameters.voice_query ?? "") !== ""

/** Parameters in which a text may join collections. */
const JOINING = ["filter_by", "include_fields", "exclude_fields", "sort_by", "facet_by", "facet_query"] as const
/**
 * Whether the texts of a request join something by that name; not all that is joined is: a curation of the tenant's
 * may.
 */
const joins = (parameters: Readonly<Record<string, string>>, name: string): boolean => {
  const joined = `$${name}`.replace(/\s+/g, "")
  return JOINING.some((parameter) => parameters[parameter]?.replace(/\s+/g, "").includes(joined) === true)
}

type Bounds = Pick<EngineCaller, "fields" | "mayJoin">

/**
 * `refuse` hears of what refuses the whole request, be it one entry of many: a part of an answer is no answer to that.
 */
export const engineCallerOf = (
  context: OperationContext,
  caller: Caller,
  refuse: (error: DeclaredError) => void
): EngineCaller => {
  const { key } = caller
  const realNameOf = (name: string) => resolveCollection(context, name)?.schema.name
  const reaches = (name: string) => reachesNamed(context, caller, name)
  const forcedOf = (name: string) => forcedTextsOf(context, key.filter_by, name)
  const { filter_by: signed, ...embedded } = caller.embedded ?? {}
  const isRestricted = signed !== undefined || Object.keys(key.filter_by).length > 0
  /** Forced filters that let everything through: the owner has said that the collection is open. */
  const isOpen = (collection: CollectionInfo): boolean =>
    forcedOf(collection.schema.name).every((text) => {
      const filter = textParsed(text, collection, {})
      return filter.ok && filter.value?.kind === "all"
    })
  const isFiltered = (name: string): boolean => {
    const collection = Object.keys(key.filter_by).length === 0 ? undefined : resolveCollection(context, name)
    return collection !== undefined && !isOpen(collection)
  }
  const signedFits = (name: string): boolean => {
    const collection = typeof signed === "string" ? resolveCollection(context, name) : undefined
    return collection !== undefined && textParsed(String(signed), collection, {}).ok
  }
  const textParsed = (
    text: string,
    collection: CollectionInfo,
    { fields, mayJoin }: Bounds
  ): Result<Filter | undefined> =>
    parseFilter(
      text,
      fieldContextOf(
        collection,
        {
          collectionOf: (name) => joinable(context, mayJoin === undefined ? {} : { mayJoin }, name),
          limits: context.limits,
          ...(fields === undefined ? {} : { fields }),
          resources: searchResourcesOf(context.resources, context.namespace)
        },
        true,
        4
      )
    )
  /** What is searched for; undefined for what asks documents in other ways, where every text is the caller's. */
  let searched: Readonly<Record<string, string>> | undefined
  const seen = seenFieldsOf(caller, realNameOf)
  /**
   * What the key itself may join and name: what is signed with it may be about fields that the signed parameters hide.
   */
  const bounds = {
    // A joined collection under a filter of its own would be shown unfiltered: it cannot be joined. A signed filter is
    // one of every collection that it fits, the searched one among them, to which a second join may lead back.
    mayJoin: (name: string) => {
      const isClosed = !reaches(name) || !reaches(realNameOf(name) ?? name)
      if (isClosed && (searched === undefined || joins(searched, name))) refuse(collectionClosed())
      return !isClosed && !isFiltered(name) && !signedFits(name)
    },
    ...(key.fields.length === 0 ? {} : { fields: key.fields })
  } satisfies Bounds
  const parsed = (text: unknown, collection: CollectionInfo, held: Bounds): Result<Filter | undefined> => {
    const filter = typeof text === "string" ? textParsed(text, collection, held) : undefined
    // An empty filter would restrict nothing: it cannot be what was meant.
    if (filter?.ok === true && filter.value !== undefined) return filter
    return fail(invalid("The key's filter cannot be applied.", forcedFilterParameter))
  }
  return {
    mayJoin: (name) => bounds.mayJoin(name) && seen.mayJoin(realNameOf(name) ?? name),
    ...(seen.fields === undefined ? {} : { fields: seen.fields }),
    ...(caller.embedded === undefined ? {} : { embedded }),
    refusalOf: (name) => {
      if (reaches(name)) return undefined
      refuse(collectionClosed())
      return notFound("Collection not found")
    },
    refusalOfSearch: (parameters) => {
      searched = parameters
      if (caller.scope === "full" || caller.sessionId !== undefined || !isAiSearch(parameters)) return undefined
      const error = new SessionRequired({ message: "Header `X-SVC-SESSION-ID` is required." })
      refuse(error)
      return invalid(error.message)
    },
    ...(!isRestricted
      ? {}
      : {
          onUnfiltered: () =>
            refuse(new RestrictionNotApplicable({ message: "The key's filter cannot be applied to this collection." })),
          forcedFilter: (collection) => {
            let forced: Filter | undefined
            const texts = forcedOf(collection.schema.name)
            // Refused before, where a caller names it; what comes here by itself is refused too.
            if (texts.length === 0 && Object.keys(key.filter_by).length > 0)
              return fail(invalid("The key's filter does not reach the collection.", forcedFilterParameter))
            for (const text of texts) {
              const own = parsed(text, collection, {})
              if (!own.ok) return own
              forced = allOf(forced, own.value)
            }
            // Whoever has the parent key can sign: what the parent may not join or name, no key signed with it may.
            const narrowed = signed === undefined ? ok(undefined) : parsed(signed, collection, bounds)
            return narrowed.ok ? ok(allOf(forced, narrowed.value)) : narrowed
          }
        })
  }
}
