/** Suggestions of synonyms as the API returns them. */
import { Schema } from "effect"
import { dateRefusal } from "../analytics/date-range.ts"
import { refusing } from "../http/checks.ts"

export const SynonymSuggestion = Schema.Struct({
  id: Schema.String,
  term: Schema.String,
  synonyms: Schema.Array(Schema.String),
  evidence: Schema.Struct({
    searches: Schema.Int,
    zero_hit_rate: Schema.Number,
    reformulations: Schema.Int,
    similarity: Schema.Number
  }).annotate({
    identifier: "SynonymEvidence",
    description:
      "`searches`: those with the term, of which `zero_hit_rate` found nothing. `reformulations`: visitors who replaced it by one of the synonyms. `similarity`: how alike the surroundings of the first synonym are, 0 to 1."
  }),
  status: Schema.Literals(["new", "accepted", "rejected"]),
  created_at: Schema.Int
}).annotate({ identifier: "SynonymSuggestion" })
export type SynonymSuggestion = typeof SynonymSuggestion.Type
export const SynonymSuggestionList = Schema.Struct({ data: Schema.Array(SynonymSuggestion) }).annotate({
  identifier: "SynonymSuggestionList",
  description: "Best first, at most 1,000."
})
const bound = Schema.optionalKey(Schema.String.check(refusing(dateRefusal)))
export const SuggestSynonymsBody = Schema.Struct({ from: bound, to: bound }).annotate({
  identifier: "SuggestSynonyms",
  description: "ISO 8601 dates or date-times, both inclusive; without them the last 30 days."
})
const SET_CHARACTERS_MAX = 200
const setRefusal = (name: string): string | undefined =>
  name === "" || name.length > SET_CHARACTERS_MAX || name.includes("\u0000") || !name.isWellFormed()
    ? `1 to ${SET_CHARACTERS_MAX} characters`
    : undefined
export const AcceptSuggestionBody = Schema.Struct({
  synonym_set: Schema.String.check(refusing(setRefusal))
}).annotate({ identifier: "AcceptSynonymSuggestion" })
