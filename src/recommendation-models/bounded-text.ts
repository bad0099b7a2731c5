/** A text in an input, with a maximum length that the error states. */
import { Schema } from "effect"
import { refusing } from "../http/checks.ts"

export const within = (max: number) =>
  Schema.String.check(
    refusing((text: string) =>
      text === "" || text.length > max ? `A text of 1 to ${max.toLocaleString("en")} characters` : undefined
    )
  )
