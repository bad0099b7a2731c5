/** Handler of embeddings. */
import { Effect } from "effect"
import { implement } from "../api/implement.ts"
import { inputInvalid } from "../http/errors.ts"
import { AiSpending } from "../metering/ai-spending.ts"
import type { RemoteEmbeddingFailed } from "../ports/text-embedder/remote/remote-embedder.ts"
import type { EmbeddingUnavailable } from "../ports/text-embedder/text-embedder.ts"
import * as contract from "./contract.ts"
import { AiProviders } from "../ai-providers/ai-providers.ts"
import { CurrentEmbedder } from "../ports/embedder/embedder.ts"
import { INSTALL, ModelBusy, ModelFailed, ModelNotInstalled } from "./errors.ts"

const RETRY_AFTER_S = 5
const refusalOf = (error: EmbeddingUnavailable | RemoteEmbeddingFailed) => {
  const { message } = error
  if (error._tag === "RemoteEmbeddingFailed") return new ModelFailed({ message })
  if (error.reason === "not_installed") return new ModelNotInstalled({ message, setting: INSTALL })
  return error.reason === "failed"
    ? new ModelFailed({ message })
    : new ModelBusy({ message, retry_after_s: error.retry_after_s ?? RETRY_AFTER_S })
}

export const routes = Effect.gen(function* () {
  const embedder = yield* CurrentEmbedder
  const spending = yield* AiSpending
  const providers = yield* AiProviders
  return [
    implement(
      contract.createEmbeddings,
      Effect.fnUntraced(function* ({ caller, payload }) {
        const { input, model } = yield* payload
        const texts = typeof input === "string" ? [input] : input
        const own = providers.embeddingModel(caller.organizationId)
        const config = model === undefined || model === own.model_name ? own : { model_name: model }
        // A server that the organization has not configured is never called.
        if (embedder?.isKnown(config) !== true || !(config === own || embedder.isEmbedded(config)))
          return yield* inputInvalid("model", "A model of this program, or the organization's own")
        const characters = texts.reduce((sum, text) => sum + text.length, 0)
        const made = Effect.mapError(embedder.vectors(caller.organizationId, config, texts), refusalOf)
        const { inputTokens, vectors } = yield* spending.spend(
          caller,
          "embeddings",
          characters,
          Effect.map(made, (answer) => [answer, characters] as const)
        )
        return {
          model: String(config.model_name),
          data: vectors.map((vector, index) => ({ index, embedding: Array.from(vector) })),
          usage: { input_tokens: inputTokens }
        }
      })
    )
  ]
})
