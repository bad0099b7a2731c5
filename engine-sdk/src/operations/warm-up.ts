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
  FURTHER_FACETS_MAX = 8
const WORD = /\p{L}{4,}/gu
type Parameters = Readonly<Record<string, string | undefined>>

const isSearchable = ({ index, name }: Field): boolean => index && !/[.*]/.test(name)
const wordsOf = (documents: ReadonlyArray<Document>, fields: ReadonlyArray<string>): ReadonlyArray<string> =>
  documents.flatMap((document) =>
    fields.flatMap((field) => {
      const text: unknown = document[field]
      return typeof text === "string" ? (text.match(WORD) ?? []).slice(0, 2) : []
    })
  )
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
}
/** Swaps two letters of a word. */
const misspelt = (word: string): string => `${word[0]}${word[2]}${word[1]}${word.slice(3)}`

/** Typical searches of a collection: words, prefixes, typos, facets, ranges, a sort order, relevance. Pure. */
export const practiceSearches = (
  schema: CollectionSchema,
  documents: ReadonlyArray<Document>
): ReadonlyArray<Parameters> => {
  const fields = schema.fields.filter(isSearchable)
  const texts = fields.filter(({ type }) => type === "string" || type === "string[]").slice(0, QUERY_FIELDS_MAX)
  const allFacets = fields.filter(({ facet }) => facet)
  const facets = allFacets.slice(0, FACETS_MAX),
    furtherFacets = allFacets.slice(FACETS_MAX, FACETS_MAX + FURTHER_FACETS_MAX)
  const numbers = fields.filter(({ sort, type }) => sort && ["int32", "int64", "float"].includes(type))
  const query_by = texts.map(({ name }) => name).join(",")
  const counted = facets.length === 0 ? {} : { facet_by: facets.map(({ name }) => name).join(",") }
  const [first, second, third = second, fourth = third] = wordsOf(
    documents,
    texts.map(({ name }) => name)
  )
  return [
    { q: "*", ...counted },
    ...numbers.slice(0, 1).flatMap(({ name }) => [
      { q: "*", sort_by: `${name}:desc` },
      { q: "*", filter_by: `${name}:>0`, ...counted }
    ]),
    ...(first === undefined || third === undefined
      ? []
      : [
          { q: first, query_by, ...counted },
          ...furtherFacets.map(({ name }) => ({ q: first, query_by, facet_by: name })),
          { q: `${first} ${third.slice(0, 3)}`, query_by },
          { q: misspelt(first), query_by },
          { q: `${first} ${third}`, query_by, ranking: "relevance" },
          { q: `${second} ${third} ${fourth}`, query_by, ranking: "relevance" }
        ])
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
  const searches = practiceSearches(collection.schema, sample.value.documents)
  for (let round = 0; round < rounds; round++)
    for (const parameters of searches) {
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
