/** Handlers of conversation models. */
import { Effect } from "effect"
import { implement } from "../api/implement.ts"
import { modelHandlers } from "../language-models/model-handlers.ts"
import * as contract from "./contract.ts"
import { ConversationModels } from "./models.ts"

export const routes = Effect.map(ConversationModels, (models) => {
  const handlers = modelHandlers(models)
  return [
    implement(contract.listConversationModels, handlers.list),
    implement(contract.createConversationModel, handlers.create),
    implement(contract.getConversationModel, handlers.get),
    implement(contract.updateConversationModel, handlers.update),
    implement(contract.deleteConversationModel, handlers.remove)
  ]
})
