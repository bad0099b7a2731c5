/** Conversation models of organizations (`src/language-models`), tried before they are stored. */
import { Context, Effect, Layer } from "effect"
import { EngineRefusal } from "../http/errors.ts"
import type { LanguageModel } from "../language-models/model.ts"
import { makeStoredModels, type StoredModels } from "../language-models/stored-models.ts"
import { Generator } from "../ports/generator/generator.ts"
import { historyOf, makeHistory } from "./history.ts"
import { conversationModelShape, EXTRACTIVE, generatorOf } from "./model.ts"

const TRIAL_MS = 15_000
/** Enough for reasoning models, which use tokens before they write the answer. */
const TRIAL_TOKENS = 200

/** Searches name it although it is not stored; it remembers no conversations. */
const builtIn: LanguageModel = {
  id: EXTRACTIVE,
  provider: "dowser",
  name: EXTRACTIVE.slice("dowser/".length),
  fields: { model_name: EXTRACTIVE, max_bytes: 1_000_000 },
  secrets: new Map()
}

const make = Effect.gen(function* () {
  const generator = yield* Generator
  const history = yield* makeHistory
  const refusal = (message: string) => new EngineRefusal({ status: 400, message })
  const models: StoredModels = yield* makeStoredModels({
    kind: "conversation_model",
    table: "conversation_models",
    prefix: "cvm",
    noun: "conversation model",
    shape: conversationModelShape,
    tried: Effect.fnUntraced(function* (organizationId, model) {
      const problem = history.problem(organizationId, historyOf(model) ?? "")
      if (problem !== undefined) return yield* refusal(problem)
      if (model.provider === "dowser") return
      const asked = generator.complete({
        organizationId,
        model: generatorOf(model),
        messages: [{ role: "user", content: "hello" }],
        maxTokens: TRIAL_TOKENS,
        timeout_ms: TRIAL_MS,
        tries: 1
      })
      yield* Effect.mapError(asked, ({ message }) => refusal(message))
    })
  })
  return ConversationModels.of({
    ...models,
    named: (organizationId, id) => models.get(organizationId, id) ?? (id === EXTRACTIVE ? builtIn : undefined)
  })
})

export class ConversationModels extends Context.Service<
  ConversationModels,
  StoredModels & {
    /** The model that a search names, including the built-in one. */
    readonly named: (organizationId: string, id: string) => LanguageModel | undefined
  }
>()("dowser/conversations/ConversationModels") {
  static readonly layer = Layer.effect(ConversationModels, make)
}
