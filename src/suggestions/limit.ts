/** How many suggestions a request may ask for. */
import { Effect } from "effect"
import { inputInvalid } from "../http/errors.ts"
import { LIMIT_DEFAULT, LIMIT_MAX } from "./schema.ts"

export const limitOf = (text: string | undefined) => {
  if (text === undefined) return Effect.succeed(LIMIT_DEFAULT)
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0
  return limit < 1 || limit > LIMIT_MAX
    ? Effect.fail(inputInvalid("limit", `A whole number from 1 to ${LIMIT_MAX}`))
    : Effect.succeed(limit)
}
