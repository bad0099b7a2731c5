/**
 * The answer of the embedded model: sentences exactly as in documents, or documents that match the request, each
 * cited; or a refusal. Pure.
 */
import { coverageOf, extract, type Extract, type Passage } from "../extractive/extract.ts"
import type { Terms } from "../extractive/terms.ts"
import type { FoundDocument } from "./found-document.ts"
import { isInstruction, plainText } from "../extractive/hostile.ts"
import { phrasesOf } from "./phrases.ts"

export interface Citation {
  /** Offset into the content, in UTF-16 code units. */ readonly start: number
  readonly end: number
  /** Index into the sources. */ readonly source: number
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
/** What the collections returned. */
export interface Found {
  readonly documents: ReadonlyArray<FoundDocument>
  /** Matching documents, over all collections. */ readonly count: number
  /**
   * What the question requires of documents: a number or an order (`measure`), or values of fields; undefined if
   * neither.
   */
  readonly constraint: "measure" | "value" | undefined
  /** The remaining words of such a question. */ readonly rest: string
}

const SENTENCES_MAX = 2
const LISTED_MAX = 5
const TITLE_CHARACTERS_MAX = 160
/** The share of a question's words that a title must contain to be an answer. */
const TITLE_COVERAGE_MIN = 0.75
const ASKS = /[?？؟]\s*$/u

const passageOf = ({ score, text, title }: FoundDocument): Passage => ({
  text,
  score,
  ...(title === undefined ? {} : { title })
})

/** The sentences that answer, without those that address a model. */
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
      sentences_max: SENTENCES_MAX
    },
    documents.map(passageOf)
  )

/** Filters links in a text; the caller decides which are allowed (`prompt/links.ts`). */
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

/** Words that only express that someone is looking for something. */
const looking = new Set(
  (
    "sell offer carry show find need want looking search recommend list got get give buy " +
    "gibt habt verkauft bietet suche zeig zeige brauche möchte will kaufen " +
    "vendéis vende busco quiero muestra necesito comprar " +
    "cherche avez vendez montre veux acheter"
  ).split(" ")
)
/** Terms of a question that are not constraints. */
const leftOf = ({ terms }: Question, rest: string): ReadonlySet<string> =>
  new Set([...terms.askedWords(rest)].filter(([, word]) => !looking.has(word.toLowerCase())).map(([term]) => term))
/** Whether a document, which satisfies the constraint, also contains enough of the remaining words. */
const isCovered = (
  { terms, text: asked, threshold, weightOf }: Question,
  left: ReadonlySet<string>,
  { labels, text, title = "" }: FoundDocument
): boolean => {
  const held = new Set(terms.all([title, text, labels].join("\n")))
  const all = new Set([...terms.asked(asked), ...left])
  let sum = 0,
    covered = 0
  for (const term of all) {
    const weight = weightOf(term)
    sum += weight
    if (!left.has(term) || held.has(term)) covered += weight
  }
  return covered >= threshold * sum && [...left].some((term) => held.has(term))
}
/** Documents whose names contain what is requested: "do you have a canon 80d?". */
const titled = (question: Question, documents: ReadonlyArray<FoundDocument>) =>
  documents.flatMap((document, source) =>
    document.title === undefined ||
    isInstruction(document.title) ||
    coverageOf(question, document.title) < TITLE_COVERAGE_MIN
      ? []
      : [[document, source] as const]
  )

/** `collections` are the names shown to the reader. */
export const extractiveAnswer = (
  question: Question,
  { constraint, count, documents, rest }: Found,
  collections: string,
  linked: Linked
): Written => {
  const { language } = question.terms
  const all = documents.map((document, source) => [document, source] as const)
  if (documents.length === 0) return refused(language, collections)
  const left = constraint === undefined ? undefined : leftOf(question, rest)
  if (constraint === "measure" || left?.size === 0 || (left !== undefined && !ASKS.test(question.text)))
    return listed(language, all, count, linked)
  const found = supported(question, documents)
  if (found.sentences.length > 0) return quoted(found, linked)
  // "Do you have red lamps?" is answered by red lamps; "how do I clean a red lamp?" is not.
  const own =
    left === undefined ? titled(question, documents) : all.filter(([document]) => isCovered(question, left, document))
  if (own.length === 0) return refused(language, collections)
  return listed(language, own, constraint !== undefined && own.length === all.length ? count : own.length, linked)
}
