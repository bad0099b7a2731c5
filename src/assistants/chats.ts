/**
 * A turn of a chat: charged, answered and remembered. It runs in its own fiber, so that a turn whose reader
 * disconnected is still charged and remembered as far as it got.
 */
import { Identifiers } from "@dowser/log/identifiers"
import { Clock, Context, Deferred, Effect, FiberSet, Layer } from "effect"
import { AiProviders } from "../ai-providers/ai-providers.ts"
import { withoutLimit } from "../engine-plane/time-limit.ts"
import { type NotFound, Throttled } from "../http/errors.ts"
import { OpenPlaces, type Places } from "../http/open-places.ts"
import { AiSpending } from "../metering/ai-spending.ts"
import type { GenerationFailed } from "../ports/generator/generator.ts"
import type { SearchRequest } from "../search/request.ts"
import { type Answer, type AnswerAsked, EXTRACTIVE, type Listener } from "./answering/answer.ts"
import { makeAnswering } from "./answering/answering.ts"
import type { StoredAssistant } from "./assistants-repository.ts"
import { Conversations, titleOf } from "./conversations.ts"
import { GeneratorFailed } from "./errors.ts"
import type { ChatAnswer, ChatBody } from "./schema.ts"

interface ChatAsked {
  readonly assistant: StoredAssistant
  readonly request: SearchRequest
  readonly body: ChatBody
}
/** The known facts of a turn before it is answered. */
export interface TurnHead {
  readonly id: string
  readonly conversation_id: string
  /** Unix milliseconds. */ readonly created_at: number
}
/** Receives a turn while it is produced. */
type TurnListener = (head: TurnHead) => Listener
const SILENT: Listener = { delta: () => Effect.void, sources: () => Effect.void }

/** Limit of an organization's concurrent turns in one process. */
const AT_ONCE_MAX = 400,
  /** Limit for search keys: a caller that opens hundreds of sessions leaves room for others. */ OF_VISITORS_MAX = 320,
  OF_SESSION_MAX = 5
const RETRY_AFTER_S = 5

const placesOf = ({ organizationId, scope, sessionId }: SearchRequest["caller"]): Places => [
  [organizationId, AT_ONCE_MAX],
  ...(scope === "full"
    ? []
    : ([
        [`${organizationId} visitors`, OF_VISITORS_MAX],
        [`${organizationId} of ${sessionId ?? ""}`, OF_SESSION_MAX]
      ] as const))
]
const shownOf = (head: TurnHead, answer: Answer): typeof ChatAnswer.Type => ({
  id: head.id,
  conversation_id: head.conversation_id,
  model: answer.model,
  message: { role: "assistant", content: answer.content },
  sources: answer.sources,
  usage: answer.usage,
  created_at: head.created_at,
  search_query: answer.search_query,
  refused: answer.refused,
  citations: answer.citations,
  unsupported: answer.unsupported
})
const refusedBy = ({ kind, message }: GenerationFailed): GeneratorFailed | Throttled =>
  kind === "busy"
    ? new Throttled({ message, kind: "backpressure", retry_after_s: RETRY_AFTER_S })
    : new GeneratorFailed({ message, reason: kind })

/** Answers a question outside of any conversation; `evaluations` calls it for many. */
export const makePaidFor = Effect.gen(function* () {
  const spending = yield* AiSpending
  const providers = yield* AiProviders
  const answering = yield* makeAnswering
  const isOfModel = ({ model }: StoredAssistant, organizationId: string): boolean =>
    model !== EXTRACTIVE && providers.generator(organizationId) !== undefined
  return {
    answering: (asked: AnswerAsked, listener: Listener) =>
      withoutLimit(
        Effect.catchTag(answering(asked, listener), "GenerationFailed", (failed) => Effect.fail(refusedBy(failed)))
      ),
    isOfModel,
    spend: spending.spend
  }
})

