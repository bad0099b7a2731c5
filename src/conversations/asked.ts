/** The parts of a request that concern a conversation, and what is wrong with them. Pure. */
import { fail, type Field, invalid, ok, type Result, type SearchPlan } from "@dowser/engine-sdk"
import { parseBounded, parseJson } from "@dowser/engine-sdk/documents"
import { isObject } from "../http/json-fields.ts"

/** Undefined for a text that is not JSON, or nested too deeply: the search's own parser reports that. */
export const parsed = (text: string): unknown => {
  const read = parseBounded(text, undefined, parseJson)
  return typeof read === "object" ? read.value : undefined
}

export type Parameters = Readonly<Record<string, string>>
/** Parameters common to a multi-search, whose entries share one question and one answer. */
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
/** Undefined for a search without a conversation. */
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
  // Without a question, the search lists documents, or itself reports what is missing.
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
/** Rejects parameters that a multi-search may have only in its query string. */
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

/** The remaining parameters of the search itself, whose responses are not cached. */
export const searchedOf = (shared: Parameters): Parameters =>
  Object.fromEntries(Object.entries(shared).filter(([name]) => !NOT_SEARCHED.has(name)))

/** A searched collection and its searched fields. */
export interface Searched {
  readonly collection: string
  readonly parameters: Parameters
  readonly fields: ReadonlyArray<Field>
  /** Restrictions of the caller. */ readonly filter?: NonNullable<SearchPlan["filter"]>
}
const namedIn = ({ fields, parameters }: Searched): ReadonlyArray<Field> => {
  const named = new Set((parameters.query_by ?? "").split(",").map((name) => name.trim()))
  return fields.filter(({ name }) => named.has(name))
}
/** Whether a search uses the meaning of a query; if so, it gets the complete question. */
export const goesByMeaning = (searched: Searched): boolean =>
  isOn(searched.parameters.nl_query) ||
  (searched.parameters.vector_query ?? "") !== "" ||
  namedIn(searched).some(({ embed }) => embed !== undefined)
/** Fields whose words are searched. */
export const textFieldsOf = (searched: Searched): ReadonlyArray<string> =>
  namedIn(searched)
    .filter(({ embed, type }) => embed === undefined && type.startsWith("string"))
    .map(({ name }) => name)
