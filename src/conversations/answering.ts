/**
 * Sends a question of a conversation to its model: first to find its meaning without the conversation, then for the
 * answer, complete or streamed. A failing model never fails the search: the caller gets a message. A model's text may
 * link only to addresses in its sources.
 */
import { Clock, Effect, Stream } from "effect"
import { Identifiers } from "@dowser/log/identifiers"
import { type Source, unmarked } from "../assistants/prompt/fence.ts"
import { allowedAddresses, LinkFilter } from "../assistants/prompt/links.ts"
import type { LanguageModel } from "../language-models/model.ts"
import { type GenerateRequest, type GenerationFailed, Generator } from "../ports/generator/generator.ts"
import { bySentences, subjectOf } from "./by-sentences.ts"
import type { Message } from "./history.ts"
import { generatorOf } from "./model.ts"
import { promptOf, standaloneIn, standalonePromptOf } from "./prompt.ts"
import { standaloneByWords } from "./questions.ts"

const ANSWER_MS = 60_000
const ANSWER_TOKENS = 1_500
const STANDALONE_MS = 15_000
const STANDALONE_TOKENS = 300
const MARK = 12
/** Limit of earlier questions that clarify the meaning of a question. */
const QUESTIONS_MAX = 5

export interface Asked {
  readonly organizationId: string
  readonly model: LanguageModel
  /** The visitor's question. */ readonly question: string
  readonly history: ReadonlyArray<Message>
  readonly language: string
}
interface Answer {
  readonly text: string
  /** Why there is no answer, or only its beginning. */ readonly error?: string
}
/** Control characters, except tabs and line ends. */
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g
/** Receives parts of an answer as they become certain. */
export type Deliver = (piece: string) => void

/** An answer as it is written: prompt marks are removed, and link addresses are checked. */
class Written {
  readonly #filter: LinkFilter
  readonly #deliver: Deliver | undefined
  text = ""
  constructor(sources: ReadonlyArray<Source>, deliver: Deliver | undefined) {
    this.#filter = new LinkFilter(allowedAddresses(sources.map(({ text, title }) => `${title}\n${text}`)))
    this.#deliver = deliver
  }
  #add(piece: string): void {
    if (piece === "") return
    this.text += piece
    this.#deliver?.(piece)
  }
  push(delta: string): void {
    this.#add(this.#filter.push(unmarked(delta.replace(CONTROLS, ""))))
  }
  end(): void {
    this.#add(this.#filter.end())
  }
}

export const makeAnswering = Effect.gen(function* () {
  const generator = yield* Generator
  const identifiers = yield* Identifiers
  const requestOf = ({ model, organizationId }: Asked): Omit<GenerateRequest, "messages"> => ({
    organizationId,
    model: generatorOf(model),
    maxTokens: ANSWER_TOKENS,
    timeout_ms: ANSWER_MS,
    ...(typeof model.fields.temperature === "number" ? { temperature: model.fields.temperature } : {})
  })

  /** The meaning of the question without the earlier conversation; derived from its words if no model helps. */
  const standalone = Effect.fnUntraced(function* (asked: Asked) {
    const { history, language, model, question } = asked
    if (history.length === 0) return question
    const questions = history.flatMap(({ role, text }) => (role === "user" ? [text] : [])).slice(-QUESTIONS_MAX)
    // A follow-up continues with the meaning of the previous question, or with the subject of the last answer.
    const before = questions.reduce((known, next) => standaloneByWords(next, known, language), "")
    const subject = model.provider === "dowser" ? subjectOf(history.at(-1)?.text ?? "") : undefined
    const byWords = standaloneByWords(question, subject ?? before, language)
    if (model.provider === "dowser") return byWords
    const rewritten = generator.complete({
      ...requestOf(asked),
      messages: standalonePromptOf(history, question),
      maxTokens: STANDALONE_TOKENS,
      timeout_ms: STANDALONE_MS,
      tries: 1
    })
    return yield* Effect.match(rewritten, {
      onFailure: () => byWords,
      onSuccess: ({ text }) => standaloneIn(text) ?? byWords
    })
  })

  const byModel = Effect.fnUntraced(function* (asked: Asked, all: ReadonlyArray<Source>, deliver: Deliver | undefined) {
    const { history, model, question } = asked
    const mark = yield* identifiers.secret(MARK)
    const { messages, sources } = promptOf(model, all, { question, history, mark })
    const request = { ...requestOf(asked), messages }
    const written = new Written(sources, deliver)
    const take = (delta: string) => Effect.sync(() => written.push(delta))
    const generated: Effect.Effect<void, GenerationFailed> =
      deliver === undefined
        ? Effect.flatMap(generator.complete(request), ({ text }) => take(text))
        : Stream.runForEach(generator.stream(request), (piece) =>
            piece.kind === "text" ? take(piece.text) : Effect.void
          )
    const error = yield* Effect.match(generated, { onFailure: ({ message }) => message, onSuccess: () => undefined })
    written.end()
    const text = written.text.trim().toWellFormed()
    if (error !== undefined) return { text, error }
    return text === "" ? { text, error: "The model answered without a text." } : { text }
  })

  /** `meant`: the question's meaning without the conversation. */
  const answer = (
    asked: Asked,
    meant: string,
    sources: ReadonlyArray<Source>,
    deliver: Deliver | undefined
  ): Effect.Effect<Answer> => {
    if (asked.model.provider !== "dowser") return byModel(asked, sources, deliver)
    return Effect.sync(() => {
      const written = new Written(sources, deliver)
      written.push(bySentences({ question: asked.question, meant }, sources, asked.language))
      written.end()
      return { text: written.text.trim() }
    })
  }
  const now_s = Effect.map(Clock.currentTimeMillis, (now) => Math.floor(now / 1_000))
  return { standalone, answer, now_s }
})
