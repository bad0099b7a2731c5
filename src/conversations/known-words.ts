/** Which words of a question occur in the searched collections, in what the caller may see. */
import { Effect } from "effect"
import type { CollectionInfo } from "@dowser/engine-sdk"
import { type OperationContext, Reach } from "@dowser/engine-sdk/operations"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import type { Caller } from "../identity/caller.ts"
import { restrictionsOf } from "../identity/restrictions.ts"
import { type Parameters, type Searched, textFieldsOf } from "./asked.ts"
import type { Turn } from "./begin-turn.ts"
import { searchedWords } from "./questions.ts"

/** A collection as a caller sees it. */
export const seen = (
  context: OperationContext,
  caller: Caller,
  collection: CollectionInfo,
  parameters: Parameters
): Searched => {
  const { fields, name } = collection.schema
  const forced = new Reach(context, restrictionsOf(caller)).forcedFilter(collection)
  // If a filter cannot be applied, the search itself is refused.
  return {
    collection: name,
    parameters,
    fields,
    ...(forced.ok && forced.value !== undefined ? { filter: forced.value } : {})
  }
}
/**
 * Words of a question that occur in some searched collection, because a word that occurs nowhere finds nothing. All
 * words if none occurs, or if the engine cannot tell.
 */
export const makeKnownWords = Effect.map(makeContexts, (contextOf) =>
  Effect.fnUntraced(function* ({ language, organizationId }: Turn, meant: string, searched: ReadonlyArray<Searched>) {
    const words = searchedWords(meant, language)
    const { engine, namespace } = contextOf(organizationId)
    const isKnown = new Set<number>()
    for (const each of words.length === 0 ? [] : searched) {
      const fields = textFieldsOf(each)
      const asked = {
        collection: each.collection,
        fields,
        words,
        ...(each.filter === undefined ? {} : { filter: each.filter })
      }
      const used = fields.length === 0 ? undefined : yield* Effect.promise(async () => engine.words?.(namespace, asked))
      if (used?.ok !== true) return words
      for (const [at, { isBeginning, isIndexed }] of used.value.entries()) if (isIndexed || isBeginning) isKnown.add(at)
    }
    return isKnown.size === 0 ? words : words.filter((_, at) => isKnown.has(at))
  })
)
