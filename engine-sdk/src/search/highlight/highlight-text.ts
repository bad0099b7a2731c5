/**
 * Marks words in a text and cuts snippets (`docs/contract/highlighting.md`). It works on the original text and the
 * offsets of its tokens; the caller decides which words are marked.
 */
import type { TextTokens, TokenSpan } from "../../analysis/text-tokens.ts"
import { answerTooLarge } from "../../budget/answer-budget.ts"

/** What a token of the text matches: which wanted word, and how many of its characters to mark. */
export type TokenMatcher = (token: string) => { readonly wanted: number; readonly length: number } | undefined

/** Marks every token that the matcher accepts. Throws AnswerRefused if the result exceeds the answer's bound. */
export const highlightTokens = (
  text: string,
  spans: ReadonlyArray<TokenSpan>,
  matcher: TokenMatcher,
  { bytesMax, endTag, startTag }: Pick<SnippetRules, "startTag" | "endTag" | "bytesMax">
): string => {
  let out = "",
    at = 0
  for (const { token, start, end } of spans) {
    const match = matcher(token)
    if (match === undefined) continue
    const stop = match.length >= token.length ? end : markedEnd(text, start, end, match.length)
    out += text.slice(at, start) + startTag + text.slice(start, stop) + endTag
    if (out.length > bytesMax) throw answerTooLarge(bytesMax, "facets")
    at = stop
  }
  return out + text.slice(at)
}

/** Offset after the first `letters` characters (code points) of a token. */
const markedEnd = (text: string, start: number, end: number, letters: number): number => {
  let at = start
  for (let n = 0; n < letters && at < end; n++) at += text.codePointAt(at)! > 0xffff ? 2 : 1
  return at
}

/** Whether a dropped character does not belong to a word's mark or its letters: punctuation that is not indexed. */
const isPunctuation = (code: number): boolean =>
  code < 0x80 && !(code >= 48 && code <= 57) && !(code >= 65 && code <= 90) && !(code >= 97 && code <= 122)

/** A word that highlighting looks for. */
export interface MarkedWord {
  /** Number of characters that were typed. */ readonly typedLength: number
  readonly typos: number
  readonly isPrefix: boolean
}
export interface SnippetRules {
  readonly affixTokens: number
  readonly threshold: number
  readonly startTag: string
  readonly endTag: string
  /** Whether JSON writes the two tags as they are. */ readonly arePlainTags: boolean
  /** Whether words outside the best window are marked too. */ readonly isFull: boolean
  readonly separators: string
  /** Symbols that are indexed. */ readonly symbols: string
  /** Maximum bytes of one marked text. */ readonly bytesMax: number
}
export interface Snippet {
  readonly snippet: string
  readonly value: string | undefined
  readonly matchedTokens: string[]
}

const WINDOW = 10
const SHORT_TEXT_FACTOR = 6
/** Maximum bytes of a UTF-16 unit. */
const UNIT_BYTES_MAX = 3

/**
 * The best window of a text: the positions of words in it, how many words it contains, and how spread out they are.
 * undefined = the text has no wanted word.
 */
export interface TextMatch {
  readonly offsets: ReadonlyArray<number>
  readonly words: number
  readonly distance: number
  readonly present: number
  /** Whether the text consists of these words only. */ readonly isWhole: boolean
}
/** How a named ranking reports which words it matched. */
export interface Marker {
  /** `written`: a token of the text, in lower case. */
  find(written: string): MarkedWord | undefined
  /** Every word it finds starts with one of these; undefined: any start. */ readonly roots?: ReadonlyArray<string>
}
/**
 * Returns the wanted word for the token at [start, end) of a text. `isLower`: the token is what is written there, in
 * lower case, so that it need not be made again.
 */
