/** What a request says about a conversation, and what is wrong with it. Pure. */
import { fail, type Field, invalid, ok, type Result, type SearchPlan } from "@dowser/engine-sdk"
import { parseBounded, parseJson } from "@dowser/engine-sdk/documents"
import { isObject } from "../http/json-fields.ts"

/** Nothing for a text that is not JSON, or nested too deep: the search's own reader reports that. */
export const parsed = (text: string): unknown => {
  const read = parseBounded(text, undefined, parseJson)
  return typeof read === "object" ? read.value : undefined
}

export type Parameters = Readonly<Record<string, string>>
/** Entries of a multi-search share one question and one answer. */
const SHARED = ["conversation", "conversation_id", "conversation_model_id", "conversation_stream"]
const NOT_SEARCHED: ReadonlySet<string> = new Set([...SHARED, "use_cache"])

const isOn = (value: string | undefined): boolean => value === "true" || value === "1"
export const mentions = (parameters: Readonly<Record<string, unknown>>): boolean =>
  SHARED.some((name) => Object.hasOwn(parameters, name))
export const mentionsInBody = (body: string): boolean => body.includes('"conversation')

export interface Talking {
  readonly question: string
  readonly modelId: string
  readonly conversationId: string | undefined
  readonly isStream: boolean
  readonly showsHistory: boolean
}
/** undefined for a search without a conversation. */
export const talkingOf = (parameters: Parameters): Result<Talking | undefined> => {
  const { conversation, conversation_id = "", conversation_model_id = "", exclude_fields = "", q = "" } = parameters
  if (!isOn(conversation))
    return conversation_id === ""
      ? ok(undefined)
      : fail(
          invalid("Conversation ID provided but conversation is not enabled for this collection.", "conversation_id")
        )
  if (conversation_model_id === "")
    return fail(invalid("Conversation is enabled but no conversation model ID is provided.", "conversation_model_id"))
  if ((parameters.voice_query ?? "") !== "")
    return fail(invalid("Parameter `voice_query` cannot be used with `conversation`.", "voice_query"))
  // No question: a search that lists, or one that reports what is missing itself.
  if (q.trim() === "" || q.trim() === "*") return ok(undefined)
  return ok({
    question: q.trim(),
    modelId: conversation_model_id,
    conversationId: conversation_id === "" ? undefined : conversation_id,
    isStream: isOn(parameters.conversation_stream),
    showsHistory: !exclude_fields.split(",").some((name) => name.trim() === "conversation_history")
  })
}

const moved = (name: string, when: string): Result<never> =>
  fail(
    invalid(
      `\`${name}\` ${when}. Please set \`${name}\` as a query parameter in the request, instead of inside the POST body`,
      name
    )
  )
/** Parameters that a multi-search has only in its query string. */
export const bodyProblem = (body: unknown, isTalking: boolean): Result<void> => {
  if (!isObject(body) || !Array.isArray(body.searches)) return ok(undefined)
  for (const entry of (body.searches as ReadonlyArray<unknown>).filter(isObject)) {
    if (isTalking && entry.q !== undefined)
      return moved("q", "parameter cannot be used in POST body if `conversation` is enabled")
    const name = SHARED.find((one) => Object.hasOwn(entry, one))
    if (name !== undefined) return moved(name, "cannot be used in POST body")
  }
  return isTalking && body.union === true
    ? fail(invalid("Conversation is not available for a union of searches.", "conversation"))
    : ok(undefined)
}

/** What remains for the search itself; its answers are not cached. */
export const searchedOf = (shared: Parameters): Parameters =>
  Object.fromEntries(Object.entries(shared).filter(([name]) => !NOT_SEARCHED.has(name)))

/** A collection that is searched, and by which fields. */
export interface Searched {
  readonly collection: string
  readonly parameters: Parameters
  readonly fields: ReadonlyArray<Field>
  /** Restrictions of its caller. */ readonly filter?: NonNullable<SearchPlan["filter"]>
}
const namedIn = ({ fields, parameters }: Searched): ReadonlyArray<Field> => {
  const named = new Set((parameters.query_by ?? "").split(",").map((name) => name.trim()))
  return fields.filter(({ name }) => named.has(name))
}
/** Whether a search uses the meaning of a query: then it gets the whole question. */
export const goesByMeaning = (searched: Searched): boolean =>
  isOn(searched.parameters.nl_query) ||
  (searched.parameters.vector_query ?? "") !== "" ||
  namedIn(searched).some(({ embed }) => embed !== undefined)
/** Fields whose words are searched. */
export const textFieldsOf = (searched: Searched): ReadonlyArray<string> =>
  namedIn(searched)
    .filter(({ embed, type }) => embed === undefined && type.startsWith("string"))
    .map(({ name }) => name)
