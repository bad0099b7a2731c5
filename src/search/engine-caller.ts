/**
 * What a key may see, as the engine package understands it: parameters of a secured key, the forced filter of a
 * collection as a parsed tree, and which collections a join may reach. Never text glued to text.
 */
import { invalid, notFound, ok, fail } from "../../engine-sdk/src/mod.ts"
import { type Caller as EngineCaller, type OperationContext, resolveCollection, searchResourcesOf } from "../../engine-sdk/src/operations/mod.ts"
import { fieldContextOf } from "../../engine-sdk/src/query/query-context.ts"
import { parseFilter } from "../../engine-sdk/src/query/filter-parser.ts"
import type { Caller } from "../access/caller.ts"
import { collectionMatches } from "../access/decision.ts"
import { forcedFilterParameter } from "../catalog/engine-plane.ts"

/** `onDenied` hears of a collection outside the key's list, so that the whole request can be refused. */
export const engineCallerOf = (context: OperationContext, caller: Caller, onDenied: () => void): EngineCaller => {
  const { key } = caller
  const forced = Object.keys(key.filter_by)
  const reaches = (name: string) => collectionMatches(name, key.collections)
  return {
    ...(caller.embedded === undefined ? {} : { embedded: caller.embedded }),
    // A joined collection under a filter of its own would be shown unfiltered: it cannot be joined.
    mayJoin: (name) => reaches(name) && !forced.includes(name) && !forced.includes("*"),
    refusalOf: (name) => {
      if (reaches(name)) return undefined
      onDenied()
      return notFound("Collection not found")
    },
    ...(forced.length === 0 ? {} : {
      forcedFilter: (collection) => {
        const text = key.filter_by[collection.schema.name] ?? key.filter_by["*"]
        if (text === undefined) return ok(undefined)
        const parsed = parseFilter(text, fieldContextOf(collection, {
          collectionOf: (name) => resolveCollection(context, name),
          limits: context.limits,
          resources: searchResourcesOf(context.resources, context.namespace)
        }, true, 4))
        // An empty filter would restrict nothing: it cannot be what the key's owner meant.
        return parsed.ok && parsed.value !== undefined ? parsed : fail(invalid("The key's filter cannot be applied.", forcedFilterParameter))
      }
    })
  }
}
