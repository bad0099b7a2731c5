/** Checks bodies and parameters before their schemas: refuses what does not parse, and names that cannot be stored. */
import { Effect } from "effect"
import { isStorable, parseBounded, parseRefusals, textOf, unstorablePath } from "../http/body.ts"
import { BodyNotJson, type InputInvalid, inputInvalid } from "../http/errors.ts"
import type { Operation } from "../http/operation.ts"

/**
 * Parsed as JSON whatever the content type; for a body that does not parse, the engine plane uses the engine's message.
 */
export const parseJson = (
  { payloadIsChecked, plane }: Operation,
  bytes: Buffer
): Effect.Effect<unknown, InputInvalid | BodyNotJson> => {
  const refuse = (message: string) =>
    plane === "engine" ? new BodyNotJson({ message: "Bad JSON." }) : inputInvalid("body", message)
  const text = textOf(bytes)
  const parsed = parseBounded(text)
  if (typeof parsed !== "object") return Effect.fail(refuse(parseRefusals[parsed]))
  // Only an escape or many digits can produce them. A room that validates its payload itself decides about them.
  const unstorable =
    payloadIsChecked && (text.includes("\\u") || HUGE.test(text)) ? unstorablePath(parsed.value) : undefined
  return unstorable === undefined
    ? Effect.succeed(parsed.value)
    : Effect.fail(inputInvalid(unstorable === "" ? "body" : unstorable, notStorableInJson))
}
export const notStorable = "No NUL character and no half surrogate pair"
const notStorableInJson = `${notStorable}, and no number beyond 1.7e308`
/** Numbers that may be large enough to become infinite when parsed. */
const HUGE = /[eE]\+?0*[1-9]\d\d|\d{290}/
/**
 * The first parameter of the path or the query that cannot be stored; an engine search accepts any, and public
 * operations read none.
 */
export const unnameable = (
  { plane, scope }: Operation,
  params: Readonly<Record<string, string>>,
  search: Readonly<Record<string, string>>
): string | undefined => {
  for (const name in params) if (!isStorable(params[name]!)) return name
  if (scope !== "public" && (plane !== "engine" || scope !== "search"))
    for (const name in search) if (!isStorable(search[name]!)) return name
  return undefined
}
