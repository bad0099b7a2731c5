/**
 * Interprets a question without a model: its meaning after the earlier conversation, and its words to look up in
 * documents. Pure.
 */
import { type Terms, termsOf } from "../assistants/extractive/terms.ts"

/** Limit of words from the previous question that complete a short one. */
const BEFORE_MAX = 12
/** A question is a follow-up if it has fewer content words, or a word that refers back. */
const WHOLE_FROM = 2
const REFERS_BACK =
  /^\s*(?:and|und|y|et|и)\b|(?:^|[\s¿¡'’])(?:it|its|they|them|that|those|these|this|one|ones|er|es|sie|ihn|ihm|dessen|deren|diese[rsnm]?|él|ella|ellos|ellas|eso|ese|esa|esos|esas|lo|le|su|sus|il|elle|ils|elles|celui|celle|ceux|он|она|оно|они|его|её|их|этот|эта|это|эти)(?=$|[\s?!.,])/iu

/** The words, as written, that are more than question words. */
const contentWords = (question: string, terms: Terms): ReadonlyArray<string> =>
  question
    .replace(/[¿¡?!"“”«»]/g, " ")
    .split(/\s+/)
    .map((word) => word.replace(/^[.,;:()]+|[.,;:()]+$/g, ""))
    .filter((word) => word !== "" && terms.asked(word).length > 0)

/** `before` is the meaning of the previous question; "" for the first. */
export const standaloneByWords = (question: string, before: string, language: string): string => {
  if (before === "") return question
  const terms = termsOf(language)
  const own = contentWords(question, terms)
  if (own.length >= WHOLE_FROM && !REFERS_BACK.test(question)) return question
  const known = new Set(terms.asked(question))
  const added = contentWords(before, terms).filter((word) => !terms.asked(word).some((term) => known.has(term)))
  return added.length === 0 ? question : `${added.slice(0, BEFORE_MAX).join(" ")} ${question}`
}

/** The words to look up, as written, without those that only form a question. */
export const searchedWords = (question: string, language: string): ReadonlyArray<string> =>
  // Languages without spaces between words are segmented by the search.
  /^(?:zh|ja|th)$/.test(language) ? [] : contentWords(question, termsOf(language))
