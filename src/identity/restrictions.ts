/** A key's restrictions as values that the engine package reads when it plans a search. */
import type { Restrictions } from "@dowser/engine-sdk/operations"
import type { Caller } from "./caller.ts"
import { SessionRequired } from "../http/errors.ts"

/** Costs one object; everything in it is shared with the key. */
export const restrictionsOf = ({ embedded, index, key }: Caller): Restrictions => ({
  collections: key.collections,
  only: index,
  filters: key.filter_by,
  fields: key.fields,
  embedded
})

/** Parameters that make a search an AI operation. */
const isAiSearch = (parameters: Readonly<Record<string, string>>): boolean =>
  ["nl_query", "conversation"].some((name) => parameters[name] === "true" || parameters[name] === "1") ||
  (parameters.voice_query ?? "") !== ""

/** A search key needs a session for an AI operation; undefined if the search may continue. */
export const sessionRefusal = (
  { scope, sessionId }: Pick<Caller, "scope" | "sessionId">,
  parameters: Readonly<Record<string, string>>
): SessionRequired | undefined =>
  scope === "full" || sessionId !== undefined || !isAiSearch(parameters)
    ? undefined
    : new SessionRequired({ message: "Header `X-SVC-SESSION-ID` is required." })
