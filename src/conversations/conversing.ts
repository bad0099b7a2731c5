/**
 * Searches that are answered in words (`conversation=true`, engine contract 14.2): the question by itself, the search
 * as it is for everybody, an answer of what it found, and both in the history. It stands around searches: what a key
 * may not see is in no search and so in no answer.
 */
import { Clock, Effect, Layer } from "effect"
import { parseBounded, parseJson } from "@dowser/engine-sdk/documents"
import type { Field } from "@dowser/engine-sdk"
import { readSearch, resolveCollection } from "@dowser/engine-sdk/operations"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { reachesNamed } from "../engine-plane/reached.ts"
import { EngineRefusal } from "../http/errors.ts"
import { isObject, listIn } from "../http/json-fields.ts"
import { restrictionsOf, sessionRefusal } from "../identity/restrictions.ts"
import { AiSpending } from "../metering/ai-spending.ts"
import { Conversations, type Conversed } from "../search/conversations.ts"
import type { SearchAnswer, SearchRequest } from "../search/request.ts"
import { OtherSession } from "../support/errors.ts"
import { languageAmong } from "../understanding/language.ts"
import { type Asked, makeAnswering } from "./answering.ts"
import {
  bodyProblem,
  goesByMeaning,
  mentions,
  mentionsInBody,
  type Parameters,
  searchedOf,
  type Talking,
  talkingOf
} from "./asked.ts"
import { type Listener, makeEvents } from "./events.ts"
import { historyOf, makeHistory, type Message, ttlOf } from "./history.ts"
import { makeConversationIds } from "./ids.ts"
import { ConversationModels } from "./models.ts"
import { roomFor } from "./prompt.ts"
import { searchedWords } from "./questions.ts"
import { sourcesOf } from "./sources.ts"

const LANGUAGES = ["en", "de", "es", "fr", "ru", "ar", "zh", "ja", "th"]
const FALLBACK_LANGUAGE = "en"
/** Words of a question that is searched for by its words: those that nothing has are left out from either end. */
const DROP_MODE = "both_sides:20"
/** Of ids that others gave, such as another engine's: nothing in it that a filter reads. */
const ANY_ID = /^[\w.:-]{1,100}$/
/** As long as any mark of a prompt. */
const SOME_MARK = "x".repeat(12)

const refusal = (message: string) => new EngineRefusal({ status: 400, message })
const parsed = (text: string): unknown => {
  const read = parseBounded(text, undefined, parseJson)
  return typeof read === "object" ? read.value : undefined
}
/** A turn that is about to be answered. */
interface Turn extends Asked {
  readonly talking: Talking
  /** Its conversation's; a new one where it begins one. "": nothing is remembered. */ readonly conversationId: string
}
type Run<E> = (request: SearchRequest) => Effect.Effect<SearchAnswer, E>
interface Searching<E> {
  readonly request: SearchRequest
  /** Merged, as far as they are known before. */ readonly parameters: Parameters
  readonly isByMeaning: boolean
  readonly run: Run<E>
}