/** Runs a complete turn. `gone` stops the model, and the turn ends with what was written so far. */
const makeTurn = Effect.gen(function* () {
  const conversations = yield* Conversations
  const { answering, isOfModel, spend } = yield* makePaidFor
  return Effect.fnUntraced(function* (
    { assistant, body, request }: ChatAsked,
    head: TurnHead,
    isNew: boolean,
    listener: Listener,
    gone: Deferred.Deferred<void>
  ) {
    const { caller } = request
    const { organizationId } = caller
    const remembered = isNew ? [] : yield* conversations.remembered(organizationId, head.conversation_id)
    const { conversation_id: conversationId, created_at } = head
    const answered = Effect.gen(function* () {
      const { filter_by: filters, messages } = body
      const answer = yield* answering({ assistant, request, messages, remembered, filters, gone }, listener)
      const question = messages.at(-1)!.content
      yield* conversations.add(organizationId, {
        assistant,
        conversationId,
        begun: isNew
          ? {
              organization_id: organizationId,
              assistant_id: assistant.id,
              id: conversationId,
              session_id: caller.sessionId ?? "",
              user_id: body.user_id,
              title: titleOf(question),
              created_at
            }
          : undefined,
        turn: {
          message_id: head.id,
          question,
          answer: answer.content,
          cited_title: answer.citedTitle ?? null,
          refused: answer.refused,
          aborted: answer.aborted,
          created_at: yield* Clock.currentTimeMillis
        },
        usage: answer.usage
      })
      // A model stopped before its first word is not charged.
      return [shownOf(head, answer), answer.aborted && answer.content === "" ? 0 : 1, answer.operation] as const
    })
    return yield* spend(
      caller,
      isOfModel(assistant, organizationId) ? "assistant_answer" : "assistant_extract",
      1,
      answered
    )
  })
})

const make = Effect.gen(function* () {
  const conversations = yield* Conversations
  const identifiers = yield* Identifiers
  const turn = yield* makeTurn
  const places = new OpenPlaces()
  const fork = yield* FiberSet.makeRuntime<never>()

  /** Starts the turn in its own fiber. Returns its answer, and a way to signal that the reader has gone. */
  const begin = Effect.fnUntraced(function* (asked: ChatAsked, listening: TurnListener = () => SILENT) {
    const { assistant, body, request } = asked
    const own = placesOf(request.caller)
    const known =
      body.conversation_id === undefined
        ? undefined
        : yield* conversations.found(request.caller, assistant.id, body.conversation_id)
    const head: TurnHead = {
      id: yield* identifiers.make("msg"),
      conversation_id: known?.id ?? (yield* identifiers.make("cnv")),
      created_at: yield* Clock.currentTimeMillis
    }
    if (!places.take(own))
      return yield* new Throttled({
        message: "Too many answers are being written.",
        kind: "backpressure",
        retry_after_s: RETRY_AFTER_S
      })
    const gone = yield* Deferred.make<void>()
    const ended = Deferred.makeUnsafe<typeof ChatAnswer.Type, TurnFailure>()
    fork(
      turn(asked, head, known === undefined, listening(head), gone).pipe(
        Effect.ensuring(Effect.sync(() => places.give(own))),
        Effect.onExit((exit) => Deferred.done(ended, exit)),
        Effect.ignoreCause
      )
    )
    const leave = Effect.asVoid(Deferred.succeed(gone, undefined))
    return { head, answer: Deferred.await(ended), leave }
  })
  return { begin }
})
export type TurnFailure =
  | Effect.Error<ReturnType<Effect.Success<typeof makePaidFor>["answering"]>>
  | Effect.Error<ReturnType<AiSpending["Service"]["reserveForJob"]>>
  | NotFound

export class Chats extends Context.Service<Chats, Effect.Success<typeof make>>()("dowser/assistants/Chats") {
  static readonly layer = Layer.effect(Chats, make)
}
