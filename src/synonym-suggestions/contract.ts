/** Suggestions of synonyms from what visitors search. Full key. */
import { Schema } from "effect"
import { Conflict, NotFound } from "../http/errors.ts"
import { engineErrors } from "../engine-plane/engine-errors.ts"
import { operation } from "../http/operation.ts"
import { Job } from "../jobs/schema.ts"
import { aiErrors } from "../metering/errors.ts"
import { described } from "./examples.ts"
import { AcceptSuggestionBody, SuggestSynonymsBody, SynonymSuggestion, SynonymSuggestionList } from "./schema.ts"

const at = {
  group: "synonym suggestions",
  plane: "control",
  scope: "full",
  path: "/v1/collections/:collectionName/synonym_suggestions"
} as const
const path = `${at.path}/:suggestionId` as const
const params = {
  collectionName: Schema.String,
  suggestionId: Schema.String.annotate({ description: "The id of a suggestion, `syn_…`." })
}

export const suggestSynonyms = operation({
  ...at,
  ...described.suggestSynonyms,
  id: "suggestSynonyms",
  summary: "Suggest synonyms from visitors' searches",
  method: "POST",
  payload: SuggestSynonymsBody,
  success: Job,
  status: 202,
  errors: [Conflict, NotFound, ...aiErrors]
})
export const listSynonymSuggestions = operation({
  ...at,
  ...described.listSynonymSuggestions,
  id: "listSynonymSuggestions",
  summary: "List synonym suggestions",
  method: "GET",
  success: SynonymSuggestionList,
  errors: [NotFound]
})
export const acceptSynonymSuggestion = operation({
  ...at,
  ...described.acceptSynonymSuggestion,
  id: "acceptSynonymSuggestion",
  summary: "Write a suggestion into a synonym set",
  method: "POST",
  path: `${path}/accept`,
  params,
  payload: AcceptSuggestionBody,
  success: SynonymSuggestion,
  errors: [Conflict, NotFound, ...engineErrors()]
})
export const rejectSynonymSuggestion = operation({
  ...at,
  ...described.rejectSynonymSuggestion,
  id: "rejectSynonymSuggestion",
  summary: "Reject a suggestion",
  method: "POST",
  path: `${path}/reject`,
  params,
  success: SynonymSuggestion,
  errors: [Conflict, NotFound]
})
