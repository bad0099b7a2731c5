/**
 * How rare words are in the collections of a question, counted by one-word searches over what the caller may see, so
 * that a word that only hidden documents contain has the weight of one that does not occur.
 */
import { Effect } from "effect"
import { nextTurn } from "@dowser/log/process/next-turn"
import type { CollectionInfo } from "@dowser/engine-sdk"
import { type OperationContext, prepareSearch, Reach, readSearch, runSearch } from "@dowser/engine-sdk/operations"
import { covers } from "@dowser/engine-sdk/query"
import { sourcesOf } from "../../embedding/own-field.ts"
import type { Caller } from "../../identity/caller.ts"
import { restrictionsOf } from "../../identity/restrictions.ts"

/** Limit per question; further words get the weight of words that do not occur. */
const WORDS_MAX = 16
/** Limit of counts per question; each is of one word in one collection. */
const COUNTS_MAX = 64
const COUNTS_AT_ONCE = 4

type WeightOf = (term: string) => number
const weight = (documents: number, count: number): number => Math.log(1 + (documents - count + 0.5) / (count + 0.5))

const countOf = async (context: OperationContext, reach: Reach, { schema }: CollectionInfo, word: string) => {
  const fields = sourcesOf(schema).filter((name) => reach.fields === undefined || covers(reach.fields, name))
  if (fields.length === 0) return 0
  const asked = {
    q: word,
    query_by: fields.join(","),
    per_page: "0",
    prefix: "false",
    num_typos: "0",
    drop_tokens_threshold: "0",
    typo_tokens_threshold: "0",
    enable_curations: "false",
    enable_analytics: "false"
  }
  const read = readSearch(context, schema.name, asked, reach.restrictions)
  if (!read.ok) return 0
  const planned = await prepareSearch(context, read.value, reach)
  if (!planned.ok) return 0
  const found = await runSearch(context, planned.value)
  return found.ok ? found.value.answer.found : 0
}

/** Weights by term; `words` maps terms to the words in the question. One count per word and collection; none fails. */
export const rarityOf = (
  context: OperationContext,
  caller: Caller,
  collections: ReadonlyArray<CollectionInfo>,
  words: ReadonlyMap<string, string>
): Effect.Effect<WeightOf> =>
  Effect.gen(function* (): Effect.fn.Return<WeightOf> {
    // Counts would ignore the filter of the key's profile, and could reveal documents that the filter hides.
    if (caller.profile !== undefined) return () => 1
    const documents = collections.reduce((sum, { num_documents }) => sum + num_documents, 0)
    const reach = new Reach(context, restrictionsOf(caller))
    const weights = new Map<string, number>()
    let left = COUNTS_MAX
    for (const [term, word] of [...words].slice(0, WORDS_MAX)) {
      let count = 0
      for (const collection of collections) {
        if (--left < 0) break
        count += yield* Effect.promise(() => countOf(context, reach, collection, word))
        // Counting a common word in a million documents takes a millisecond, so this yields to other requests.
        if (left % COUNTS_AT_ONCE === 0) yield* nextTurn
      }
      weights.set(term, weight(documents, Math.min(count, documents)))
    }
    const unknown = weight(documents, 0)
    return (term) => weights.get(term) ?? unknown
  })
