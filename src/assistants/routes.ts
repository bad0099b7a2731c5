/** Handlers of assistants: the assistant is looked up before anything else is read. */
import { Effect } from "effect"
import { stringifyJson } from "@dowser/engine-sdk/documents"
import { implement } from "../api/implement.ts"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { reachesNamed } from "../engine-plane/reached.ts"
import type { Caller } from "../identity/caller.ts"
import { refused } from "../http/checks.ts"
import { inputInvalid, type NotFound } from "../http/errors.ts"
import { byId, pageOf } from "../http/page.ts"
import { Reply } from "../http/reply.ts"
import { Installation } from "../installation.ts"
import { searchRequestOf } from "../search/routes.ts"
import { Assistants, missingAssistant } from "./assistants.ts"
import { storedOf } from "./assistants-repository.ts"
import { Chats } from "./chats.ts"
import * as contract from "./contract.ts"
import { Conversations, sessionOf, summaryOf } from "./conversations.ts"
import type { Place, StoredTurn } from "./conversations-repository.ts"
import { makeEvaluations } from "./evaluations/evaluations.ts"
import type { Assistant, StreamFormat } from "./schema.ts"
import { streamed } from "./wire/streamed.ts"

const cursorOf = ({ id, updated_at }: Place): string => `${updated_at}.${id}`
const placeOf = Effect.fnUntraced(function* (cursor: string | undefined) {
  if (cursor === undefined) return undefined
  const [, at, id] = /^(\d{1,15})\.(cnv_\w{1,60})$/.exec(cursor) ?? []
  return at === undefined || id === undefined
    ? yield* inputInvalid("cursor", "The `next_cursor` of the page before")
    : { updated_at: Number(at), id }
})
const messagesOf = ({ aborted, answer, created_at, message_id, question, refused }: StoredTurn) => [
  { id: `${message_id}-q`, role: "user" as const, content: question, created_at },
  {
    id: message_id,
    role: "assistant" as const,
    content: answer,
    created_at,
    ...(refused ? { refused } : {}),
    ...(aborted ? { aborted } : {})
  }
]
const NO_STORE = { "cache-control": "no-store", "x-accel-buffering": "no" }

const kept = Effect.gen(function* () {
  const assistants = yield* Assistants
  return [
    implement(
      contract.listAssistants,
      Effect.fnUntraced(function* ({ caller, query }) {
        const { cursor, limit } = yield* query
        if (cursor !== undefined && !/^ast_\w{1,60}$/.test(cursor))
          return yield* inputInvalid("cursor", "The `next_cursor` of the page before")
        return pageOf(yield* assistants.list(caller.organizationId, cursor ?? "", limit + 1), limit, byId)
      })
    ),
    implement(
      contract.createAssistant,
      Effect.fnUntraced(function* ({ caller, payload }) {
        return yield* assistants.create(caller.organizationId, yield* payload)
      })
    ),
    implement(contract.getAssistant, ({ caller, params }) => assistants.get(caller.organizationId, params.assistantId)),
    implement(
      contract.replaceAssistant,
      Effect.fnUntraced(function* ({ caller, params, payload }) {
        yield* assistants.get(caller.organizationId, params.assistantId)
        return yield* assistants.replace(caller.organizationId, params.assistantId, yield* payload)
      })
    ),
    implement(contract.deleteAssistant, ({ caller, params }) =>
      assistants.remove(caller.organizationId, params.assistantId)
    )
  ]
})

/**
 * The collections of an assistant that the caller may search; an assistant without any does not exist for the caller.
 */
const makeReached = Effect.map(
  makeContexts,
  (contextOf) =>
    (caller: Caller, { collections, id }: Assistant): Effect.Effect<ReadonlyArray<string>, NotFound> => {
      const context = contextOf(caller.organizationId)
      const own = collections.filter((name) => reachesNamed(context, caller, name))
      return own.length === 0 ? Effect.fail(missingAssistant(id)) : Effect.succeed(own)
    }
)

const asked = Effect.gen(function* () {
  const assistants = yield* Assistants
  const chats = yield* Chats
  const reached = yield* makeReached
  const evaluate = yield* makeEvaluations
  const { countryHeader } = yield* Installation
  return [
    implement(
      contract.chat,
      Effect.fnUntraced(function* (input) {
        const { caller, params, payload } = input
        const assistant = yield* assistants.get(caller.organizationId, params.assistantId)
        const collections = yield* reached(caller, assistant)
        const body = yield* payload
        yield* refused(
          Object.keys(body.filter_by ?? {}).flatMap((name) =>
            collections.includes(name)
              ? []
              : [{ path: `filter_by.${name.slice(0, 80)}`, message: "No collection that this assistant asks" }]
          )
        )
        const request = { ...searchRequestOf(input, countryHeader), shared: {}, queryText: "" }
        const turn = { assistant: { ...storedOf(assistant), collections }, request, body }
        if (body.stream === true) {
          const format = (body.stream_format ?? "native") as StreamFormat
          const { headers, stream } = yield* streamed(chats, turn, format, body.stream_options?.include_usage === true)
          return new Reply(200, stream, "text/event-stream", { ...NO_STORE, ...headers })
        }
        const { answer, leave } = yield* chats.begin(turn)
        // Numbers in documents are written exactly as they were received.
        return new Reply(200, stringifyJson(yield* Effect.onInterrupt(answer, () => leave)))
      })
    ),
    implement(
      contract.evaluateAssistant,
      Effect.fnUntraced(function* ({ caller, params, payload }) {
        const assistant = yield* assistants.get(caller.organizationId, params.assistantId)
        const { cases } = yield* payload
        return yield* evaluate(caller, storedOf(assistant), cases)
      })
    )
  ]
})

const remembered = Effect.gen(function* () {
  const assistants = yield* Assistants
  const conversations = yield* Conversations
  const reached = yield* makeReached
  return [
    implement(
      contract.listConversations,
      Effect.fnUntraced(function* ({ caller, params, query }) {
        yield* sessionOf(caller)
        const assistant = yield* assistants.get(caller.organizationId, params.assistantId)
        yield* reached(caller, assistant)
        const { cursor, limit } = yield* query
        const rows = yield* conversations.list(caller, assistant.id, yield* placeOf(cursor), limit + 1)
        return pageOf(rows.map(summaryOf), limit, cursorOf)
      })
    ),
    implement(
      contract.getConversation,
      Effect.fnUntraced(function* ({ caller, params }) {
        const found = yield* conversations.found(caller, params.assistantId, params.conversationId)
        const turns = yield* conversations.turns(caller.organizationId, found.id)
        return { ...summaryOf(found), messages: turns.flatMap(messagesOf) }
      })
    ),
    implement(contract.deleteConversation, ({ caller, params }) =>
      conversations.remove(caller, params.assistantId, params.conversationId)
    )
  ]
})

export const routes = Effect.map(Effect.all([kept, asked, remembered]), (all) => all.flat())
