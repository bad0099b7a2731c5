import { Schema } from "effect"

/** A check for `schema.check(…)`; the sentence is what the caller reads. Undefined accepts the value. */
export const refusing = <A>(refusal: (value: A) => string | undefined) =>
  Schema.makeFilter((value: A) => refusal(value))
