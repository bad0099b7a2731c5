/**
 * Vectors are stored separately from the text of their document: they make up most of it, and a search reads a few
 * hundred documents of which it shows ten. The text is cut so that putting the vectors back restores it exactly,
 * character by character. Pure.
 */
import { parseJson, stringifyJson } from "../documents/json.ts"
import type { Document } from "../schema.ts"

interface Cut {
  readonly text: string
  /** One line per vector: its offset in `text`, and its entry. */ readonly vectors: string
}
/** undefined if there is nothing to cut. O(text). */
export const withoutVectors = (text: string, names: ReadonlyArray<string>): Cut | undefined => {
  if (names.length === 0) return undefined
  const document = parseJson(text) as Document
  if (!names.some((name) => Object.hasOwn(document, name))) return undefined
  let kept = "{"
  const cut: string[] = []
  for (const [key, value] of Object.entries(document)) {
    const entry = `${JSON.stringify(key)}:${stringifyJson(value)}`
    const isFirst = kept === "{"
    if (!names.includes(key)) kept += isFirst ? entry : `,${entry}`
    // The comma removed with it is the one next to the part already kept.
    else cut.push(`${kept.length} ${isFirst ? `${entry},` : `,${entry}`}`)
  }
  const own = { text: `${kept}}`, vectors: cut.join("\n") }
  return wholeText(own.text, own.vectors) === text ? own : undefined
}
export const wholeText = (text: string, vectors: string): string => {
  let whole = text
  // From last to first, so that inserting one does not shift the offsets before it.
  for (const line of vectors.split("\n").reverse()) {
    const space = line.indexOf(" ")
    const at = Number(line.slice(0, space))
    whole = whole.slice(0, at) + line.slice(space + 1) + whole.slice(at)
  }
  return whole
}
