/** Handlers of NL search models. */
import { Effect } from "effect"
import { implement } from "../api/implement.ts"
import { modelHandlers } from "../language-models/model-handlers.ts"
import * as contract from "./contract.ts"
import { NlModels } from "./models/nl-models.ts"

export const routes = Effect.map(NlModels, (models) => {
  const handlers = modelHandlers(models)
  return [
    implement(contract.listNlSearchModels, handlers.list),
    implement(contract.createNlSearchModel, handlers.create),
    implement(contract.getNlSearchModel, handlers.get),
    implement(contract.updateNlSearchModel, handlers.update),
    implement(contract.deleteNlSearchModel, handlers.remove)
  ]
})
