/** The parts of an answer, and the two kinds that need no model: sentences from documents, and a refusal. Pure. */
import type { Deferred, Effect } from "effect"
import type { AiOperation } from "../../metering/ai-prices.ts"
import type { SearchRequest } from "../../search/request.ts"
import { allowedAddresses, LinkFilter } from "../prompt/links.ts"
import type { StoredAssistant } from "../assistants-repository.ts"
import { type Citation, extractiveAnswer, type Found, type Question, type Written } from "./extractive-answer.ts"
import type { FoundDocument } from "./found-document.ts"
import { phrasesOf } from "./phrases.ts"
import type { Message, Turn } from "./question.ts"

export const EXTRACTIVE = "dowser/extractive"

export interface AnswerAsked {
  readonly assistant: StoredAssistant
  readonly request: SearchRequest
  readonly messages: ReadonlyArray<Message>
  /** Oldest first. */ readonly remembered: ReadonlyArray<Turn>
  readonly filters: Readonly<Record<string, string>> | undefined
  /** Completed when the reader disconnects. */ readonly gone: Deferred.Deferred<void>
}
/** Receives an answer while it is produced. */
export interface Listener {
  readonly sources: (sources: ReadonlyArray<Source>, model: string) => Effect.Effect<void>
  readonly delta: (text: string) => Effect.Effect<void>
}
export interface Source {
  readonly collection: string
  readonly document: Readonly<Record<string, unknown>>
  readonly score: number
  readonly snippet: string
}
export interface Answer {
  readonly model: string
  readonly content: string
  readonly citations: ReadonlyArray<Citation>
  readonly unsupported: ReadonlyArray<number>
  readonly refused: boolean
  readonly aborted: boolean
  readonly sources: ReadonlyArray<Source>
  readonly search_query: string
  readonly question: string
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number }
  /** Title of the first cited document. */ readonly citedTitle: string | undefined
  /** The operation as which it is charged. */ readonly operation: AiOperation
}

const NEAREST = 3
const CHARACTERS_A_TOKEN = 4
export const tokensOf = (text: string): number => Math.ceil(text.length / CHARACTERS_A_TOKEN)

/** Removes links except those to addresses that a source contains. */
const linked = (text: string, allowed: ReadonlySet<string>): string => {
  const filter = new LinkFilter(allowed)
  return filter.push(text) + filter.end()
}
export const addressesOf = (documents: ReadonlyArray<FoundDocument>): ReadonlySet<string> =>
  allowedAddresses(
    documents.flatMap(({ facts, text, title = "" }) => [title, text, ...facts.map(([, value]) => value)])
  )

export interface Asking {
  readonly asked: AnswerAsked
  readonly question: Question
  readonly searchQuery: string
  /** The complete question, as it was sent. */ readonly whole: string
  readonly history: ReadonlyArray<Turn>
  readonly instructions: string
  readonly documents: ReadonlyArray<FoundDocument>
  readonly sources: ReadonlyArray<Source>
}

/** Everything in an answer besides its text. */
export const answerOf = (
  { documents, question, searchQuery, sources }: Asking,
  model: string,
  written: Written,
  more: Pick<Answer, "unsupported" | "aborted" | "usage" | "operation">
): Answer => {
  const [first] = written.citations
  return {
    model,
    content: written.content,
    citations: written.citations,
    refused: written.isRefused,
    sources: written.isRefused ? sources.slice(0, NEAREST) : sources,
    search_query: searchQuery,
    question: question.text,
    citedTitle: first === undefined ? undefined : documents[first.source]?.title,
    ...more
  }
}

/** For the embedded model, which returns the complete answer in one step. */
export const extracted = (asking: Asking, found: Found, model: string): Answer => {
  const { asked, question } = asking
  const allowed = addressesOf(found.documents)
  const written = extractiveAnswer(question, found, asked.assistant.collections.join(", "), (text) =>
    linked(text, allowed)
  )
  return answerOf(asking, model, written, {
    unsupported: [],
    aborted: false,
    usage: { input_tokens: tokensOf(question.text), output_tokens: tokensOf(written.content) },
    operation: "assistant_extract"
  })
}

/** A refusal because nothing is supported; no model was called. */
export const refusedBy = (asking: Asking, model: string): Answer => {
  const { asked, question } = asking
  const content = phrasesOf(question.terms.language).nothing(asked.assistant.collections.join(", "))
  return answerOf(
    asking,
    model,
    { content, citations: [], isRefused: true },
    {
      unsupported: [],
      aborted: false,
      usage: { input_tokens: tokensOf(question.text), output_tokens: tokensOf(content) },
      operation: "assistant_extract"
    }
  )
}
