/** An answer written by an organization's own model, shown while it is written. */
import { Identifiers } from "@dowser/log/identifiers"
import { Deferred, Effect, Stream } from "effect"
import { Generator, type GeneratorMessage, type GeneratorModel } from "../../ports/generator/generator.ts"
import { unmarked } from "../prompt/fence.ts"
import { excerptOf } from "../prompt/excerpt.ts"
import { LinkFilter } from "../prompt/links.ts"
import { messagesOf } from "../prompt/messages.ts"
import { addressesOf, type Answer, answerOf, type Asking, type Listener, tokensOf } from "./answer.ts"
import { groundingOf } from "./grounding.ts"
import { MarkerFilter } from "./markers.ts"

/** Limit of what a model receives of one document. */
const EXCERPT_CHARACTERS = 1_600
const TOKENS_MAX = 1_000
const TIMEOUT_MS = 60_000
/** Limit of an answer in memory; a longer one is cut. */
const ANSWER_CHARACTERS_MAX = 16_000
const MARK_CHARACTERS = 24

/** The prompt, and the excerpt of each document that it contains. */
const promptOf = ({ asked, documents, history, instructions, question, whole }: Asking, mark: string) => {
  const { terms, text, weightOf } = question
  const texts = documents.map((each) => ({
    title: each.title ?? "",
    text: [
      excerptOf(each.text, text, terms, weightOf, EXCERPT_CHARACTERS),
      ...each.facts.map(([field, value]) => `${field}: ${value}.`)
    ].join(" ")
  }))
  const messages = messagesOf({
    instructions: asked.assistant.instructions ?? "",
    system: instructions,
    language: terms.language,
    mustCite: asked.assistant.refuse_without_sources,
    sources: texts.map((each, place) => ({ n: place + 1, ...each })),
    history,
    question: whole,
    mark
  })
  return { messages, texts }
}

/** Decides what may be shown of a model's text, delta by delta. */
class Shown {
  readonly #links: LinkFilter
  readonly #markers: MarkerFilter
  content = ""
  isCut = false
  constructor({ documents }: Asking) {
    this.#links = new LinkFilter(addressesOf(documents))
    this.#markers = new MarkerFilter(documents.length)
  }
  push(piece: string): string {
    return this.#kept(this.#links.push(this.#markers.push(unmarked(piece))))
  }
  end(): string {
    return this.#kept(this.#links.push(this.#markers.end()) + this.#links.end())
  }
  #kept(text: string): string {
    const room = text.slice(0, ANSWER_CHARACTERS_MAX - this.content.length)
    this.isCut ||= room.length < text.length
    this.content += room
    return room
  }
}
const countedIn = (messages: ReadonlyArray<GeneratorMessage>, content: string): Answer["usage"] => ({
  input_tokens: messages.reduce((sum, message) => sum + tokensOf(message.content), 0),
  output_tokens: tokensOf(content)
})

export const makeWriting = Effect.gen(function* () {
  const generator = yield* Generator
  const identifiers = yield* Identifiers
  return Effect.fnUntraced(function* (asking: Asking, model: GeneratorModel, listener: Listener) {
    const { asked, documents, question } = asking
    const { gone, request } = asked
    const { messages, texts } = promptOf(asking, yield* identifiers.secret(MARK_CHARACTERS))
    const shown = new Shown(asking)
    let usage: Answer["usage"] | undefined
    const send = (text: string) => (text === "" ? Effect.void : listener.delta(text))
    const pieces = generator
      .stream({
        organizationId: request.caller.organizationId,
        model,
        messages,
        maxTokens: TOKENS_MAX,
        timeout_ms: TIMEOUT_MS,
        temperature: 0
      })
      .pipe(
        Stream.takeWhile(() => !shown.isCut),
        Stream.interruptWhen(Deferred.await(gone))
      )
    yield* Stream.runForEach(pieces, (piece) => {
      if (piece.kind === "text") return send(shown.push(piece.text))
      usage = piece.usage
      return Effect.void
    })
    yield* send(shown.end())
    const { content } = shown
    const { citations, unsupported } = groundingOf(
      content,
      documents.map((each, place) => [each.title ?? "", texts[place]!.text, each.text].join("\n")),
      question.terms.language
    )
    return answerOf(
      asking,
      model.model,
      { content, citations, isRefused: false },
      {
        unsupported,
        aborted: usage === undefined && (yield* Deferred.isDone(gone)),
        usage: usage ?? countedIn(messages, content),
        operation: "assistant_answer"
      }
    )
  })
})
