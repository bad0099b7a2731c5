/**
 * NL search models of organizations: rows in Postgres, kept in memory, read again where a write of any process changed
 * them (`Configuration`). What is stored was asked once and answered.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { Identifiers } from "@dowser/log/identifiers"
import { Seal } from "../../access/seal.ts"
import { Configuration } from "../../configuration/configuration.ts"
import { stored } from "../../configuration/stored.ts"
import { type ConfigurationUnavailable, EngineRefusal } from "../../http/errors.ts"
import type { Generator } from "../../ports/generator/generator.ts"
import type { OutboundHttp } from "../../ports/outbound-http/outbound-http.ts"
import { makeAskModel, type ModelFailed } from "./ask-model.ts"
import { mergedModel, type NlModel, readModel } from "./model.ts"
import { makeModelsRepository, type ModelRow } from "./models-repository.ts"

const KIND = "nl_search_model"
/** Of an organization. */
const MODELS_MAX = 100
const change = (organizationId: string, id: string) => ({ kind: KIND, organizationId, id })
const refusal = (status: 400 | 404 | 409, message: string) => new EngineRefusal({ status, message })
const notFound = () => refusal(404, "Model not found")
/** What a model is asked when it is stored. */
const TRIAL = { system: 'Answer with the JSON object {"q": "hello"} and with nothing else.', user: "hello" }

type Body = Readonly<Record<string, unknown>>
type Failure = EngineRefusal | ConfigurationUnavailable

interface NlModelsShape {
  readonly get: (organizationId: string, id: string) => NlModel | undefined
  /** Oldest first. */ readonly list: (organizationId: string) => ReadonlyArray<NlModel>
  readonly create: (organizationId: string, body: Body) => Effect.Effect<NlModel, Failure>
  readonly update: (organizationId: string, id: string, body: Body) => Effect.Effect<NlModel, Failure>
  readonly remove: (organizationId: string, id: string) => Effect.Effect<NlModel, Failure>
  /** The model's text. */
  readonly ask: (
    organizationId: string,
    model: NlModel,
    texts: { readonly system: string; readonly user: string }
  ) => Effect.Effect<string, ModelFailed>
}

interface Known {
  readonly model: NlModel
  readonly created_at: number
}
/** All of them in memory, by organization and id. */
const keepModels = Effect.gen(function* () {
  const configuration = yield* Configuration
  const seal = yield* Seal
  const { read } = yield* makeModelsRepository
  const organizations = new Map<string, Map<string, Known>>()
  const modelOf = ({ id, sealed_api_key, value }: ModelRow): NlModel => {
    const key = sealed_api_key === null ? {} : { api_key: seal.open(sealed_api_key).toString("utf8") }
    const model = readModel({ ...(value as object), ...key }, id)
    if (!model.ok) throw new Error(model.error.message)
    return model.value
  }
  yield* configuration.keep(KIND, (subjects) =>
    Effect.flatMap(read(subjects), (rows) =>
      Effect.suspend(() => {
        configuration.damages.forget(KIND, subjects)
        if (subjects === "all") organizations.clear()
        else for (const { id, organizationId } of subjects) organizations.get(organizationId)?.delete(id)
        const unread: Array<Effect.Effect<void>> = []
        for (const row of rows) {
          try {
            const own = organizations.get(row.organization_id) ?? new Map<string, Known>()
            organizations.set(row.organization_id, own.set(row.id, { model: modelOf(row), created_at: row.created_at }))
          } catch (error) {
            const reason = `The stored NL search model \`${row.id}\` is not what it should be.`
            configuration.damages.note(KIND, { organizationId: row.organization_id, id: row.id }, reason)
            unread.push(Effect.logError(`${row.organization_id} is refused: ${reason}`, error))
          }
        }
        return Effect.all(unread, { discard: true })
      })
    )
  )
  return {
    get: (organizationId: string, id: string) => organizations.get(organizationId)?.get(id),
    all: (organizationId: string): ReadonlyArray<Known> => [...(organizations.get(organizationId)?.values() ?? [])]
  }
})

export class NlModels extends Context.Service<NlModels, NlModelsShape>()("dowser/nl-search/NlModels") {
  static readonly layer: Layer.Layer<
    NlModels,
    never,
    Configuration | Generator | Identifiers | OutboundHttp | Seal | SqlClient.SqlClient
  > = Layer.effect(
    NlModels,
    Effect.gen(function* () {
      const configuration = yield* Configuration
      const seal = yield* Seal
      const identifiers = yield* Identifiers
      const repository = yield* makeModelsRepository
      const ask = yield* makeAskModel
      const kept = yield* keepModels

      const tried = (organizationId: string, model: NlModel) =>
        model.provider === "dowser"
          ? Effect.void
          : Effect.matchEffect(ask(organizationId, model, TRIAL), {
              onFailure: ({ message }) => Effect.fail(refusal(400, message)),
              onSuccess: () => Effect.void
            })
      const write = Effect.fnUntraced(function* (organizationId: string, model: NlModel) {
        const now = yield* Clock.currentTimeMillis
        const sealed = model.apiKey === "" ? null : seal.seal(new TextEncoder().encode(model.apiKey))
        yield* stored(
          configuration.write(change(organizationId, model.id), repository.put(organizationId, model, sealed, now))
        )
        return model
      })
      const drop = (organizationId: string, id: string) =>
        stored(configuration.write(change(organizationId, id), repository.remove(organizationId, id)))
      const known = (organizationId: string, id: string) =>
        Effect.suspend(() => {
          const found = kept.get(organizationId, id)
          return found === undefined ? Effect.fail(notFound()) : Effect.succeed(found.model)
        })

      return NlModels.of({
        get: (organizationId, id) => kept.get(organizationId, id)?.model,
        list: (organizationId) =>
          kept
            .all(organizationId)
            .toSorted((a, b) => a.created_at - b.created_at || (a.model.id < b.model.id ? -1 : 1))
            .map(({ model }) => model),
        create: Effect.fn("NlModels.create")(function* (organizationId, body) {
          const model = readModel(body, yield* identifiers.make("nlm"))
          if (!model.ok) return yield* refusal(400, model.error.message)
          if (kept.get(organizationId, model.value.id) !== undefined) return yield* refusal(409, "Model already exists")
          if (kept.all(organizationId).length >= MODELS_MAX)
            return yield* refusal(400, `At most ${MODELS_MAX} NL search models.`)
          yield* tried(organizationId, model.value)
          return yield* write(organizationId, model.value)
        }),
        update: Effect.fn("NlModels.update")(function* (organizationId, id, body) {
          const before = yield* known(organizationId, id)
          const model = mergedModel(before, body)
          if (!model.ok) return yield* refusal(400, model.error.message)
          const isMoved = model.value.id !== id
          if (isMoved && kept.get(organizationId, model.value.id) !== undefined)
            return yield* refusal(409, "Model already exists")
          yield* tried(organizationId, model.value)
          yield* write(organizationId, model.value)
          if (isMoved) yield* drop(organizationId, id)
          return model.value
        }),
        remove: Effect.fn("NlModels.remove")(function* (organizationId, id) {
          const model = yield* known(organizationId, id)
          yield* drop(organizationId, id)
          return model
        }),
        ask
      })
    })
  )
}
