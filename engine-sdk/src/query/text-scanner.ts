/**
 * Scanning functions shared by the parameter grammars: splitting lists without being misled by backticks, quotes and
 * brackets, and finding the end of a bracketed part. Every function is linear in the length of its text.
 */

const OPENING = "([{"
const CLOSING = ")]}"

/** Splits at `separator` outside backticks and brackets; items are trimmed. Empty items are kept. */
export const splitOutside = (text: string, separator: string): string[] => {
  const items: string[] = []
  let depth = 0
  let quoted = false
  let start = 0
  for (let i = 0; i < text.length; i++) {
    const character = text[i]
    if (character === "`") quoted = !quoted
    else if (quoted) continue
    else if (OPENING.includes(character)) depth++
    else if (CLOSING.includes(character)) depth = Math.max(0, depth - 1)
    else if (character === separator && depth === 0) {
      items.push(text.slice(start, i).trim())
      start = i + 1
    }
  }
  items.push(text.slice(start).trim())
  return items
}

/** Index of the bracket that closes the one at `open`, outside backticks; -1 if there is none. */
export const closingOf = (text: string, open: number): number => {
  const opening = text[open]
  const closing = CLOSING[OPENING.indexOf(opening)]
  let depth = 0
  let quoted = false
  for (let i = open; i < text.length; i++) {
    const character = text[i]
    if (character === "`") quoted = !quoted
    else if (quoted) continue
    else if (character === opening) depth++
    else if (character === closing && --depth === 0) return i
  }
  return -1
}

/**
 * For every opening bracket outside backticks, the index of its closing bracket, else -1: like `closingOf`, but in one
 * pass for all brackets of a text.
 */
export const closingsOf = (text: string): Int32Array => {
  const closings = new Int32Array(text.length).fill(-1)
  const open: number[][] = [[], [], []]
  let quoted = false
  for (let i = 0; i < text.length; i++) {
    const character = text[i]
    if (character === "`") {
      quoted = !quoted
      continue
    }
    if (quoted) continue
    const opening = OPENING.indexOf(character)
    if (opening >= 0) {
      open[opening].push(i)
      continue
    }
    const closing = CLOSING.indexOf(character)
    const start = closing < 0 ? undefined : open[closing].pop()
    if (start !== undefined) closings[start] = i
  }
  return closings
}

/** Splits a comma-separated list: items are trimmed, empty items dropped. */
export const listOf = (text: string): string[] =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "")
/** Splits a comma-separated list, keeping `$Collection(a, b)` together. */
export const nestedListOf = (text: string): string[] => splitOutside(text, ",").filter((item) => item !== "")

export const isUnsigned = (text: string): boolean => /^\d{1,10}$/.test(text) && Number(text) <= 4_294_967_295
export const isInteger = (text: string): boolean => /^[-+]?\d+$/.test(text)
export const isDecimal = (text: string): boolean => /^[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?$/.test(text)
export const unquote = (text: string): string =>
  text.length >= 2 && text.startsWith("`") && text.endsWith("`") ? text.slice(1, -1) : text
