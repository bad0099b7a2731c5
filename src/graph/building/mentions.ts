/**
 * The entities that a document names: a pure function of the document, so that its counts can be subtracted. Values
 * of facet fields name an entity of the field's type; runs of capitalised words in long text name one of type `term`.
 */

import { textsAt } from "../../texts/texts-at.ts"

/** The fields of a collection that are read. */
export interface EntityFields {
  /** Facet text fields, in the order of the schema. */ readonly facets: ReadonlyArray<string>
  /** Other text fields. */ readonly texts: ReadonlyArray<string>
}
export type DocumentRead = Readonly<Record<string, unknown>>
/** The type of entities that long text names. */
export const TERM = "term"

/** Limit over all long texts of a document. */
const TEXT_CHARACTERS_MAX = 4_000
/** A text with fewer words is a title, in which every word may be capitalised. */
const LONG_WORDS_MIN = 12

const WORD = /[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu
const CAPITALISED = /^\p{Lu}/u
const ENDS_SENTENCE = /[.!?:;•·|\n]/
const RUN_MAX = 4

/** Long texts of a document, together at most `TEXT_CHARACTERS_MAX` characters. */
export const longTexts = (document: DocumentRead, fields: EntityFields): ReadonlyArray<string> => {
  let left = TEXT_CHARACTERS_MAX
  const found: Array<string> = []
  for (const field of fields.texts)
    for (const text of textsAt(document, field)) {
      if (left <= 0) return found
      const part = text.slice(0, left)
      left -= part.length
      found.push(part)
    }
  return found.filter((text) => (text.match(WORD) ?? []).length >= LONG_WORDS_MIN)
}

/** Runs of capitalised words. The first word of a sentence is capitalised anyway, so it is skipped. */
export const capitalisedRuns = (text: string): ReadonlyArray<string> => {
  const runs: Array<string> = []
  let words = 0,
    capitals = 0
  let run: Array<string> = []
  let end = 0
  const close = () => {
    if (run.length > 0) runs.push(run.join(" "))
    run = []
  }
  for (const { 0: word, index } of text.matchAll(WORD)) {
    const between = text.slice(end, index)
    const opens = end === 0 || ENDS_SENTENCE.test(between)
    end = index + word.length
    words++
    const isCapital = CAPITALISED.test(word)
    if (isCapital && !opens) capitals++
    if (opens || !/^ $/.test(between) || !isCapital || run.length >= RUN_MAX) close()
    if (isCapital && !opens) run.push(word)
  }
  close()
  // In a text written mostly in capitals, they have no meaning.
  return capitals > words / 2 ? [] : runs
}

/** Calls back for each mention with its type and its spelling in the document. */
export const mentionsOf = (
  document: DocumentRead,
  fields: EntityFields,
  onMention: (type: string, text: string) => void
): void => {
  for (const field of fields.facets) for (const text of textsAt(document, field)) onMention(field, text)
  for (const text of longTexts(document, fields)) for (const run of capitalisedRuns(text)) onMention(TERM, run)
}
