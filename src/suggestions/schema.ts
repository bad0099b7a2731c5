/** Suggestions and prompts. */
import { Schema } from "effect"
import { pageLimit } from "../http/page.ts"

const LIMIT_DEFAULT = 10
export const LIMIT_MAX = 50
export const TYPED_CHARACTERS_MAX = 200

const text = Schema.optionalKey(Schema.String)
/** How many suggestions a request may ask for. */
const limit = pageLimit({ max: LIMIT_MAX, byDefault: LIMIT_DEFAULT })
export const SuggestionsQuery = Schema.Struct({ q: text, limit }).annotate({ identifier: "SuggestionsQuery" })
export const PromptsQuery = Schema.Struct({ limit }).annotate({ identifier: "PromptsQuery" })
export const Suggestion = Schema.Struct({
  q: Schema.String,
  type: Schema.Literals(["query", "facet"]),
  filter_by: text,
  count: Schema.optionalKey(Schema.Int)
}).annotate({
  identifier: "Suggestion",
  description:
    "`count`: searches of a query, documents of a facet value. A facet value comes with the filter that keeps its documents."
})
export const Suggestions = Schema.Struct({ data: Schema.Array(Suggestion) }).annotate({ identifier: "Suggestions" })
