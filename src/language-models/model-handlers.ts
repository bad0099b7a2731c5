/** Handlers of models, the same five for each kind: unpack, call, mask. */
import { parseBody } from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import type { Input } from "../api/implement.ts"
import { textOf, unstorablePath } from "../http/body.ts"
import { EngineRefusal } from "../http/errors.ts"
import { type LanguageModel, shownModel } from "./model.ts"
import { modelNotFound, type StoredModels } from "./stored-models.ts"

const refused = (message: string) => new EngineRefusal({ status: 400, message })
/** An object, or the engine's error for anything else. */
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
type Asked = Input<unknown, unknown, {}>
type AskedOfOne = Input<unknown, unknown, { readonly modelId: string }>
/** The type depends on the API: the provider determines which properties it has. */
const shown = (model: LanguageModel) => shownModel(model) as never

export const modelHandlers = (models: StoredModels) => ({
  list: ({ caller }: Asked) => Effect.sync(() => models.list(caller.organizationId).map(shown) as never),
  create: (input: Asked) =>
    Effect.map(
      Effect.flatMap(bodyOf(input), (body) => models.create(input.caller.organizationId, body)),
      shown
    ),
  get: ({ caller, params }: AskedOfOne) =>
    Effect.suspend(() => {
      const model = models.get(caller.organizationId, params.modelId)
      return model === undefined ? Effect.fail(modelNotFound()) : Effect.succeed(shown(model))
    }),
  update: (input: AskedOfOne) =>
    Effect.map(
      Effect.flatMap(bodyOf(input), (body) => models.update(input.caller.organizationId, input.params.modelId, body)),
      shown
    ),
  remove: ({ caller, params }: AskedOfOne) => Effect.map(models.remove(caller.organizationId, params.modelId), shown)
})