const makeTurns = Effect.gen(function* () {
  const models = yield* ConversationModels
  const history = yield* makeHistory
  const ids = yield* makeConversationIds

  /** What was said before; whose conversation it is is asked first. */
  const before = Effect.fnUntraced(function* ({ caller }: SearchRequest, model: Asked["model"], id: string) {
    const { organizationId, scope, sessionId } = caller
    const invalid = refusal("`conversation_id` is invalid.")
    if (!ANY_ID.test(id)) return yield* invalid
    if (scope !== "full") {
      if (!ids.isOurs(id)) return yield* invalid
      if (sessionId === undefined || !ids.isOf(id, organizationId, sessionId))
        return yield* new OtherSession({ message: "The conversation belongs to another session." })
    }
    const messages = yield* Effect.mapError(history.read(organizationId, model, id), refusal)
    return messages.length === 0 ? yield* invalid : messages
  })

  return Effect.fnUntraced(function* (request: SearchRequest, talking: Talking) {
    const { organizationId, sessionId } = request.caller
    const model = models.named(organizationId, talking.modelId)
    if (model === undefined) return yield* refusal("`conversation_model_id` is invalid.")
    const room = model.provider === "dowser" ? undefined : roomFor(model, talking.question, SOME_MARK)
    if (room?.ok === false)
      return yield* refusal(
        `\`max_bytes\` of the conversation model is less than the minimum required bytes(${room.error}).`
      )
    const { conversationId: given, question } = talking
    const messages: ReadonlyArray<Message> = given === undefined ? [] : yield* before(request, model, given)
    const isKept = historyOf(model) !== undefined
    const conversationId = given ?? (isKept ? yield* ids.make(organizationId, sessionId) : "")
    const language = yield* Effect.promise(async () => (await languageAmong(question, LANGUAGES)) ?? FALLBACK_LANGUAGE)
    return { organizationId, model, question, history: messages, language, talking, conversationId } satisfies Turn
  })
})

