/** Query intelligence: typeahead and pre-search prompts of a collection, reachable with a search key. */
import { operation } from "../http/operation.ts"
import { PromptsQuery, Suggestions, SuggestionsQuery } from "./schema.ts"
import { engineErrors } from "../engine-plane/engine-errors.ts"
import { NotFound } from "../http/errors.ts"
import { quotaErrors } from "../metering/errors.ts"
import { described } from "./examples.ts"

const at = {
  group: "suggestions",
  plane: "control",
  scope: "search",
  method: "GET",
  success: Suggestions,
  errors: [...engineErrors(), ...quotaErrors, NotFound]
} as const
export const getSuggestions = operation({
  ...at,
  ...described.getSuggestions,
  id: "getSuggestions",
  summary:
    "Completions of what is being typed: popular queries of the collection, then facet values; typing errors are corrected",
  path: "/v1/collections/:collectionName/suggestions",
  query: SuggestionsQuery
})
export const getPrompts = operation({
  ...at,
  ...described.getPrompts,
  id: "getPrompts",
  summary: "What to offer before anything is typed: queries most used lately, then facet values with most documents",
  path: "/v1/collections/:collectionName/prompts",
  query: PromptsQuery
})
