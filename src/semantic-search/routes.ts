/** Handler of semantic search: a body of search parameters. */
import { Effect } from "effect"
import { implement } from "../api/implement.ts"
import { withoutLimit } from "../engine-plane/time-limit.ts"
import { refused } from "../http/checks.ts"
import { Reply } from "../http/reply.ts"
import { Installation } from "../installation.ts"
import { bodyParameters } from "../search/body-parameters.ts"
import { searchRequestOf } from "../search/routes.ts"
import * as contract from "./contract.ts"
import { SemanticSearch } from "./semantic-search.ts"

/** What is wrong with each parameter, and all of them as texts. */
const read = (body: Readonly<Record<string, unknown>>) => {
  const { issues, values } = bodyParameters(body)
  const q = (values.q ?? "").trim()
  const hasQuery = (q !== "" && q !== "*") || issues.some(({ path }) => path === "q")
  return { values, issues: hasQuery ? issues : [...issues, { path: "q", message: "The query, in words" }] }
}

export const routes = Effect.gen(function* () {
  const semantic = yield* SemanticSearch
  const { countryHeader } = yield* Installation
  return [
    implement(
      contract.semanticSearch,
      Effect.fnUntraced(function* (input) {
        const { issues, values } = read(yield* input.payload)
        yield* refused(issues)
        const request = { ...searchRequestOf(input, countryHeader), shared: values, queryText: "" }
        const text = yield* withoutLimit(semantic.answer(request, input.params.collectionName))
        return new Reply(200, text)
      })
    )
  ]
})