export type WordFinder = (
  token: string,
  text: string,
  start: number,
  end: number,
  isLower: boolean
) => MarkedWord | undefined
export const bestWindow = (text: string, tokens: TextTokens, find: WordFinder): TextMatch | undefined => {
  const { areLower, count, edges, places, texts } = tokens
  const seen: string[] = []
  /** Positions per token, in the order of the tokens' first positions. */
  const lists: number[][] = []
  for (let i = 0; i < texts.length; i++) {
    const place = places[i]
    if (find(texts[i], text, edges[2 * place], edges[2 * place + 1], areLower) === undefined) continue
    const known = seen.indexOf(texts[i])
    if (known >= 0) lists[known].push(place)
    else if (seen.length < WINDOW) {
      seen.push(texts[i])
      lists.push([place])
    }
  }
  return windowOf(lists, count)
}
/**
 * `lists`: positions per wanted token of the text, in the order of the tokens' first positions; `count`: number of
 * tokens of the text.
 */
const windowOf = (lists: ReadonlyArray<ReadonlyArray<number>>, count: number): TextMatch | undefined => {
  if (lists.length === 0) return undefined
  // With a single word, its first position is as good as any.
  if (lists.length === 1) return { offsets: [lists[0][0]], words: 1, distance: 0, present: 1, isWhole: count === 1 }
  const heads = lists.map(() => 0)
  let best: number[] = [],
    bestDistance = 0
  for (;;) {
    let first = -1,
      start = Infinity
    for (let t = 0; t < lists.length; t++)
      if (heads[t] < lists[t].length && lists[t][heads[t]] < start) {
        first = t
        start = lists[t][heads[t]]
      }
    if (first < 0) break
    let words = 0,
      last = start
    for (let t = 0; t < lists.length; t++) {
      const at = heads[t] < lists[t].length ? lists[t][heads[t]] : Infinity
      if (at - start <= WINDOW) {
        words++
        if (at > last) last = at
      }
    }
    if (words > best.length || (words === best.length && last - start < bestDistance)) {
      best = placesWithin(lists, heads, start)
      bestDistance = last - start
    }
    if (best.length === lists.length && bestDistance === lists.length - 1) break
    heads[first]++
  }
  const isWhole =
    count === lists.length && best.length === lists.length && lists.some((list) => list[list.length - 1] === count - 1)
  return { offsets: best, words: best.length, distance: bestDistance, present: lists.length, isWhole }
}
/** The tokens' next positions within the window that begins at `start`, ascending. */
const placesWithin = (
  lists: ReadonlyArray<ReadonlyArray<number>>,
  heads: ReadonlyArray<number>,
  start: number
): number[] => {
  const places: number[] = []
  for (let t = 0; t < lists.length; t++) {
    if (heads[t] === lists[t].length || lists[t][heads[t]] - start > WINDOW) continue
    const place = lists[t][heads[t]]
    let at = places.length
    for (; at > 0 && places[at - 1] > place; at--) places[at] = places[at - 1]
    places[at] = place
  }
  return places
}

interface Mark {
  /** Index of the token. */ readonly place: number
  readonly start: number
  readonly end: number
}
/**
 * Cuts and marks one text. `typedLength` is the number of typed characters of a completed word, unless the word itself
 * determines it. The end of a token includes dropped characters up to the next separator, because snippets end there.
 */
