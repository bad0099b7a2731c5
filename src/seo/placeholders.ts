/**
 * Templates of a rule: the placeholders, mistakes in a template, and filling one in with a value's facts. A placeholder
 * without a value removes its sentence. Filled-in text is never examined again, so a value that looks like a
 * placeholder stays as it is. Pure.
 */

export const PLACEHOLDERS = [
  "VALUE",
  "FACET",
  "COUNT",
  "MIN_PRICE",
  "MAX_PRICE",
  "CURRENCY",
  "TOP_BRANDS",
  "TOP_PRODUCTS",
  "YEAR",
  "SITE_NAME"
] as const
export type Placeholder = (typeof PLACEHOLDERS)[number]
export type PlaceholderValues = ReadonlyMap<Placeholder, string>
/** Facts about the documents: a page without any is mere template. */
const OF_DATA: ReadonlySet<string> = new Set(["COUNT", "MIN_PRICE", "MAX_PRICE", "TOP_BRANDS", "TOP_PRODUCTS"])

const TOKEN = /#([A-Za-z][A-Za-z0-9_]*)#/g
/** Limit of a filled text, in UTF-16 units; the rest is cut. */
const FILLED_MAX = 16_384

export const placeholdersIn = (template: string): ReadonlyArray<string> =>
  [...template.matchAll(TOKEN)].map(([, name]) => name!)
/** Undefined if all placeholders are known. */
export const unknownPlaceholder = (template: string): string | undefined =>
  placeholdersIn(template).find((name) => !(PLACEHOLDERS as ReadonlyArray<string>).includes(name))

interface Filled {
  readonly text: string
  /** Number of sentences with facts about documents. */ readonly dataSentences: number
}
/** Separators are at odd indexes. `line`: a title, whose parts between bars and dashes count as sentences too. */
const SENTENCES = /((?<=[.!?…。])\s+|\n+)/u
const PARTS = /(\s+[|–—·-]\s+|(?<=[.!?…。])\s+)/u

/** Removes control characters, including those that change the text direction, from text that is shown. */
export const plainText = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]+/g, " ")
    .replace(/\s+/g, " ")
    .trim()

const cut = (text: string, most: number): string => (text.length <= most ? text : text.slice(0, most).toWellFormed())

/** O(template + what is filled in). */
export const filled = (template: string, values: PlaceholderValues, kind: "text" | "line"): Filled => {
  const pieces = template.split(kind === "text" ? SENTENCES : PARTS)
  let text = ""
  let dataSentences = 0
  for (let at = 0; at < pieces.length && text.length < FILLED_MAX; at += 2) {
    const piece = pieces[at]!
    const names = placeholdersIn(piece)
    if (piece.trim() === "" || names.some((name) => (values.get(name as Placeholder) ?? "") === "")) continue
    if (names.some((name) => OF_DATA.has(name))) dataSentences++
    const sentence = piece.replace(TOKEN, (_, name: string) => values.get(name as Placeholder)!)
    text += text === "" ? sentence : (pieces[at - 1] ?? " ") + sentence
  }
  return { text: cut(text.trim(), FILLED_MAX), dataSentences }
}
