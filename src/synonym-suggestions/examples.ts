/** Descriptions of the operations of synonym suggestions, each with an example request that succeeds. */
import { sampleIds } from "../api/sample-ids.ts"
import type { Described } from "../http/operation.ts"

const params = { collectionName: "products" }
export const described = {
  suggestSynonyms: {
    description:
      "Queues a job that reads what visitors searched in a range of at most 366 days, the last 30 without one, and suggests synonyms: of a word that finds nothing, those that visitors put in its place and found something with. What typing errors and beginnings of words find already is none. New suggestions, at most 500, replace those that nobody decided about. It costs a credit a started 1,000 queries, 402 where the wallet cannot pay for those that there are; too many jobs that wait are a 409.",
    example: { params, body: {} }
  },
  listSynonymSuggestions: {
    description: "Lists suggestions, best first, those that were accepted or rejected too. It changes nothing.",
    example: { params }
  },
  acceptSynonymSuggestion: {
    description:
      "Writes the suggestion into a synonym set, which is created where it is missing: a search for the term finds what its synonyms find, where the collection or the search names the set. It answers the suggestion. One that was decided about is a 409.",
    example: { params: { ...params, suggestionId: sampleIds.synonymSuggestion }, body: { synonym_set: "shop" } }
  },
  rejectSynonymSuggestion: {
    description: "Rejects a suggestion, which is not made again. One that was decided about is a 409.",
    example: { params: { ...params, suggestionId: sampleIds.oldSynonymSuggestion } }
  }
} as const satisfies Readonly<Record<string, Described>>