export const snippetOf = (
  text: string,
  tokens: TextTokens,
  match: TextMatch,
  find: WordFinder,
  rules: SnippetRules,
  typedLength?: number
): Snippet => {
  const { count, edges } = tokens,
    { affixTokens, isFull, threshold } = rules
  const lastShown = match.offsets[match.offsets.length - 1] + affixTokens,
    /** Later tokens are not marked. */ lastMarked = isFull ? count : Math.max(threshold, lastShown)
  const marks = marksOf(text, tokens, match, find, rules, typedLength, lastMarked)
  let from = 0,
    to = text.length
  if (threshold > 0 && Math.min(lastMarked, count - 1) >= threshold) {
    if (marks.length > 0) from = edges[2 * Math.max(0, marks[0].place - affixTokens)]
    if (lastShown < count) to = trailingEnd(text, edges[2 * lastShown + 1], startAfter(text, tokens, lastShown))
  }
  const matchedTokens: string[] = []
  const snippet = mark(text, from, to, marks, rules, matchedTokens)
  return { snippet, value: isFull ? mark(text, 0, text.length, marks, rules, []) : undefined, matchedTokens }
}
/** Marks of tokens up to `lastMarked`: the window's words and their repetitions; all wanted words of a short text. */
const marksOf = (
  text: string,
  tokens: TextTokens,
  { offsets }: TextMatch,
  find: WordFinder,
  rules: SnippetRules,
  typedLength: number | undefined,
  lastMarked: number
): Mark[] => {
  const { areLower, edges, places, texts } = tokens
  const marksAll = rules.isFull || isShort(text, tokens, rules)
  const marks: Mark[] = [],
    hits: string[] = []
  for (let i = 0, next = 0; i < places.length && places[i] <= lastMarked; i++) {
    const token = texts[i],
      place = places[i],
      start = edges[2 * place],
      end = edges[2 * place + 1]
    const isNext = next < offsets.length && offsets[next] === place
    if (isNext) next++
    const word = find(token, text, start, end, areLower)
    if (!isNext && !hits.includes(token) && (!marksAll || word === undefined)) continue
    const stop = tokenEnd(text, end, startAfter(text, tokens, place), rules.separators)
    marks.push({ place, start, end: markEnd(text, start, stop, token, word, rules.symbols, typedLength) })
    if (!hits.includes(token)) hits.push(token)
  }
  return marks
}
/** Where the token after `place` begins, or the end of the text. */
const startAfter = (text: string, { count, edges }: TextTokens, place: number): number =>
  place + 1 < count ? edges[2 * place + 2] : text.length
const isShort = (text: string, { isAscii }: TextTokens, { threshold }: SnippetRules): boolean => {
  const shortBelow = threshold * SHORT_TEXT_FACTOR
  return text.length * UNIT_BYTES_MAX < shortBelow || (isAscii ? text.length : textLength(text)) < shortBelow
}
const mark = (
  text: string,
  from: number,
  to: number,
  marks: ReadonlyArray<Mark>,
  rules: SnippetRules,
  matched: string[]
): string => {
  let out = "",
    at = from
  for (const { start, end } of marks) {
    if (start < from || start >= to) continue
    const marked = text.slice(start, end)
    out += text.slice(at, start) + rules.startTag + marked + rules.endTag
    if (out.length > rules.bytesMax) throw answerTooLarge(rules.bytesMax, "highlights")
    matched.push(marked)
    at = end
  }
  return at < to ? out + text.slice(at, to) : out
}
/** Matches by prefix mark only what was typed, unless a typo was involved and at most two letters remain. */
const markEnd = (
  text: string,
  start: number,
  end: number,
  token: string,
  word: MarkedWord | undefined,
  symbols: string,
  ofQuery?: number
): number => {
  let stop = end
  const typedLength = ofQuery ?? word?.typedLength ?? Infinity
  if (word !== undefined && word.isPrefix && typedLength < token.length) {
    let letters = 0,
      at = start,
      typedEnd = start
    while (at < end) {
      const code = text.codePointAt(at)!
      at += code > 0xffff ? 2 : 1
      if (isPunctuation(code) && !symbols.includes(String.fromCharCode(code))) continue
      if (++letters <= typedLength) typedEnd = at
    }
    stop = word.typos !== 0 && letters - typedLength - word.typos <= 2 ? end : typedEnd
  }
  while (stop > start + 1 && isPunctuation(text.charCodeAt(stop - 1)) && !symbols.includes(text[stop - 1])) stop--
  return stop
}
/** A token extends to the next separator and includes the dropped characters after it. */
const tokenEnd = (text: string, end: number, limit: number, separators: string): number => {
  let at = end
  while (at < limit && text[at] !== " " && text[at] !== "\n" && !separators.includes(text[at])) at++
  return at
}
/** Dropped characters that follow a token belong to it until a space. */
const trailingEnd = (text: string, end: number, limit: number): number => {
  let at = end
  while (at < limit && text[at] !== " " && text[at] !== "\n") at++
  return at
}
/** Bytes if the text begins with ASCII, else characters: this is how the reference engine measures "short". */
const textLength = (text: string): number => {
  let points = 0,
    bytes = 0
  for (const character of text) {
    const code = character.codePointAt(0)!
    points++
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
  }
  return text.charCodeAt(0) < 0x80 ? bytes : points
}
