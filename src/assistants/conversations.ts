/** What is remembered of chats: questions and answers of the newest turns, never the retrieved documents. */
import { Outbox } from "@dowser/log/outbox"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { NotFound, SessionRequired } from "../http/errors.ts"
import type { Caller } from "../identity/caller.ts"
import { PersonErasures } from "../identity/person-erasures.ts"
import { Entitlements } from "../metering/entitlements.ts"
import type { Turn } from "./answering/question.ts"
import type { StoredAssistant } from "./assistants-repository.ts"
import {
  makeConversationsRepository,
  type NewConversation,
  type Place,
  type StoredConversation,
  type StoredTurn
} from "./conversations-repository.ts"
import { ConversationOfOther } from "./errors.ts"
import { type ConversationSummary, TURNS_KEPT } from "./schema.ts"

const DAY_MS = 86_400_000
const TITLE_CHARACTERS_MAX = 100
const missing = (id: string) => new NotFound({ message: `Conversation ${id.slice(0, 80)} does not exist.` })
const orDie = <A, E, R>(effect: Effect.Effect<A, E | SqlError.SqlError, R>) =>
  Effect.catchTag(effect as Effect.Effect<A, SqlError.SqlError, R>, "SqlError", (error) =>
    Effect.die(error)
  ) as Effect.Effect<A, Exclude<E, SqlError.SqlError>, R>

/** The session of a search key; undefined for a full key, which may access all sessions. */
export const sessionOf = ({ scope, sessionId }: Caller): Effect.Effect<string | undefined, SessionRequired> => {
  if (scope === "full") return Effect.succeed(undefined)
  return sessionId === undefined || sessionId === ""
    ? Effect.fail(new SessionRequired({ message: "Header `X-SVC-SESSION-ID` is required." }))
    : Effect.succeed(sessionId)
}
export const titleOf = (question: string): string =>
  [...question.replace(/\s+/g, " ").trim()].slice(0, TITLE_CHARACTERS_MAX).join("")
export const summaryOf = ({
  organization_id: _of,
  session_id: _session,
  turns_made,
  ...conversation
}: StoredConversation): ConversationSummary => ({ ...conversation, turns: Math.min(turns_made, TURNS_KEPT) })

interface NewTurn {
  /** Undefined if the conversation already exists. */ readonly begun: NewConversation | undefined
  readonly conversationId: string
  readonly assistant: StoredAssistant
  readonly turn: StoredTurn
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number }
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const outbox = yield* Outbox
  const entitlements = yield* Entitlements
  const repository = yield* makeConversationsRepository
  yield* (yield* PersonErasures).register((organizationId, userId) =>
    Effect.orDie(Effect.asVoid(repository.removeOfUser(organizationId, userId)))
  )

  /** The conversation, if the caller may access it. */
  const found = Effect.fnUntraced(function* (caller: Caller, assistantId: string, id: string) {
    const session = yield* sessionOf(caller)
    const now = yield* Clock.currentTimeMillis
    const conversation = yield* Effect.orDie(repository.get(caller.organizationId, assistantId, id, now))
    if (conversation === undefined) return yield* missing(id)
    if (session !== undefined && conversation.session_id !== session)
      return yield* new ConversationOfOther({ message: "The conversation belongs to another session." })
    return conversation
  })
  const turnsOf = (organizationId: string, id: string) => Effect.orDie(repository.turns(organizationId, id))

  return {
    found,
    turns: turnsOf,
    /** Turns in the form used for answering; oldest first. */
    remembered: (organizationId: string, id: string): Effect.Effect<ReadonlyArray<Turn>> =>
      Effect.map(turnsOf(organizationId, id), (turns) =>
        turns.map(({ answer, cited_title, question }) => ({
          question,
          answer,
          citedTitle: cited_title ?? undefined
        }))
      ),
    list: Effect.fnUntraced(function* (caller: Caller, assistantId: string, after: Place | undefined, limit: number) {
      const session = yield* sessionOf(caller)
      const now = yield* Clock.currentTimeMillis
      return yield* Effect.orDie(repository.page(caller.organizationId, assistantId, session, after, limit, now))
    }),
    /** Stores a turn with its event. NotFound if the assistant or conversation was deleted in the meantime. */
    add: Effect.fn("Conversations.add")(function* (
      organizationId: string,
      { assistant, begun, conversationId, turn, usage }: NewTurn
    ) {
      const added = Effect.gen(function* () {
        const { created_at: at } = turn
        const expires_at = at + assistant.conversation_ttl_days * DAY_MS
        if (begun === undefined) {
          const conversation = yield* repository.lock(organizationId, conversationId)
          if (conversation === undefined) return yield* missing(conversationId)
          const seq = conversation.turns_made + 1
          yield* repository.add(organizationId, conversationId, seq, turn)
          yield* repository.goOn(organizationId, conversationId, seq, at, expires_at)
        } else {
          const { max } = entitlements.cap(organizationId, "assistant_conversations")
          if (!(yield* repository.insert(begun, at, expires_at, max)))
            return yield* new NotFound({ message: `Assistant ${assistant.id} does not exist.` })
          yield* repository.add(organizationId, conversationId, 1, turn)
        }
        yield* outbox.put(organizationId, "conversation.completed", {
          assistant_id: assistant.id,
          conversation_id: conversationId,
          message_id: turn.message_id,
          refused: turn.refused,
          usage
        })
      })
      yield* orDie(sql.withTransaction(added))
    }),
    remove: Effect.fn("Conversations.remove")(function* (caller: Caller, assistantId: string, id: string) {
      const { organizationId } = caller
      yield* found(caller, assistantId, id)
      yield* Effect.orDie(repository.remove(organizationId, id))
      return { id }
    })
  }
})

export class Conversations extends Context.Service<Conversations, Effect.Success<typeof make>>()(
  "dowser/assistants/Conversations"
) {
  static readonly layer = Layer.effect(Conversations, make)
}
