/** Search parameters given as members of a body, with what is wrong with each. Pure. */
import type { Issue } from "../http/checks.ts"
import { searchParameterNames } from "./contract.ts"

const KNOWN: ReadonlySet<string> = new Set(searchParameterNames)
/** Parameters that no search by an example or by meaning accepts, because the operation itself sets them. */
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
const PATH_MAX = 80

interface BodyParameters {
  /** All of them as texts. */ readonly values: Readonly<Record<string, string>>
  readonly issues: ReadonlyArray<Issue>
}
/** `judged`: the operation's own check of a known parameter. */
export const bodyParameters = (
  body: Readonly<Record<string, unknown>>,
  judged: (name: string, value: string) => string | undefined = () => undefined
): BodyParameters => {
  const values: Record<string, string> = Object.create(null) as Record<string, string>
  const issues: Array<Issue> = []
  for (const [name, value] of Object.entries(body)) {
    const message = CLOSED.has(name)
      ? "Not a parameter of this search"
      : !KNOWN.has(name)
        ? "Not a search parameter"
        : typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean"
          ? "A text, a number or a boolean"
          : judged(name, String(value))
    if (message === undefined) values[name] = String(value)
    else if (issues.length < ISSUES_MAX) issues.push({ path: name.slice(0, PATH_MAX), message })
  }
  return { values, issues }
}
