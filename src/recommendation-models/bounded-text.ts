/** A text of an input, of a length that is said where it is refused. */
import { Schema } from "effect"
import { refusing } from "../http/checks.ts"

export const within = (max: number) =>
  Schema.String.check(
    refusing((text: string) =>
      text === "" || text.length > max ? `A text of 1 to ${max.toLocaleString("en")} characters` : undefined
    )
  )
