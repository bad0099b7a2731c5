/** Alerts as the API shows them, and their limits. */
import { Schema } from "effect"
import { refusing } from "../http/checks.ts"
import { METRICS, WITHOUT_COLLECTION } from "./decision.ts"

const NAME_CHARACTERS_MAX = 120
const WINDOW_MINUTES_MAX = 1_440

const fields = {
  name: Schema.String.check(
    refusing((name: string) =>
      name.trim() === "" || [...name].length > NAME_CHARACTERS_MAX
        ? `A text of 1 to ${NAME_CHARACTERS_MAX} characters`
        : undefined
    )
  ),
  metric: Schema.String.check(
    refusing((metric: string) =>
      (METRICS as ReadonlyArray<string>).includes(metric) ? undefined : `One of ${METRICS.join(", ")}`
    )
  ),
  op: Schema.String.check(refusing((op: string) => (op === ">" || op === "<" ? undefined : "`>` or `<`"))),
  threshold: Schema.Finite,
  window_minutes: Schema.Int.check(
    refusing((minutes: number) =>
      minutes < 1 || minutes > WINDOW_MINUTES_MAX ? `A whole number from 1 to ${WINDOW_MINUTES_MAX}` : undefined
    )
  )
}
export const AlertBody = Schema.Struct({
  ...fields,
  collection: Schema.optionalKey(
    Schema.NullOr(
      Schema.String.check(
        refusing((name: string) => (name === "" || name.length > 256 ? "A name of 1 to 256 characters" : undefined))
      )
    )
  ),
  enabled: Schema.optionalKey(Schema.Boolean)
}).annotate({
  identifier: "AlertBody",
  description: `\`${[...WITHOUT_COLLECTION].join("`, `")}\` know no collection. \`quota_used\` is a share from 0 to 1.`
})
export type AlertBody = typeof AlertBody.Type

export const Alert = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  metric: Schema.Literals(METRICS),
  op: Schema.Literals([">", "<"]),
  threshold: Schema.Number,
  window_minutes: Schema.Int,
  collection: Schema.optionalKey(Schema.String),
  enabled: Schema.Boolean,
  state: Schema.Literals(["ok", "firing"]),
  /** Null before the first evaluation, and if there were too few searches. */
  last_value: Schema.NullOr(Schema.Number),
  last_fired_at: Schema.NullOr(Schema.Int),
  created_at: Schema.Int,
  updated_at: Schema.Int
}).annotate({ identifier: "Alert" })
export type Alert = typeof Alert.Type
export const AlertList = Schema.Struct({
  data: Schema.Array(Alert),
  next_cursor: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "AlertList", description: "By id." })
