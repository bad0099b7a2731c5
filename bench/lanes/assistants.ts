/**
 * Question: how often does the embedded model `dowser/extractive` return the sentence that answers, how often does it
 * refuse when nothing answers, and how long does it take? Workload: questions that people wrote about paragraphs in
 * several languages (XQuAD). Each is asked of an in-memory collection of all paragraphs, and again without the
 * paragraph that it is about. The rarity of words is computed from the paragraphs. Excluded: HTTP and conversations,
 * whose cost is measured on a running program (`assistants-http.ts`).
 */
import { join } from "node:path"
import { extract, type Extract, type Passage } from "../../src/assistants/extractive/extract.ts"
import { termsOf } from "../../src/assistants/extractive/terms.ts"
import { machine, percentiles, readLines, report, round } from "../harness/harness.ts"
import { measureHttp } from "./assistants-http.ts"
import { openCollection } from "./relevance.ts"

export interface AssistantsOptions {
  readonly data: string
  readonly languages: string
  readonly threshold: number
  readonly out: string | undefined
}
interface Asked {
  readonly id: string
  readonly lang: string
  readonly text: string
  readonly answer: string
}
const HITS = 5
type Ask = (question: Asked, passages: ReadonlyArray<Passage>, threshold: number) => Extract

/** The number of documents that contain a word, which the room queries from a collection. */
const rarity = (language: string, texts: ReadonlyArray<string>) => {
  const terms = termsOf(language)
  const counts = new Map<string, number>()
  for (const text of texts) for (const term of new Set(terms.all(text))) counts.set(term, (counts.get(term) ?? 0) + 1)
  return (term: string): number => {
    const count = counts.get(term) ?? 0
    return Math.log(1 + (texts.length - count + 0.5) / (count + 0.5))
  }
}

const measure = async (options: AssistantsOptions, language: string) => {
  const documents = (await readLines(join(options.data, "docs.jsonl.gz"))).map(
    (line) => JSON.parse(line) as Record<string, string>
  )
  const texts = new Map(documents.map((document) => [document.id!, document[`text_${language}`]!]))
  const gold = new Map(
    (await readLines(join(options.data, "qrels.tsv"))).map((line) => line.split("\t").slice(0, 2) as [string, string])
  )
  const questions = (await readLines(join(options.data, "queries.jsonl.gz")))
    .map((line) => JSON.parse(line) as Asked)
    .filter(({ lang }) => lang === language)
  const weightOf = rarity(language, [...texts.values()])
  const terms = termsOf(language)
  const ask: Ask = ({ text }, passages, threshold) =>
    extract({ text, terms, weightOf, threshold, sentences_max: 2 }, passages)
  const collection = await openCollection(join(options.data, "docs.jsonl.gz"), `text_${language}`)
  const times: number[] = []
  let among = 0,
    answered = 0,
    right = 0,
    refused = 0,
    citations = 0,
    held = 0
  const containsAnswer = (found: Extract, { answer }: Asked) =>
    found.sentences.some(({ text }) => text.includes(answer))
  for (const question of questions) {
    const began = performance.now()
    const hits = await collection.ranked("relevance", question.text)
    const passages = hits.map(({ document, text_match }): Passage => ({
      text: texts.get(document.id)!,
      score: text_match ?? 0
    }))
    const found = ask(question, passages.slice(0, HITS), options.threshold)
    times.push(performance.now() - began)
    if (containsAnswer(ask(question, passages.slice(0, HITS), 0), question)) among++
    if (found.sentences.length > 0) answered++
    if (containsAnswer(found, question)) right++
    for (const { passage, start, text } of found.sentences) {
      citations++
      if (passages[passage]!.text.startsWith(text, start)) held++
    }
    const without = passages.filter((_, place) => hits[place]!.document.id !== gold.get(question.id)).slice(0, HITS)
    if (ask(question, without, options.threshold).sentences.length === 0) refused++
  }
  await collection.close()
  const share = (count: number, of: number) => round(of === 0 ? 1 : count / of, 4)
  const { p50_ms, p99_ms } = percentiles(times)
  return {
    questions: questions.length,
    "the answer is in two sentences": share(among, questions.length),
    answered: share(answered, questions.length),
    "answered rightly": share(right, answered),
    "refused without its paragraph": share(refused, questions.length),
    "citations that hold the words": share(held, citations),
    p50_ms: round(p50_ms, 3),
    p99_ms: round(p99_ms, 3)
  }
}

export const benchAssistants = async (options: AssistantsOptions): Promise<void> => {
  const languages: Record<string, unknown> = {}
  for (const language of options.languages.split(",")) languages[language] = await measure(options, language)
  const http = await measureHttp(options.data)
  report("assistants", { machine: machine(), threshold: options.threshold, languages, http }, options.out)
}
