/** Checks of single fields of a profile's body, as checks of their schemas. Pure. */
import { isClosedFilterText, parseSortClauses } from "@dowser/engine-sdk/query"
import { isStorable } from "../http/body.ts"

/** Texts that answers contain. */
export const textRefusal =
  (charactersMax: number, charactersMin = 0) =>
  (text: string): string | undefined =>
    text.length > charactersMax || text.length < charactersMin
      ? `${charactersMin} to ${charactersMax} characters`
      : isStorable(text)
        ? undefined
        : "No NUL character and no half surrogate pair"

const EXPRESSION_CHARACTERS_MAX = 10_000
export const filterRefusal = (text: string): string | undefined =>
  textRefusal(EXPRESSION_CHARACTERS_MAX)(text) ??
  (isClosedFilterText(text) ? undefined : "Unbalanced parentheses, brackets or backticks")
/** Empty would be no order, which a profile expresses by having no default sort. */
export const sortRefusal = (text: string): string | undefined => {
  const refusal = textRefusal(EXPRESSION_CHARACTERS_MAX)(text)
  if (refusal !== undefined) return refusal
  const clauses = parseSortClauses(text)
  return !clauses.ok ? clauses.error.message : clauses.value.length === 0 ? "At least one sort" : undefined
}

/** The first value that occurs twice. */
const twice = (values: ReadonlyArray<string>): string | undefined =>
  values.find((value, i) => values.indexOf(value) !== i)
export const listRefusal =
  (itemsMax: number, itemsMin = 0) =>
  (values: ReadonlyArray<string>): string | undefined => {
    if (values.length > itemsMax || values.length < itemsMin)
      return itemsMin > 0 && values.length === 0 ? "At least one field" : `At most ${itemsMax} fields`
    const repeated = twice(values)
    return repeated === undefined ? undefined : `\`${repeated.slice(0, 80)}\` stands there twice`
  }
export const facetsRefusal = (facets: ReadonlyArray<{ readonly field: string }>): string | undefined =>
  listRefusal(100)(facets.map(({ field }) => field))
export const sortsRefusal = (sorts: ReadonlyArray<{ readonly id: string }>): string | undefined => {
  if (sorts.length > 50) return "At most 50 sorts"
  const repeated = twice(sorts.map(({ id }) => id))
  return repeated === undefined ? undefined : `Two sorts have the id \`${repeated.slice(0, 80)}\``
}
