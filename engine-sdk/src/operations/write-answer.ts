/**
 * `write`: serializes answers to JSON text once. The end of an object is left open, so that a host can add its own
 * members (`closed`) without writing or parsing the hits a second time.
 */
import { stringifyJson } from "../documents/json.ts"
import { boundedText } from "../error-text.ts"
import { ok, statusOf, type EngineError, type Result } from "../errors.ts"
import type { UnionAnswer } from "../plan.ts"
import { refusableNow } from "./answer-bound.ts"
import { openAnswer } from "../search/answer/answer-json.ts"
import type { PlannedSearch } from "./planned-search.ts"
import type { FoundAnswer } from "./run-search.ts"

/** The text of a JSON object without its closing brace. */
export type OpenObject = string
/** `members`: JSON text of further members, without braces. */
export const closed = (open: OpenObject, members = ""): string => (members === "" ? `${open}}` : `${open},${members}}`)

/** One envelope with the members that rules add. Fails if the answer exceeds the request's bound. */
export const writeAnswer = (
  { plan: { budget } }: Pick<PlannedSearch, "plan">,
  { answer, extras }: FoundAnswer | FoundAnswer<UnionAnswer>
): Result<OpenObject> =>
  refusableNow(() => {
    const open = openAnswer(answer, budget)
    const more = extras === undefined ? "" : stringifyJson(extras).slice(1, -1)
    budget?.wrote(open.length + 1 + more.length)
    return ok(more === "" ? open : `${open},${more}`)
  })
/** A failed search among several. */
export const writeFailure = (error: EngineError): string =>
  JSON.stringify({ code: statusOf(error), error: boundedText(error.message) })
/** The answer to several searches, composed of their answers. */
export const resultsText = (entries: ReadonlyArray<string>): string => `{"results":[${entries.join(",")}]}`
