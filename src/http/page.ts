/**
 * Pagination of a list: how many rows a caller may request, and where the next page begins. A list reads one row more
 * than requested, and `pageOf` turns the rows into a response.
 */
import { Effect, Schema, SchemaTransformation } from "effect"
import { refusing } from "./checks.ts"

interface PageBounds {
  readonly max: number
  /** For requests without a limit. */ readonly byDefault: number
}
const isWithin = (text: string, max: number): boolean =>
  /^\d{1,6}$/.test(text) && Number(text) >= 1 && Number(text) <= max

/** The field `limit` of a query: a text on the wire, a number from 1 to `max` for the handler. */
export const pageLimit = ({ byDefault, max }: PageBounds) =>
  Schema.String.check(
    refusing((text: string) => (isWithin(text, max) ? undefined : `A whole number from 1 to ${max}`))
  ).pipe(
    Schema.decodeTo(Schema.Number, SchemaTransformation.numberFromString),
    Schema.withDecodingDefaultKey(Effect.succeed(String(byDefault)))
  )
/** The fields `limit` and `cursor` of a query; `cursor` is any text, unless the list checks it. */
export const pageFields = (bounds: PageBounds) => ({
  limit: pageLimit(bounds),
  cursor: Schema.optionalKey(Schema.String)
})

/**
 * The response for `limit + 1` rows, or for fewer, which are the last: the surplus row is not shown but proves that
 * there is a next page, which begins at `cursorOf` the last row shown.
 */
export const pageOf = <A>(rows: ReadonlyArray<A>, limit: number, cursorOf: (row: A) => string) => ({
  data: rows.slice(0, limit),
  ...(rows.length > limit ? { next_cursor: cursorOf(rows[limit - 1]!) } : {})
})
/** The cursor for rows that are ordered by their ids. */
export const byId = ({ id }: { readonly id: string }): string => id
