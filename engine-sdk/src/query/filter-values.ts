/** Reads the values of one filter clause, still as text. */
import { fail, invalid, type Result } from "../errors.ts"
import type { Filter } from "../filter.ts"

export const commasOf = (text: string): number => {
  let count = 0
  for (let at = text.indexOf(","); at >= 0; at = text.indexOf(",", at + 1)) count++
  return count
}
export const wrong = (name: string, detail: string): Result<never> =>
  fail(invalid(`Error with filter field \`${name}\`: ${detail}`, "filter_by"))
export const negate = (filter: Filter, negated: boolean): Filter => (negated ? { kind: "not", filter } : filter)

/** Splits off `!=`, `=` or `!` before a value. */
export const operatorOf = (
  raw: string
): { readonly negated: boolean; readonly equals: boolean; readonly rest: string } => {
  if (raw.startsWith("!=")) return { negated: true, equals: true, rest: raw.slice(2).trim() }
  if (raw.startsWith("=")) return { negated: false, equals: true, rest: raw.slice(1).trim() }
  if (raw.startsWith("!")) return { negated: true, equals: false, rest: raw.slice(1).trim() }
  return { negated: false, equals: false, rest: raw }
}
export const isList = (text: string): boolean => text.startsWith("[") && text.endsWith("]")
export const itemsOf = (list: string): string[] =>
  list.slice(1, -1).trim() === "" ? [] : splitQuoted(list.slice(1, -1))
/** The operator and the values after it: those of a list, or a single value. */
export const operandsOf = (
  raw: string
): {
  readonly negated: boolean
  readonly equals: boolean
  readonly list: boolean
  readonly items: ReadonlyArray<string>
} => {
  const { negated, equals, rest } = operatorOf(raw)
  const list = isList(rest)
  return { negated, equals, list, items: list ? itemsOf(rest) : [rest] }
}
/** Splits at commas outside backticks. */
const splitQuoted = (text: string): string[] => {
  const items: string[] = []
  let start = 0
  let quote = ""
  for (let i = 0; i < text.length; i++) {
    const character = text[i]
    if (quote !== "") {
      if (character === quote) quote = ""
    } else if (character === "`") quote = character
    else if (character === ",") {
      items.push(text.slice(start, i).trim())
      start = i + 1
    }
  }
  items.push(text.slice(start).trim())
  return items
}
