/** A request as words, numbers and signs, with their positions in the text. Pure. O(text). */

export interface Token {
  readonly kind: "word" | "number" | "sign"
  /** Lower case without accents; numbers verbatim. */ readonly text: string
  readonly start: number
  readonly end: number
  readonly value?: number
  /** In quotation marks, or excluded with a minus: stays in the query, uninterpreted. */ readonly isKept?: boolean
}

const MARKS = /\p{M}+/gu
const ASCII = /^[\0-\x7f]*$/
export const folded = (word: string): string => {
  const lower = word.toLowerCase()
  return ASCII.test(lower) ? lower : lower.normalize("NFKD").replace(MARKS, "").replaceAll("ß", "ss").normalize("NFC")
}

const TOKEN =
  /(?<number>\d+(?:[.,’'\u00a0\u202f]\d{3})+(?:[.,]\d{1,2})?(?![\d])|\d+[.,]\d+|\d+)|(?<word>\p{L}[\p{L}\p{M}\p{N}]*)|(?<sign>[€$£¥₽₴<>≤≥=+%,"“”«»°–—-])/gu
const TOKENS_MAX = 200

const numberOf = (text: string, isComma: boolean): number => {
  const digits = text.replace(/[’'\u00a0\u202f ]/g, "")
  const point = digits.lastIndexOf("."),
    comma = digits.lastIndexOf(",")
  if (point >= 0 && comma >= 0) {
    const decimal = point > comma ? "." : ","
    return Number(digits.replaceAll(decimal === "." ? "," : ".", "").replace(",", "."))
  }
  const mark = point >= 0 ? "." : comma >= 0 ? "," : undefined
  if (mark === undefined) return Number(digits)
  const parts = digits.split(mark)
  // Three digits after each separator are thousands, unless the separator is the language's decimal separator.
  const isGrouped = parts.slice(1).every((part) => part.length === 3) && parts[0]!.length <= 3
  if (isGrouped && parts[0] !== "0" && (parts.length > 2 || (mark === ",") !== isComma)) return Number(parts.join(""))
  return Number(parts.join("."))
}

/** `isComma`: the comma is the decimal separator. */
export const tokensOf = (text: string, isComma: boolean): ReadonlyArray<Token> => {
  const tokens: Array<Token> = []
  const kept = keptRanges(text)
  for (const match of text.matchAll(TOKEN)) {
    if (tokens.length === TOKENS_MAX) break
    const [written] = match
    const start = match.index,
      end = start + written.length
    const isKept = kept.some(([from, to]) => start >= from && end <= to)
    const place = isKept ? { start, end, isKept } : { start, end }
    if (match.groups!.number !== undefined)
      tokens.push({ kind: "number", text: written, value: numberOf(written, isComma), ...place })
    else if (match.groups!.word !== undefined) tokens.push({ kind: "word", text: folded(written), ...place })
    else if (!isHyphen(text, start)) tokens.push({ kind: "sign", text: signOf(written), ...place })
  }
  return tokens
}
const signOf = (sign: string): string =>
  sign === "–" || sign === "—" ? "-" : sign === "“" || sign === "”" ? '"' : sign
/** A hyphen inside a word is not a minus: "non-black". */
const isHyphen = (text: string, at: number): boolean =>
  text[at] === "-" &&
  /[\p{L}\p{N}]$/u.test(text.slice(Math.max(0, at - 2), at)) &&
  /^\p{L}/u.test(text.slice(at + 1, at + 3))
const KEPT = /"[^"]+"|(?<=^|\s)-[\p{L}\p{N}]+/gu
const keptRanges = (text: string): ReadonlyArray<readonly [number, number]> =>
  text.includes('"') || text.includes("-")
    ? [...text.matchAll(KEPT)].map((match) => [match.index, match.index + match[0].length] as const)
    : []
