/**
 * Searches that the engine runs by itself, so that a program's first real search finds everything warm: code that has
 * run before, open collections, and numbered facet values. Their words come from the collection's own schema and
 * documents.
 */
import type { Namespace, SearchEngine } from "../engine.ts"
import type { Result } from "../errors.ts"
import type { SearchAnswer, SearchPlan } from "../plan.ts"
import type { OperationContext } from "./operation.ts"
import type { CollectionSchema, Document, Field } from "../schema.ts"
import { resolveCollection } from "./operation.ts"
import { prepareSearch } from "./prepare-search.ts"
import { readSearch } from "./read-search.ts"
import { Reach, UNRESTRICTED } from "./restrictions.ts"
import { closed, writeAnswer } from "./write-answer.ts"

const SAMPLE_DOCUMENTS = 20,
  QUERY_FIELDS_MAX = 3,
  FACETS_MAX = 2,
  /** Maximum further facets; each is counted once so that its values get numbers. */
  FURTHER_FACETS_MAX = 8,
  WORDS_A_ROUND = 3
const WORD = /\p{L}{4,}/gu
type Parameters = Readonly<Record<string, string | undefined>>

const isSearchable = ({ index, name }: Field): boolean => index && !/[.*]/.test(name)
/** Each word once, beginning with others in each round. */
const wordsOf = (
  documents: ReadonlyArray<Document>,
  fields: ReadonlyArray<string>,
  round: number
): ReadonlyArray<string> => {
  const words = new Set<string>()
  for (const document of documents)
    for (const field of fields) {
      const text: unknown = document[field]
      if (typeof text === "string") for (const word of (text.match(WORD) ?? []).slice(0, 2)) words.add(word)
    }
  const all = [...words],
    from = (round * WORDS_A_ROUND) % Math.max(1, all.length)
  return [...all.slice(from), ...all.slice(0, from)]
}
/** A range between values of two documents, another one in each round. */
const rangeOf = (documents: ReadonlyArray<Document>, field: string, round: number): string => {
  const values = documents.map((document): unknown => document[field]).filter((value) => typeof value === "number")
  if (values.length === 0) return `${field}:>${round}`
  const [a, b] = [values[round % values.length], values[(round + 1) % values.length]]
  return `${field}:[${Math.min(a, b)}..${Math.max(a, b)}]`
}
/** An engine in this process, whose own threads search. */
export interface PractisingEngine extends SearchEngine {
  /**
   * Runs searches whose answers are discarded, on every thread that searches. `undefined` for a plan that was skipped,
   * or that did not end within the few milliseconds it has on the calling thread.
   */
  readonly practise: (
    namespace: Namespace,
    plans: ReadonlyArray<SearchPlan>
  ) => Promise<ReadonlyArray<Result<SearchAnswer> | undefined>>
  /** What searchers named in `query_by` of relevance searches, as far as it is indexed. */
  readonly rankedNames: (namespace: Namespace, collection: string) => ReadonlyArray<string>
}
/** Swaps two letters of a word. */
const misspelt = (word: string): string => `${word[0]}${word[2]}${word[1]}${word.slice(3)}`

/**
 * Typical searches of a collection: words, prefixes, typos, facets, ranges, a sort order, and relevance over `ranked`.
 * Each round has other words and another range, because the sets of those that recur are cached, and code that is not
 * run is not compiled. Pure.
 */
export const practiceSearches = (
  schema: CollectionSchema,
  documents: ReadonlyArray<Document>,
  ranked: ReadonlyArray<string>,
  round: number
): ReadonlyArray<Parameters> => {
  const fields = schema.fields.filter(isSearchable)
  const texts = fields.filter(({ type }) => type === "string" || type === "string[]").slice(0, QUERY_FIELDS_MAX)
  const allFacets = fields.filter(({ facet }) => facet)
  const facets = allFacets.slice(0, FACETS_MAX),
    furtherFacets = allFacets.slice(FACETS_MAX, FACETS_MAX + FURTHER_FACETS_MAX)
  const numbers = fields.filter(({ sort, type }) => sort && ["int32", "int64", "float"].includes(type))
  const names = texts.map(({ name }) => name),
    query_by = names.join(",")
  const counted = facets.length === 0 ? {} : { facet_by: facets.map(({ name }) => name).join(",") }
  const words = wordsOf(documents, names, round),
    [first, second, third = second] = words
  const rankedWords = wordsOf(documents, ranked, round)
  return [
    { q: "*", ...counted },
    ...numbers.slice(0, 1).flatMap(({ name }) => [
      { q: "*", sort_by: `${name}:desc` },
      { q: "*", filter_by: `${name}:>0`, ...counted },
      // Without facets, because a large one takes all the time on the calling thread.
      { q: "*", filter_by: rangeOf(documents, name, round) }
    ]),
    ...(first === undefined || third === undefined
      ? []
      : [
          { q: first, query_by, ...counted },
          ...furtherFacets.map(({ name }) => ({ q: first, query_by, facet_by: name })),
          { q: `${first} ${third.slice(0, 3)}`, query_by },
          { q: misspelt(first), query_by }
        ]),
    // A name that stands for several fields has no words of its own.
    ...(ranked.length === 0 ? [] : relevanceSearches(ranked, rankedWords.length > 1 ? rankedWords : words))
  ]
}
/** Only from three words on are documents compared with each other. */
const relevanceSearches = (
  names: ReadonlyArray<string>,
  [first, second, third = second]: ReadonlyArray<string>
): ReadonlyArray<Parameters> => {
  if (first === undefined || third === undefined) return []
  const asked = { query_by: names.join(","), ranking: "relevance" }
  return [
    { q: `${first} ${second} ${third}`, ...asked },
    { q: `${first} ${third}`, ...asked }
  ]
}

/**
 * Runs the practice searches this many times, one after another with pauses. Cost: opening the collection, then a few
 * milliseconds of each search thread per search, in short runs. Does nothing if the collection does not exist.
 */
export const warmUp = async (
  context: OperationContext & { readonly engine: PractisingEngine },
  name: string,
  rounds: number
): Promise<void> => {
  const { engine, namespace } = context
  const collection = resolveCollection(context, name)
  if (collection === undefined) return
  const sample = await engine.scan(namespace, {
    collection: collection.schema.name,
    filter: undefined,
    limit: SAMPLE_DOCUMENTS
  })
  if (!sample.ok) return
  const { documents } = sample.value,
    ranked = engine.rankedNames(namespace, collection.schema.name)
  for (let round = 0; round < rounds; round++)
    for (const parameters of practiceSearches(collection.schema, documents, ranked, round)) {
      const reach = new Reach(context, UNRESTRICTED)
      const read = readSearch(context, name, parameters, reach.restrictions)
      const planned = read.ok ? await prepareSearch(context, read.value, reach) : read
      if (!planned.ok) continue
      const [answer] = await engine.practise(namespace, [planned.value.plan])
      if (answer?.ok !== true) continue
      const written = writeAnswer(planned.value, { answer: answer.value, asked: true })
      if (written.ok) closed(written.value)
    }
}
