/**
 * Field checks declared in schemas: all fields are decoded together, so that one response names every wrong one.
 * Checks that need more than the field itself (another field, the resource) come afterwards, with `refused`.
 */
import { Effect, Schema } from "effect"
import { refusing } from "@dowser/log/refusing"
import { InputInvalid } from "./errors.ts"

export { refusing }
/** A parameter that may be omitted or empty. */
export const optionalText = (refusal: (text: string) => string | undefined) =>
  Schema.optionalKey(Schema.String.check(refusing((text: string) => (text === "" ? undefined : refusal(text)))))

export interface Issue {
  readonly path: string
  readonly message: string
}
/** One issue for each pair with a message. */
export const issuesIn = (
  pairs: ReadonlyArray<readonly [path: string, message: string | undefined]>
): ReadonlyArray<Issue> => pairs.flatMap(([path, message]) => (message === undefined ? [] : [{ path, message }]))
export const invalidFields = (issues: ReadonlyArray<Issue>): InputInvalid =>
  new InputInvalid({ message: "Input validation failed", issues })
/** 400 with all issues, or success if there are none. */
export const refused = (issues: ReadonlyArray<Issue>): Effect.Effect<void, InputInvalid> =>
  issues.length === 0 ? Effect.void : Effect.fail(invalidFields(issues))
