/** Descriptions of the operations of synonym suggestions, each with an example request that succeeds. */
import { sampleIds } from "../api/sample-ids.ts"
import type { Described } from "../http/operation.ts"

const params = { collectionName: "products" }
export const described = {
  suggestSynonyms: {
    description:
      "Queues a job that reads what visitors searched for in a range of at most 366 days (by default the last 30) and suggests synonyms: for a word that finds nothing, the words that visitors used instead with success. Words that typo tolerance or prefixes find anyway are left out. New suggestions, at most 500, replace the undecided ones. It costs one credit for every 1,000 queries begun, 402 if the wallet cannot pay; too many waiting jobs are a 409.",
    example: { params, body: {} }
  },
  listSynonymSuggestions: {
    description: "Lists suggestions, best first, including accepted and rejected ones. It changes nothing.",
    example: { params }
  },
  acceptSynonymSuggestion: {
    description:
      "Writes the suggestion into a synonym set, which is created if it is missing, and returns the suggestion. A search for the term then finds what its synonyms find, if the collection or the search names the set. A suggestion that was already decided is a 409.",
    example: { params: { ...params, suggestionId: sampleIds.synonymSuggestion }, body: { synonym_set: "shop" } }
  },
  rejectSynonymSuggestion: {
    description: "Rejects a suggestion, which is not made again. A suggestion that was already decided is a 409.",
    example: { params: { ...params, suggestionId: sampleIds.oldSynonymSuggestion } }
  }
} as const satisfies Readonly<Record<string, Described>>
