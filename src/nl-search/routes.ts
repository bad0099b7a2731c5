/** Handlers of NL search models. */
import { parseBody } from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import { implement, type Input } from "../api/implement.ts"
import { textOf, unstorablePath } from "../http/body.ts"
import { EngineRefusal } from "../http/errors.ts"
import * as contract from "./contract.ts"
import { shownModel } from "./models/model.ts"
import { NlModels } from "./models/nl-models.ts"

const refused = (message: string) => new EngineRefusal({ status: 400, message })
/** An object, or the engine's words for what is none. */
const bodyOf = <P>({ bytes }: Input<unknown, unknown, P>) =>
  Effect.flatMap(bytes, (sent) => {
    const parsed = parseBody(textOf(sent))
    if (!parsed.ok) return Effect.fail(refused(parsed.error.message))
    const { value } = parsed
    if (typeof value !== "object" || value === null || Array.isArray(value)) return Effect.fail(refused("Bad JSON."))
    const path = unstorablePath(value)
    return path === undefined
      ? Effect.succeed(value as Readonly<Record<string, unknown>>)
      : Effect.fail(refused(`\`${path}\` has a NUL character or half a surrogate pair.`))
  })

export const routes = Effect.gen(function* () {
  const models = yield* NlModels
  return [
    implement(contract.listNlSearchModels, ({ caller }) =>
      Effect.sync(() => models.list(caller.organizationId).map(shownModel) as never)
    ),
    implement(contract.createNlSearchModel, (input) =>
      Effect.map(
        Effect.flatMap(bodyOf(input), (body) => models.create(input.caller.organizationId, body)),
        (model) => shownModel(model) as never
      )
    ),
    implement(contract.getNlSearchModel, ({ caller, params }) =>
      Effect.suspend(() => {
        const model = models.get(caller.organizationId, params.modelId)
        return model === undefined
          ? Effect.fail(new EngineRefusal({ status: 404, message: "Model not found" }))
          : Effect.succeed(shownModel(model) as never)
      })
    ),
    implement(contract.updateNlSearchModel, (input) =>
      Effect.map(
        Effect.flatMap(bodyOf(input), (body) => models.update(input.caller.organizationId, input.params.modelId, body)),
        (model) => shownModel(model) as never
      )
    ),
    implement(contract.deleteNlSearchModel, ({ caller, params }) =>
      Effect.map(models.remove(caller.organizationId, params.modelId), (model) => shownModel(model) as never)
    )
  ]
})
