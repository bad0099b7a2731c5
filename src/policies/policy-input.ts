/** What a policy may contain: any search parameter except those that identify the request, and credentials. Pure. */
import { PARAMETER_OWNERS, textParameters } from "@dowser/engine-sdk/query"
import { isStorable } from "../http/body.ts"

/** Only for requests; one policy does not name another. */
const NEVER: ReadonlySet<string> = new Set(["q", "profile", "preset", "search_policy", "collection", "union"])

/** Why a value is not allowed under a name; undefined if it is. */
export const paramRefusal = (name: string, value: unknown): string | undefined => {
  if (NEVER.has(name)) return "A policy says how is searched, not what"
  if (!Object.hasOwn(PARAMETER_OWNERS, name)) return "There is no such search parameter"
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean")
    return "A text, a number or a boolean"
  if (typeof value === "number" && !Number.isFinite(value)) return "A number of at most 1.7e308"
  const text = textParameters({ [name]: value })
  if (!text.ok) return text.error.message
  return isStorable(String(value)) ? undefined : "No NUL character and no half surrogate pair"
}
