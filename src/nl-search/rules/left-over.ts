/** The part of a request that remains to be searched for, in the original spelling. Pure. */
import type { Span } from "./reader.ts"
import type { Token } from "./tokens.ts"
import { functionWords, orWords, andWords } from "./words.ts"

/** Words next to a constraint that have no meaning by themselves: "*for* under 50", "black *or*". */
const isIdle = ({ isKept, kind, text }: Token): boolean =>
  isKept !== true && (kind === "sign" || functionWords.has(text) || orWords.has(text) || andWords.has(text))

/** `asked`: tokens of openings and polite phrases, which are dropped. */
export const leftOver = (
  q: string,
  tokens: ReadonlyArray<Token>,
  read: ReadonlyArray<Span>,
  asked: ReadonlyArray<Span>
): string => {
  if (read.length === 0 && asked.length === 0) return q
  const isGone = new Uint8Array(tokens.length)
  for (const { end, start } of [...read, ...asked]) isGone.fill(1, start, end)
  for (let at = 0; at < tokens.length; at++) {
    if (isGone[at] === 1 || !isIdle(tokens[at]!)) continue
    let end = at
    while (end < tokens.length && isGone[end] === 0 && isIdle(tokens[end]!)) end++
    const touches = at === 0 || end === tokens.length || isGone[at - 1] === 1 || isGone[end] === 1
    if (touches) isGone.fill(1, at, end)
    at = end - 1
  }
  const parts: Array<string> = []
  for (let at = 0; at < tokens.length;) {
    if (isGone[at] === 1) {
      at++
      continue
    }
    const from = at
    while (at < tokens.length && isGone[at] === 0) at++
    parts.push(q.slice(tokens[from]!.start - openingsBefore(q, tokens[from]!.start), tokens[at - 1]!.end))
  }
  const left = parts.join(" ").replace(/\s+/g, " ").trim()
  return left === "" ? "*" : left
}
/** A quotation mark or minus before a kept word belongs to it. */
const openingsBefore = (q: string, start: number): number =>
  /[-"]$/.test(q.slice(Math.max(0, start - 1), start)) ? 1 : 0
