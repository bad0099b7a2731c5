/** Handler of semantic search: a body of search parameters. */
import { Effect } from "effect"
import { implement } from "../api/implement.ts"
import { withoutLimit } from "../engine-plane/time-limit.ts"
import { refused } from "../http/checks.ts"
import { Reply } from "../http/reply.ts"
import { Installation } from "../installation.ts"
import { searchParameterNames } from "../search/contract.ts"
import { searchRequestOf } from "../search/routes.ts"
import * as contract from "./contract.ts"
import { SemanticSearch } from "./semantic-search.ts"

const KNOWN: ReadonlySet<string> = new Set(searchParameterNames)
/** What is decided here, and what are operations of their own. */
const CLOSED: ReadonlySet<string> = new Set([
  "vector_query",
  "nl_query",
  "nl_model_id",
  "conversation",
  "conversation_id",
  "conversation_model_id",
  "voice_query"
])
const ISSUES_MAX = 100

/** What is wrong with each parameter, and all of them as texts. */
const read = (body: Readonly<Record<string, unknown>>) => {
  const values: Record<string, string> = Object.create(null) as Record<string, string>
  const issues: Array<{ readonly path: string; readonly message: string }> = []
  for (const [name, value] of Object.entries(body)) {
    const path = name.slice(0, 80)
    if (CLOSED.has(name)) issues.push({ path, message: "Not a parameter of a semantic search" })
    else if (!KNOWN.has(name)) issues.push({ path, message: "Not a search parameter" })
    else if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean")
      issues.push({ path, message: "A text, a number or a boolean" })
    else values[name] = String(value)
  }
  const q = (values.q ?? "").trim()
  if ((q === "" || q === "*") && !issues.some(({ path }) => path === "q"))
    issues.push({ path: "q", message: "What is searched for, in words" })
  return { values, issues: issues.slice(0, ISSUES_MAX) }
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
