/**
 * Models of one kind: rows in Postgres, kept in memory, re-read when a write of any process changed them
 * (`Configuration`). A model is stored only after it answered a trial request.
 */
import { Clock, Effect } from "effect"
import { Identifiers } from "@dowser/log/identifiers"
import { Seal } from "../access/seal.ts"
import { Configuration } from "../configuration/configuration.ts"
import { stored } from "../configuration/stored.ts"
import { type ConfigurationUnavailable, EngineRefusal } from "../http/errors.ts"
import { type LanguageModel, mergedModel, type ModelShape, readModel, sealedTextOf, storedBody } from "./model.ts"
import { makeModelRows, type ModelRow, type ModelsTable } from "./model-rows.ts"

/** Per organization. */
const MODELS_MAX = 100
type Body = Readonly<Record<string, unknown>>
type ModelFailure = EngineRefusal | ConfigurationUnavailable

interface ModelsKind {
  /** Its kind in the audit log. */ readonly kind: string
  readonly table: ModelsTable
  /** Prefix of generated ids. */ readonly prefix: string
  /** The word for it in sentences. */ readonly noun: string
  readonly shape: ModelShape
  /** Tries whether the model can do its work. */
  readonly tried: (organizationId: string, model: LanguageModel) => Effect.Effect<void, EngineRefusal>
}
export interface StoredModels {
  readonly get: (organizationId: string, id: string) => LanguageModel | undefined
  /** Oldest first. */ readonly list: (organizationId: string) => ReadonlyArray<LanguageModel>
  /** Of all organizations. */ readonly all: () => Iterable<readonly [organizationId: string, LanguageModel]>
  readonly create: (organizationId: string, body: Body) => Effect.Effect<LanguageModel, ModelFailure>
  readonly update: (organizationId: string, id: string, body: Body) => Effect.Effect<LanguageModel, ModelFailure>
  readonly remove: (organizationId: string, id: string) => Effect.Effect<LanguageModel, ModelFailure>
}

const refusal = (status: 400 | 404 | 409, message: string) => new EngineRefusal({ status, message })
export const modelNotFound = () => refusal(404, "Model not found")
interface LoadedModel {
  readonly model: LanguageModel
  readonly created_at: number
}

/** Keeps all of them in memory, by organization and id. */
const keepModels = Effect.fnUntraced(function* ({ kind, noun, shape, table }: ModelsKind) {
  const configuration = yield* Configuration
  const seal = yield* Seal
  const { read } = yield* makeModelRows(table)
  const organizations = new Map<string, Map<string, LoadedModel>>()
  const modelOf = ({ id, sealed_api_key, value }: ModelRow): LanguageModel => {
    const secrets = sealed_api_key === null ? undefined : seal.open(sealed_api_key).toString("utf8")
    const model = readModel(shape, storedBody(value, secrets), id)
    if (!model.ok) throw new Error(model.error.message)
    return model.value
  }
  yield* configuration.keep(kind, (subjects) =>
    Effect.flatMap(read(subjects), (rows) =>
      Effect.suspend(() => {
        configuration.damages.forget(kind, subjects)
        if (subjects === "all") organizations.clear()
        else for (const { id, organizationId } of subjects) organizations.get(organizationId)?.delete(id)
        const unread: Array<Effect.Effect<void>> = []
        for (const row of rows) {
          try {
            const own = organizations.get(row.organization_id) ?? new Map<string, LoadedModel>()
            organizations.set(row.organization_id, own.set(row.id, { model: modelOf(row), created_at: row.created_at }))
          } catch (error) {
            const reason = `The stored ${noun} \`${row.id}\` is not what it should be.`
            configuration.damages.note(kind, { organizationId: row.organization_id, id: row.id }, reason)
            unread.push(Effect.logError(`${row.organization_id} is refused: ${reason}`, error))
          }
        }
        return Effect.all(unread, { discard: true })
      })
    )
  )
  return organizations
})

export const makeStoredModels = Effect.fnUntraced(function* (what: ModelsKind) {
  const { kind, noun, prefix, shape, table, tried } = what
  const configuration = yield* Configuration
  const seal = yield* Seal
  const identifiers = yield* Identifiers
  const rows = yield* makeModelRows(table)
  const kept = yield* keepModels(what)
  const change = (organizationId: string, id: string) => ({ kind, organizationId, id })

  const write = Effect.fnUntraced(function* (organizationId: string, model: LanguageModel) {
    const now = yield* Clock.currentTimeMillis
    const secrets = sealedTextOf(model)
    const sealed = secrets === undefined ? null : seal.seal(new TextEncoder().encode(secrets))
    yield* stored(configuration.write(change(organizationId, model.id), rows.put(organizationId, model, sealed, now)))
    return model
  })
  const drop = (organizationId: string, id: string) =>
    stored(configuration.write(change(organizationId, id), rows.remove(organizationId, id)))
  const get = (organizationId: string, id: string) => kept.get(organizationId)?.get(id)?.model
  const known = (organizationId: string, id: string) =>
    Effect.suspend(() => {
      const found = get(organizationId, id)
      return found === undefined ? Effect.fail(modelNotFound()) : Effect.succeed(found)
    })
  const free = (organizationId: string, id: string) =>
    Effect.suspend(() =>
      get(organizationId, id) === undefined ? Effect.void : Effect.fail(refusal(409, "Model already exists"))
    )

  const models: StoredModels = {
    get,
    list: (organizationId) =>
      [...(kept.get(organizationId)?.values() ?? [])]
        .toSorted((a, b) => a.created_at - b.created_at || (a.model.id < b.model.id ? -1 : 1))
        .map(({ model }) => model),
    *all() {
      for (const [organizationId, own] of kept) for (const { model } of own.values()) yield [organizationId, model]
    },
    create: Effect.fnUntraced(function* (organizationId, body) {
      const model = readModel(shape, body, yield* identifiers.make(prefix))
      if (!model.ok) return yield* refusal(400, model.error.message)
      yield* free(organizationId, model.value.id)
      if ((kept.get(organizationId)?.size ?? 0) >= MODELS_MAX)
        return yield* refusal(400, `At most ${MODELS_MAX} ${noun}s.`)
      yield* tried(organizationId, model.value)
      return yield* write(organizationId, model.value)
    }),
    update: Effect.fnUntraced(function* (organizationId, id, body) {
      const before = yield* known(organizationId, id)
      const model = mergedModel(shape, before, body)
      if (!model.ok) return yield* refusal(400, model.error.message)
      const isMoved = model.value.id !== id
      if (isMoved) yield* free(organizationId, model.value.id)
      yield* tried(organizationId, model.value)
      yield* write(organizationId, model.value)
      if (isMoved) yield* drop(organizationId, id)
      return model.value
    }),
    remove: Effect.fnUntraced(function* (organizationId, id) {
      const model = yield* known(organizationId, id)
      yield* drop(organizationId, id)
      return model
    })
  }
  return models
})
