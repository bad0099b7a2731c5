/**
 * The hits of a page as JSON text, with an index from which they can be read again. A thread that receives an answer
 * passes the text on and reads hits from it only if it needs them.
 */
import type { AnswerBudget } from "../../budget/answer-budget.ts"
import { parseJson, StoredDocument, stringifyJson } from "../../documents/mod.ts"
import type { TextMatchInfo } from "../../plan.ts"
import type { HitMarks } from "../highlight/marks.ts"

/** A hit of a page as it was found. Both a `Hit` and its JSON text can be made from it without the index. */
export interface FoundHit {
  readonly stored: StoredDocument
  readonly marks: HitMarks
  readonly score: bigint | undefined
  readonly info: TextMatchInfo | undefined
}
/** The hits of an answer that have not been read yet. */
export interface FoundPage {
  readonly found: ReadonlyArray<FoundHit>
  readonly v1: boolean
  /** Their JSON text, if it is written already. */ readonly text?: string
}
/** For each hit, the lengths of its texts, its score and the number of its match details. */
export interface PageIndex {
  readonly hits: Array<
    readonly [document: number, highlight: number, highlights: number, scored: number, score: string, info: number]
  >
  readonly infos: Array<TextMatchInfo>
}

/** Highlights from another thread: they are passed on as text and parsed only when they are read. */
export class WrittenMarks implements HitMarks {
  readonly highlightJson: string
  readonly highlightsJson: string
  /** JSON text of the two forms; `highlightsJson` is empty if the older one was not requested. */
  constructor(highlightJson: string, highlightsJson: string) {
    this.highlightJson = highlightJson
    this.highlightsJson = highlightsJson
  }
  get highlight(): HitMarks["highlight"] {
    return parseJson(this.highlightJson) as HitMarks["highlight"]
  }
  get highlights(): HitMarks["highlights"] {
    return parseJson(this.highlightsJson) as HitMarks["highlights"]
  }
}

/** A document may hold 64-bit integers; only then is the exact writer needed. */
export const plain = (value: unknown): string => {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (error instanceof TypeError) return stringifyJson(value)
    throw error
  }
}

const DOCUMENT = '{"document":',
  HIGHLIGHT = ',"highlight":',
  HIGHLIGHTS = ',"highlights":'
const NO_INFO = -1

/**
 * Adds to `index`, if given, what `WrittenPage` needs to read the hits again. Throws AnswerRefused as soon as the text
 * exceeds the remaining budget. O(text).
 */
export const pageText = (page: FoundPage, budget?: AnswerBudget, index?: PageIndex): string => {
  if (page.text !== undefined && index === undefined) {
    budget?.room(page.text.length, "documents")
    return page.text
  }
  const { found, v1 } = page
  let out = "",
    scored: bigint | undefined,
    about: TextMatchInfo | undefined,
    scoreText = ""
  for (let i = 0; i < found.length; i++) {
    const { info, marks, score, stored } = found[i]
    // Neighbouring hits often have the same score.
    if (score !== scored || info !== about) {
      scoreText =
        score === undefined
          ? ""
          : `,"text_match":${score}${info === undefined ? "" : `,"text_match_info":${plain(info)}`}`
      scored = score
      about = info
      if (info !== undefined) index?.infos.push(info)
    }
    const document = stored.text ?? plain(stored.value),
      highlight = marks.highlightJson,
      highlights = v1 ? marks.highlightsJson : ""
    out += `${i === 0 ? "[" : ","}${DOCUMENT}${document}${HIGHLIGHT}${highlight}${v1 ? HIGHLIGHTS + highlights : ""}${scoreText}}`
    index?.hits.push([
      document.length,
      highlight.length,
      highlights.length,
      scoreText.length,
      score === undefined ? "" : String(score),
      info === undefined ? NO_INFO : index.infos.length - 1
    ])
    budget?.room(out.length, "documents")
  }
  return out === "" ? "[]" : `${out}]`
}

/** A page that another thread has written. `index`: JSON text of its `PageIndex`. */
export class WrittenPage implements FoundPage {
  readonly text: string
  readonly v1: boolean
  readonly #index: string
  #found: ReadonlyArray<FoundHit> | undefined
  constructor(text: string, v1: boolean, index: string) {
    this.text = text
    this.v1 = v1
    this.#index = index
  }
  get found(): ReadonlyArray<FoundHit> {
    return (this.#found ??= this.#read())
  }
  #read(): ReadonlyArray<FoundHit> {
    const { hits, infos } = JSON.parse(this.#index) as PageIndex
    let at = 0
    const next = (before: number, length: number): string => this.text.slice((at += before), (at += length))
    return hits.map(([document, highlight, highlights, scored, score, info]) => {
      // Each hit follows a bracket or comma.
      const stored = new StoredDocument(next(1 + DOCUMENT.length, document)),
        marks = next(HIGHLIGHT.length, highlight),
        older = this.v1 ? next(HIGHLIGHTS.length, highlights) : ""
      at += scored + 1
      return {
        stored,
        marks: new WrittenMarks(marks, older),
        score: score === "" ? undefined : BigInt(score),
        info: info === NO_INFO ? undefined : infos[info]
      }
    })
  }
}
