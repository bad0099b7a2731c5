/**
 * Begins a turn: determines the model, the earlier conversation and its owner, and the language; or why there is no
 * turn.
 */
import { Effect } from "effect"
import { EngineRefusal } from "../http/errors.ts"
import type { SearchRequest } from "../search/request.ts"
import { OtherSession } from "../support/errors.ts"
import { languageAmong } from "../understanding/language.ts"
import type { Asked } from "./answering.ts"
import type { Talking } from "./asked.ts"
import { historyOf, makeHistory, type Message } from "./history.ts"
import { makeConversationIds } from "./ids.ts"
import { ConversationModels } from "./models.ts"
import { roomFor } from "./prompt.ts"

const LANGUAGES = ["en", "de", "es", "fr", "ru", "ar", "zh", "ja", "th"]
const FALLBACK_LANGUAGE = "en"
/** Ids created elsewhere, such as by another engine: without characters that a filter would interpret. */
const ANY_ID = /^[\w.:-]{1,100}$/
/** A placeholder with the length of a prompt's mark. */
const SOME_MARK = "x".repeat(12)
const refusal = (message: string) => new EngineRefusal({ status: 400, message })

/** A question that is about to be answered. */
export interface Turn extends Asked {
  readonly talking: Talking
  /** Id of its conversation, which is new for a first turn; "" if nothing is remembered. */
  readonly conversationId: string
}
export const makeBeginTurn = Effect.gen(function* () {
  const models = yield* ConversationModels
  const history = yield* makeHistory
  const ids = yield* makeConversationIds

  /** The earlier conversation, after its owner was checked. */
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
