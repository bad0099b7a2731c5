/** Answers of `dowser/extractive`: sentences exactly as in documents, or a message that there are none. Pure. */
import type { Source } from "../assistants/prompt/fence.ts"
import { isInstruction } from "../assistants/extractive/hostile.ts"
import { extract } from "../assistants/extractive/extract.ts"
import { type Terms, termsOf } from "../assistants/extractive/terms.ts"

const THRESHOLD = 0.5
const SOURCES_MAX = 3
/** Limit per document, if only one document answers. */
const SENTENCES_MAX = 2
/** Scores of two documents that differ by less than this count as equal. */
const AS_MUCH = 0.01
/** Added to the document's score if every word of its title is in the question. */
const NAMED = 0.5
/** Weight of a question's word that no document contains. */
const ABSENT = 2

const NOTHING: ReadonlyMap<string, string> = new Map([
  ["de", "Dazu habe ich in den Dokumenten nichts gefunden."],
  ["es", "No he encontrado nada sobre esto en los documentos."],
  ["fr", "Je n'ai rien trouvé à ce sujet dans les documents."],
  ["ru", "В документах об этом ничего не нашлось."]
])
const NOTHING_FOUND = "I found nothing about this in the documents."

/** Drops a sentence that covers no more of the question than those before it. */
const withoutRepeats = (sentences: ReadonlyArray<string>, asked: ReadonlyArray<string>, terms: Terms) => {
  const left = new Set(asked)
  return sentences.filter((sentence, i) => {
    const added = terms.all(sentence).filter((term) => left.delete(term))
    return i === 0 || added.length > 0
  })
}

interface Question {
  /** As it was asked by the visitor. */ readonly question: string
  /** The question's meaning without the earlier conversation. */ readonly meant: string
}
interface Found {
  readonly title: string
  /** How well the document covers the question, plus a share for its title. */ readonly score: number
  readonly sentences: ReadonlyArray<string>
}
/** Sentences of one document, all of which its title describes. */
const foundIn = (
  { meant, question }: Question,
  { text, title }: Source,
  terms: Terms,
  held: ReadonlySet<string>
): Found => {
  const asked = terms.asked(question)
  const named = new Set(terms.all(title))
  const weightOf = (term: string): number => (held.has(term) ? 1 : ABSENT)
  const { coverage, sentences } = extract(
    { text: question, terms, weightOf, threshold: THRESHOLD, sentences_max: SENTENCES_MAX },
    [{ text: `${title}\n${text}`, title, score: 1 }]
  )
  const whole = new Set(terms.asked(meant))
  const share = [...named].filter((term) => whole.has(term)).length / Math.max(1, named.size)
  return {
    title,
    score: coverage + NAMED * share,
    sentences: withoutRepeats(
      sentences.map((sentence) => sentence.text),
      asked,
      terms
    )
  }
}
const ended = (sentence: string): string => (/[\p{L}\p{N}]$/u.test(sentence) ? `${sentence}.` : sentence)
const quoteOf = ({ sentences, title }: Found): string => {
  const text = sentences.map(ended).join(" ")
  return title === "" || text.includes(title) || isInstruction(title) ? text : `${title}: ${text}`
}

/** The title of the document from which such an answer was taken. */
export const subjectOf = (answer: string): string | undefined => /^(.{2,200}?): /.exec(answer)?.[1]

/** Sentences of the documents that cover most of the question. O(the three best documents). */
export const bySentences = (asked: Question, sources: ReadonlyArray<Source>, language: string): string => {
  const terms = termsOf(language)
  // A question without content words is replaced by its meaning.
  const question = terms.asked(asked.question).length === 0 ? { ...asked, question: asked.meant } : asked
  const held = new Set(sources.flatMap(({ text, title }) => terms.all(`${title}\n${text}`)))
  const found = sources
    .slice(0, SOURCES_MAX)
    .map((source) => foundIn(question, source, terms, held))
    .filter(({ sentences }) => sentences.length > 0)
  const best = Math.max(...found.map(({ score }) => score))
  const chosen = found.filter(({ score }) => score > best - AS_MUCH)
  if (chosen.length === 0) return NOTHING.get(language) ?? NOTHING_FOUND
  const [only] = chosen
  if (chosen.length === 1) return quoteOf(only!)
  return chosen.map((one) => quoteOf({ ...one, sentences: one.sentences.slice(0, 1) })).join(" ")
}
