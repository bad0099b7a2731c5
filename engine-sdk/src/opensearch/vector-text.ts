/**
 * Vectors lie beside the text of their document: they are most of it, and a search looks at some hundred documents of
 * which it shows ten. The text is cut where they stood, so that both together are the same text again, letter by
 * letter. Pure.
 */
import { parseJson, stringifyJson } from "../documents/json.ts"
import type { Document } from "../schema.ts"

interface Cut {
  readonly text: string
  /** A line each: where it stood in `text`, and what. */ readonly vectors: string
}
/** undefined where nothing is to be cut. O(text). */
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
  // From the last to the first: what is put in moves nothing before it.
  for (const line of vectors.split("\n").reverse()) {
    const space = line.indexOf(" ")
    const at = Number(line.slice(0, space))
    whole = whole.slice(0, at) + line.slice(space + 1) + whole.slice(at)
  }
  return whole
}