/** One turn, from its question to its answer's text. */
const makeTurnTaking = Effect.gen(function* () {
  const history = yield* makeHistory
  const spending = yield* AiSpending
  const { answer, standalone } = yield* makeAnswering

  /** Both messages in the history, or why not. */
  const remembered = Effect.fnUntraced(function* (turn: Turn, messages: ReadonlyArray<Message>) {
    const { conversationId, model, organizationId } = turn
    if (conversationId === "") return undefined
    const stored = history.append(organizationId, model, conversationId, messages)
    const error = yield* Effect.match(stored, { onFailure: (sentence) => sentence, onSuccess: () => undefined })
    if (error !== undefined) yield* Effect.logWarning(`A turn of ${organizationId} is not remembered: ${error}`)
    return error
  })
  const memberOf = Effect.fnUntraced(function* (turn: Turn, said: { readonly text: string; readonly error?: string }) {
    const { conversationId, model, question, talking } = turn
    const at_s = Math.floor((yield* Clock.currentTimeMillis) / 1_000)
    const messages: ReadonlyArray<Message> = [
      { role: "user", text: question, at_s },
      { role: "assistant", text: said.text, at_s }
    ]
    const unkept = said.error === undefined ? yield* remembered(turn, messages) : undefined
    const error = said.error ?? unkept
    const isNew = talking.conversationId === undefined
    const told = said.error === undefined ? [...turn.history, ...messages] : turn.history
    const shown = {
      conversation: told.map(({ role, text }) => ({ [role]: text })),
      id: conversationId,
      last_updated: told.at(-1)?.at_s ?? at_s,
      ttl: ttlOf(model)
    }
    return {
      answer: said.text,
      // What was not remembered cannot be gone on with.
      conversation_id: isNew && error !== undefined ? "" : conversationId,
      ...(talking.showsHistory ? { conversation_history: shown } : {}),
      query: question,
      ...(error === undefined ? {} : { error })
    }
  })

  const taken = Effect.fnUntraced(function* <E>(turn: Turn, searching: Searching<E>, listener: Listener | undefined) {
    const { parameters, request, run } = searching
    const meant = yield* standalone(turn)
    const isWordless = searching.isByMeaning
    const found = yield* run({
      ...request,
      shared: {
        ...searchedOf(request.shared),
        q: isWordless ? meant : searchedWords(meant, turn.language),
        ...(isWordless || parameters.drop_tokens_mode !== undefined ? {} : { drop_tokens_mode: DROP_MODE })
      },
      typed: turn.question
    })
    yield* listener?.begin ?? Effect.void
    const answered = parsed(found.text)
    const isMany = isObject(answered) && Array.isArray(answered.results)
    const sources = sourcesOf(isMany ? listIn(answered, "results") : [answered])
    const say = listener?.say(turn.conversationId)
    const asked = answer(turn, meant, sources, say)
    const left = Effect.as(listener?.left ?? Effect.never, { text: "", error: "Nobody reads the answer any more." })
    const said = yield* Effect.raceFirst(asked, left)
    const member = JSON.stringify(yield* memberOf(turn, said))
    const text = `${found.text.slice(0, -1)},"conversation":${member}}`
    const isPaid = said.error === undefined || said.text !== ""
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

const make = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const turnOf = yield* makeTurns
  const take = yield* makeTurnTaking
  const events = yield* makeEvents

  const conversing = Effect.fnUntraced(function* <E>(talking: Talking, searching: Searching<E>) {
    const turn = yield* turnOf(searching.request, talking)
    if (!talking.isStream) return yield* take(turn, searching)
    return { events: yield* events((listener) => Effect.map(take(turn, searching, listener), ({ text }) => text)) }
  })
  const embeddedOf = ({ caller }: SearchRequest): Parameters =>
    Object.fromEntries(Object.entries(caller.embedded ?? {}).map(([name, value]) => [name, String(value)]))

  /** The parameters of a search as it will be made; undefined where it has something to say first. */
  const merged = (request: SearchRequest, name: string) => {
    const { caller } = request
    const context = contextOf(caller.organizationId)
    const collection = resolveCollection(context, name)
    if (collection === undefined || !reachesNamed(context, caller, name)) return undefined
    const read = readSearch(context, name, request.shared, restrictionsOf(caller))
    if (!read.ok || sessionRefusal(caller, read.value.parameters) !== undefined) return undefined
    return { parameters: read.value.parameters, fields: collection.schema.fields }
  }
  const one: Conversed = (request, name, search) =>
    Effect.suspend(() => {
      const { shared } = request
      const mayTalk = mentions(shared) || shared.preset !== undefined || mentions(request.caller.embedded ?? {})
      const known = mayTalk ? merged(request, name) : undefined
      if (known === undefined) return search(request, name)
      const talking = talkingOf(known.parameters)
      if (!talking.ok) return Effect.fail(refusal(talking.error.message))
      if (talking.value === undefined) return search(request, name)
      return conversing(talking.value, {
        request,
        parameters: known.parameters,
        isByMeaning: goesByMeaning(known.parameters, known.fields),
        run: (asked) => search(asked, name)
      })
    })

  /** Whether some search of a body is asked the whole question. */
  const isAnyByMeaning = ({ caller }: SearchRequest, shared: Parameters, body: unknown): boolean => {
    const context = contextOf(caller.organizationId)
    return listIn(body, "searches")
      .filter(isObject)
      .some((entry) => {
        const parameters = { ...entry, ...shared } as Parameters
        const fields: ReadonlyArray<Field> =
          resolveCollection(context, String(entry.collection ?? shared.collection ?? ""))?.schema.fields ?? []
        return goesByMeaning(
          Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, String(value)])),
          fields
        )
      })
  }
  const many: Conversed = (request, body, search) =>
    Effect.suspend(() => {
      const own = embeddedOf(request)
      if (!mentions(request.shared) && !mentions(own) && !mentionsInBody(body)) return search(request, body)
      const parameters = { ...request.shared, ...own }
      if (sessionRefusal(request.caller, { conversation: "true" }) !== undefined) return search(request, body)
      const talking = talkingOf(parameters)
      if (!talking.ok) return Effect.fail(refusal(talking.error.message))
      const asked = parsed(body)
      const problem = bodyProblem(asked, talking.value !== undefined)
      if (!problem.ok) return Effect.fail(refusal(problem.error.message))
      if (talking.value === undefined) return search(request, body)
      const entries = listIn(asked, "searches").filter(isObject)
      const entryMode = entries.find(({ drop_tokens_mode }) => drop_tokens_mode !== undefined)
      return conversing(talking.value, {
        request,
        parameters: entryMode === undefined ? parameters : { ...parameters, drop_tokens_mode: "" },
        isByMeaning: isAnyByMeaning(request, parameters, asked),
        run: (own) => search(own, body)
      })
    })
  return Conversations.of({ one, many })
})

export const layerConversations = Layer.effect(Conversations, make)
