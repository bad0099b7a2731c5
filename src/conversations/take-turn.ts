/**
 * One turn, from its question to its answer's text: the question's meaning without the conversation, a normal search,
 * an answer from its hits, and both messages in the history. No failure after the search fails the request.
 */
import { Clock, Effect } from "effect"
import { isObject, listIn } from "../http/json-fields.ts"
import { AiSpending } from "../metering/ai-spending.ts"
import type { SearchAnswer, SearchRequest } from "../search/request.ts"
import { makeAnswering } from "./answering.ts"
import { goesByMeaning, parsed, type Parameters, type Searched, searchedOf } from "./asked.ts"
import type { Turn } from "./begin-turn.ts"
import type { Listener } from "./events.ts"
import { makeHistory, type Message, ttlOf } from "./history.ts"
import { makeKnownWords } from "./known-words.ts"
import { sourcesOf } from "./sources.ts"

/** For a question searched by its words: a document that lacks some may still match the words at either end. */
const DROP_MODE = "both_sides:20"

export interface Searching<E> {
  readonly request: SearchRequest
  /** Merged, as far as known beforehand. */ readonly parameters: Parameters
  readonly searched: ReadonlyArray<Searched>
  readonly run: (request: SearchRequest) => Effect.Effect<SearchAnswer, E>
}

export const makeTakeTurn = Effect.gen(function* () {
  const history = yield* makeHistory
  const spending = yield* AiSpending
  const { answer, standalone } = yield* makeAnswering
  const known = yield* makeKnownWords

  /** Writes both messages to the history, or returns the reason why it could not. */
  const remembered = Effect.fnUntraced(function* (turn: Turn, messages: ReadonlyArray<Message>) {
    const { conversationId, model, organizationId } = turn
    if (conversationId === "") return undefined
    const stored = history.append(organizationId, model, conversationId, messages)
    const error = yield* Effect.match(stored, { onFailure: (sentence) => sentence, onSuccess: () => undefined })
    if (error !== undefined) yield* Effect.logWarning(`A turn of ${organizationId} is not remembered: ${error}`)
    return error
  })
  const memberOf = Effect.fnUntraced(function* (
    turn: Turn,
    outcome: { readonly text: string; readonly error?: string }
  ) {
    const { conversationId, model, question, talking } = turn
    const at_s = Math.floor((yield* Clock.currentTimeMillis) / 1_000)
    const messages: ReadonlyArray<Message> = [
      { role: "user", text: question, at_s },
      { role: "assistant", text: outcome.text, at_s }
    ]
    const unkept = outcome.error === undefined ? yield* remembered(turn, messages) : undefined
    const error = outcome.error ?? unkept
    const isNew = talking.conversationId === undefined
    const conversation = outcome.error === undefined ? [...turn.history, ...messages] : turn.history
    const shown = {
      conversation: conversation.map(({ role, text }) => ({ [role]: text })),
      id: conversationId,
      last_updated: conversation.at(-1)?.at_s ?? at_s,
      ttl: ttlOf(model)
    }
    return {
      answer: outcome.text,
      // A conversation that was not remembered cannot be continued.
      conversation_id: isNew && error !== undefined ? "" : conversationId,
      ...(talking.showsHistory ? { conversation_history: shown } : {}),
      query: question,
      ...(error === undefined ? {} : { error })
    }
  })

  const taken = Effect.fnUntraced(function* <E>(turn: Turn, searching: Searching<E>, listener: Listener | undefined) {
    const { parameters, request, run } = searching
    const meant = yield* standalone(turn)
    const words = searching.searched.some(goesByMeaning) ? [] : yield* known(turn, meant, searching.searched)
    const q = words.length === 0 ? meant : words.join(" ")
    const shared: Record<string, string> = { ...searchedOf(request.shared), q }
    if (words.length > 0 && parameters.drop_tokens_mode === undefined) shared.drop_tokens_mode = DROP_MODE
    const found = yield* run({ ...request, shared, typed: turn.question })
    yield* listener?.begin ?? Effect.void
    const answered = parsed(found.text)
    const isMany = isObject(answered) && Array.isArray(answered.results)
    const sources = sourcesOf(isMany ? listIn(answered, "results") : [answered])
    const out = listener?.deliveryOf(turn.conversationId)
    let isWritten = false
    const deliver = (piece: string) => {
      isWritten = true
      out?.(piece)
    }
    const asked = answer(turn, meant, sources, out === undefined ? undefined : deliver)
    const left = Effect.as(listener?.left ?? Effect.never, { text: "", error: "Nobody reads the answer any more." })
    const outcome = yield* Effect.raceFirst(asked, left)
    const member = JSON.stringify(yield* memberOf(turn, outcome))
    const text = `${found.text.slice(0, -1)},"conversation":${member}}`
    // Words that the client received are charged, even if they are only the beginning.
    const isPaid = outcome.error === undefined || isWritten
    return [{ ...found, text }, isPaid ? 1 : 0] as const
  })
  return <E>(turn: Turn, searching: Searching<E>, listener?: Listener) =>
    spending.spend(
      searching.request.caller,
      turn.model.provider === "dowser" ? "extractive_conversation" : "conversation",
      1,
      taken(turn, searching, listener)
    )
})
