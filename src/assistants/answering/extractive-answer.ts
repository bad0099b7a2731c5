/**
 * The answer of the embedded model: sentences as they stand in documents, or documents that fit what was asked for,
 * each cited; or that nothing answers. Pure.
 */
import { extract, type Extract, type Passage } from "../extractive/extract.ts"
import type { Terms } from "../extractive/terms.ts"
import type { FoundDocument } from "./found-document.ts"
import { isInstruction, plainText } from "./hostile.ts"
import { phrasesOf } from "./phrases.ts"

export interface Citation {
  /** Of the content, in UTF-16 code units. */ readonly start: number
  readonly end: number
  /** Place in the sources. */ readonly source: number
}
export interface Written {
  readonly content: string
  readonly citations: ReadonlyArray<Citation>
  readonly isRefused: boolean
}
export interface Question {
  readonly text: string
  readonly terms: Terms
  readonly weightOf: (term: string) => number
  readonly threshold: number
}
/** What the collections gave. */
export interface Found {
  readonly documents: ReadonlyArray<FoundDocument>
  /** That match, of all collections. */ readonly count: number
  /**
   * What the question says that documents must be: by numbers or an order (`measure`), or by values of fields alone;
   * undefined where it says nothing of the kind.
   */
  readonly constraint: "measure" | "value" | undefined
}

const SENTENCES_MAX = 2
const LISTED_MAX = 5
const TITLE_CHARACTERS_MAX = 160
/** Of the words of a question, that a title must hold to be an answer. */
const TITLE_COVERAGE_MIN = 0.75
const ASKS = /[?？؟]\s*$/u

const passageOf = ({ score, text, title }: FoundDocument): Passage => ({
  text,
  score,
  ...(title === undefined ? {} : { title })
})

/** The sentences that answer; those that talk to a model are none. */
export const supported = (
  { terms, text, threshold, weightOf }: Question,
  documents: ReadonlyArray<FoundDocument>
): Extract =>
  extract(
    {
      text,
      terms,
      weightOf,
      threshold,
      sentences_max: SENTENCES_MAX,
      isQuotable: (sentence) => !isInstruction(sentence)
    },
    documents.map(passageOf)
  )

/** What a text may lead to is the caller's matter (`prompt/links.ts`). */
type Linked = (text: string) => string

const quoted = ({ sentences }: Extract, linked: Linked): Written => {
  let content = ""
  const citations: Array<Citation> = []
  for (const { passage, text: verbatim } of sentences) {
    const text = linked(verbatim)
    if (content !== "") content += " "
    citations.push({ start: content.length, end: content.length + text.length, source: passage })
    content += `${text} [${passage + 1}]`
  }
  return { content, citations, isRefused: false }
}

const nameOf = ({ document, text, title }: FoundDocument): string => {
  const name = title ?? (text.trim() === "" ? plainText(String(document.id ?? "")) : text.trim())
  return name.slice(0, TITLE_CHARACTERS_MAX).toWellFormed().replace(/\s+/g, " ")
}
const listed = (
  language: string,
  documents: ReadonlyArray<readonly [FoundDocument, number]>,
  count: number,
  linked: Linked
): Written => {
  const shown = documents.slice(0, LISTED_MAX)
  let content = phrasesOf(language).these(Math.max(count, shown.length), shown.length)
  const citations: Array<Citation> = []
  for (const [document, source] of shown) {
    const name = linked(nameOf(document))
    content += "\n- "
    citations.push({ start: content.length, end: content.length + name.length, source })
    const facts = document.facts.map(([field, value]) => `${field}: ${linked(value)}`).join(", ")
    content += `${name}${facts === "" ? "" : ` (${facts})`} [${source + 1}]`
  }
  return { content, citations, isRefused: false }
}
const refused = (language: string, collections: string): Written => ({
  content: phrasesOf(language).nothing(collections),
  citations: [],
  isRefused: true
})

/** Documents whose names hold what is asked for: "do you have a canon 80d?". */
const titled = (question: Question, documents: ReadonlyArray<FoundDocument>) =>
  documents.flatMap((document, source) => {
    if (document.title === undefined || isInstruction(document.title)) return []
    const { coverage } = extract({ ...question, threshold: TITLE_COVERAGE_MIN, sentences_max: 1 }, [
      { text: document.title, score: 1 }
    ])
    return coverage >= TITLE_COVERAGE_MIN ? [[document, source] as const] : []
  })

/** `collections`: as they are told to the reader. */
export const extractiveAnswer = (
  question: Question,
  { constraint, count, documents }: Found,
  collections: string,
  linked: Linked
): Written => {
  const { language } = question.terms
  const matching = () =>
    listed(
      language,
      documents.map((document, source) => [document, source] as const),
      count,
      linked
    )
  if (documents.length === 0) return refused(language, collections)
  if (constraint === "measure" || (constraint === "value" && !ASKS.test(question.text))) return matching()
  const found = supported(question, documents)
  if (found.sentences.length > 0) return quoted(found, linked)
  if (constraint !== undefined) return matching()
  const named = titled(question, documents)
  return named.length > 0 ? listed(language, named, named.length, linked) : refused(language, collections)
}
