/** Answers of `dowser/extractive`: sentences as they stand in the documents that were found, or that there is none. Pure. */
import type { Source } from "../assistants/prompt/fence.ts"
import { extract, type Passage } from "../assistants/extractive/extract.ts"
import { termsOf } from "../assistants/extractive/terms.ts"

const THRESHOLD = 0.5
const SENTENCES_MAX = 3
/** A word of the question that no document holds says most of what is missing. */
const ABSENT = 2

const NOTHING: ReadonlyMap<string, string> = new Map([
  ["de", "Dazu habe ich in den Dokumenten nichts gefunden."],
  ["es", "No he encontrado nada sobre esto en los documentos."],
  ["fr", "Je n'ai rien trouvé à ce sujet dans les documents."],
  ["ru", "В документах об этом ничего не нашлось."]
])
const NOTHING_FOUND = "I found nothing about this in the documents."

/** O(the three best documents). */
export const bySentences = (question: string, sources: ReadonlyArray<Source>, language: string): string => {
  const terms = termsOf(language)
  const held = new Set(sources.flatMap(({ text, title }) => terms.all(`${title}\n${text}`)))
  const passages = sources.map(({ text, title }, rank): Passage => ({
    text: `${title}\n${text}`,
    title,
    score: 1 / (rank + 1)
  }))
  const { sentences } = extract(
    {
      text: question,
      terms,
      weightOf: (term) => (held.has(term) ? 1 : ABSENT),
      threshold: THRESHOLD,
      sentences_max: SENTENCES_MAX
    },
    passages
  )
  if (sentences.length === 0) return NOTHING.get(language) ?? NOTHING_FOUND
  return sentences
    .map(({ passage, text }, i) => {
      const { title } = sources[passage]!
      const isNew = i === 0 || sentences[i - 1]!.passage !== passage
      const ended = /[\p{L}\p{N}]$/u.test(text) ? `${text}.` : text
      return isNew && title !== "" && !text.includes(title) ? `${title}: ${ended}` : ended
    })
    .join(" ")
}
