/**
 * How the search uses a model's interpretation of a request in words: only allowed parameters are taken, and a filter
 * is joined to the caller's own so that it can only narrow. Pure.
 */
import { fail, invalid, ok, type Result } from "@dowser/engine-sdk"
import { isClosedFilterText, joinFilterTexts, type Parameters } from "@dowser/engine-sdk/query"

/** The answer's member `parsed_nl_query`, in the API's form. */
export interface ParsedNlQuery {
  readonly parse_time_ms: number
  readonly generated_params: Parameters
  readonly augmented_params: Parameters
  readonly error?: string
  readonly llm_response?: string
}
/** A search in words, and its outcome. */
export interface NlQuery {
  /** The query as it was sent. */ readonly q: string
  readonly parsed: ParsedNlQuery
}

/** Everything that a model may set; the rest of its answer is dropped. */
const GENERATED: ReadonlyArray<string> = [
  "q",
  "filter_by",
  "sort_by",
  "group_by",
  "group_limit",
  "num_typos",
  "prefix",
  "drop_tokens_threshold"
]
const SHOWN: ReadonlyArray<string> = ["q", "filter_by", "sort_by"]
const VALUE_CHARACTERS_MAX = 4_000
export const NL_ERROR = "Error generating search parameters:"
export const NL_MODEL_ERROR = "Error getting natural language search model:"

/** Parses a model's answer, which may be anything. */
export const generatedOf = (answer: unknown): Result<Parameters> => {
  if (typeof answer !== "object" || answer === null || Array.isArray(answer))
    return fail(invalid("The model did not answer with a JSON object.", "q"))
  const entries = new Map(Object.entries(answer))
  const generated: Record<string, string> = {}
  for (const name of GENERATED) {
    const value: unknown = entries.get(name)
    if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") continue
    const text = String(value).trim()
    if (text.length > VALUE_CHARACTERS_MAX) return fail(invalid(`The model's \`${name}\` is too long.`, name))
    if (text !== "" || name === "q") generated[name] = text
  }
  if (!isClosedFilterText(generated.filter_by ?? ""))
    return fail(invalid("The model's `filter_by` has unbalanced parentheses.", "filter_by"))
  return ok(generated)
}

/** Joins a model's parameters to those of the request; `asked` itself is not changed. */
export const augmented = (asked: Parameters, generated: Parameters): Result<Parameters> => {
  const { filter_by: own, q, ...others } = generated
  const filter_by = own === undefined ? ok(asked.filter_by) : joined(asked.filter_by, own)
  if (!filter_by.ok) return filter_by
  return ok({
    ...asked,
    ...others,
    // If nothing is left to search for: everything that passes the filter.
    ...(q === undefined ? {} : { q: q === "" ? "*" : q }),
    ...(filter_by.value === undefined ? {} : { filter_by: filter_by.value })
  })
}
const joined = (asked: string | undefined, own: string): Result<string | undefined> =>
  asked === undefined || asked.trim() === "" ? ok(own) : joinFilterTexts(asked, own)

export const shownParameters = (parameters: Parameters): Parameters =>
  Object.fromEntries(SHOWN.flatMap((name) => (parameters[name] === undefined ? [] : [[name, parameters[name]]])))
/** The search continues with the query as typed. */
export const failedQuery = (asked: Parameters, error: string, parse_time_ms: number): ParsedNlQuery => ({
  parse_time_ms,
  generated_params: {},
  augmented_params: shownParameters(asked),
  error
})

const isOn = (value: string | undefined): boolean => value === "true" || value === "1"
export const asksInWords = ({ nl_query, q }: Parameters): boolean =>
  isOn(nl_query) && q !== undefined && q.trim() !== "" && q.trim() !== "*"
export const showsResponse = ({ nl_query_debug }: Parameters): boolean => isOn(nl_query_debug)
export const showsParsed = ({ exclude_fields = "" }: Parameters): boolean =>
  !exclude_fields.split(",").some((name) => name.trim() === "parsed_nl_query")
