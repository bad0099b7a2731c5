/**
 * Answers a question: determines what it is about, finds the documents that the caller may see, and returns one to
 * three of their sentences, or the text of an organization's own model. Unsupported questions are refused first.
 */
import { Effect } from "effect"
import { AiProviders } from "../../ai-providers/ai-providers.ts"
import { makeContexts } from "../../engine-plane/engine-plane.ts"
import { words } from "../../embedding/vector-access.ts"
import type { GeneratorModel } from "../../ports/generator/generator.ts"
import { languageOf } from "../../understanding/language.ts"
import { likelyLanguage, termsOf } from "../extractive/terms.ts"
import { excerptOf } from "../prompt/excerpt.ts"
import {
  type AnswerAsked,
  type Asking,
  EXTRACTIVE,
  extracted,
  type Listener,
  refusedBy,
  type Source
} from "./answer.ts"
import { type Found, type Question, supported } from "./extractive-answer.ts"
import type { FoundDocument } from "./found-document.ts"
import { askedOf, searchQueryOf } from "./question.ts"
import { rarityOf } from "./rarity.ts"
import { makeRetrieval } from "./retrieval.ts"
import { makeWriting } from "./writing.ts"

const SNIPPET_CHARACTERS = 300
/** The part of a question that is used to find documents and choose sentences. */
const QUESTION_CHARACTERS_MAX = 2_000

const shown = (
  { collection, document, score, text, title }: FoundDocument,
  { terms, text: question, weightOf }: Question
): Source => ({
  collection,
  document,
  score: Math.round(score * 10_000) / 10_000,
  snippet: text.trim() === "" ? (title ?? "") : excerptOf(text, question, terms, weightOf, SNIPPET_CHARACTERS)
})
/** The question, and what was found for it. */
const makeReading = Effect.gen(function* () {
  const retrieval = yield* makeRetrieval
  const contextOf = yield* makeContexts
  return Effect.fnUntraced(function* (asked: AnswerAsked) {
    const { assistant, filters, messages, remembered, request } = asked
    const { caller } = request
    const { history, instructions, question: whole } = askedOf(messages, remembered, caller.scope === "full")
    // A model reads the entire text; only its beginning is used for finding words.
    const text = whole.slice(0, QUESTION_CHARACTERS_MAX).toWellFormed()
    const detected = yield* Effect.promise(async () => languageOf(text, words(text)))
    const language = assistant.language ?? detected ?? likelyLanguage(text)
    const terms = termsOf(language)
    const before = history.at(-1)
    const retrieving = {
      request,
      collections: assistant.collections,
      searchParams: assistant.search_params,
      templates: assistant.document_template,
      filters,
      documentsMax: assistant.max_context_documents
    }
    const there = retrieval.present({ ...retrieving, q: text })
    const wordsAsked = new Map([
      ...terms.askedWords(text),
      ...(before === undefined ? [] : terms.askedWords(before.question))
    ])
    const context = contextOf(caller.organizationId)
    const weightOf = yield* rarityOf(
      context,
      caller,
      there.map(({ collection }) => collection),
      wordsAsked
    )
    const searchQuery = searchQueryOf(text, before, terms, weightOf)
    const { found, isNearest } = yield* retrieval.found({ ...retrieving, q: searchQuery }, there)
    // A question without content words ("why?") is replaced by the search query, which names what it refers to.
    const own = terms.asked(text).length > 0 ? text : searchQuery
    const question: Question = { text: own, terms, weightOf, threshold: assistant.refusal_threshold }
    const asking: Asking = {
      asked,
      question,
      searchQuery,
      whole,
      history,
      instructions,
      documents: found.documents,
      sources: found.documents.map((document) => shown(document, question))
    }
    return { asking, found, isNearest }
  })
})

/** Does not handle credits or memory. Fails with `GenerationFailed` if an organization's own model fails. */
export const makeAnswering = Effect.gen(function* () {
  const providers = yield* AiProviders
  const reading = yield* makeReading
  const writing = yield* makeWriting

  const modelOf = ({ assistant, request }: AnswerAsked): GeneratorModel | undefined => {
    const own = providers.generator(request.caller.organizationId)
    if (own === undefined || assistant.model === EXTRACTIVE) return undefined
    return assistant.model === undefined ? own : { ...own, model: assistant.model }
  }
  /** Whether the documents contain anything from which a model could answer. */
  const isSupported = ({ asked, question }: Asking, found: Found, isNearest: boolean): boolean =>
    !asked.assistant.refuse_without_sources ||
    (!isNearest &&
      found.documents.length > 0 &&
      (found.constraint !== undefined || supported(question, found.documents).coverage >= question.threshold))

  return Effect.fnUntraced(function* (asked: AnswerAsked, listener: Listener) {
    const { asking, found, isNearest } = yield* reading(asked)
    const model = modelOf(asked)
    const name = model?.model ?? EXTRACTIVE
    const isWritten = model !== undefined && isSupported(asking, found, isNearest)
    if (isWritten) {
      yield* listener.sources(asking.sources, name)
      return yield* writing(asking, model, listener)
    }
    const answer = model !== undefined || isNearest ? refusedBy(asking, name) : extracted(asking, found, name)
    yield* listener.sources(answer.sources, name)
    yield* listener.delta(answer.content)
    return answer
  })
})
