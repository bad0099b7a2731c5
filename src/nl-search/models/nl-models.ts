/** NL search models of organizations (`src/language-models`), and their answers. */
import { Context, Effect, Layer } from "effect"
import { EngineRefusal } from "../../http/errors.ts"
import type { LanguageModel } from "../../language-models/model.ts"
import { makeStoredModels, type StoredModels } from "../../language-models/stored-models.ts"
import { makeAskModel, type ModelFailed } from "./ask-model.ts"
import { nlModelShape } from "./model.ts"

/** The trial question when a model is stored. */
const TRIAL = { system: 'Answer with the JSON object {"q": "hello"} and with nothing else.', user: "hello" }

interface NlModelsShape extends StoredModels {
  /** Returns the model's text. */
  readonly ask: (
    organizationId: string,
    model: LanguageModel,
    texts: { readonly system: string; readonly user: string }
  ) => Effect.Effect<string, ModelFailed>
}

const make = Effect.gen(function* () {
  const ask = yield* makeAskModel
  const models = yield* makeStoredModels({
    kind: "nl_search_model",
    table: "nl_search_models",
    prefix: "nlm",
    noun: "NL search model",
    shape: nlModelShape,
    tried: (organizationId, model) =>
      model.provider === "dowser"
        ? Effect.void
        : Effect.matchEffect(ask(organizationId, model, TRIAL), {
            onFailure: ({ message }) => Effect.fail(new EngineRefusal({ status: 400, message })),
            onSuccess: () => Effect.void
          })
  })
  return NlModels.of({ ...models, ask })
})

export class NlModels extends Context.Service<NlModels, NlModelsShape>()("dowser/nl-search/NlModels") {
  static readonly layer = Layer.effect(NlModels, make)
}
