/** Assistants of an organization: rows in Postgres, read for each question. */
import { Identifiers } from "@dowser/log/identifiers"
import { resolveCollection } from "@dowser/engine-sdk/operations"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { AiProviders } from "../ai-providers/ai-providers.ts"
import { makeAuditRecorder } from "../audit/record.ts"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { type Issue, refused } from "../http/checks.ts"
import { NotFound } from "../http/errors.ts"
import { Entitlements } from "../metering/entitlements.ts"
import { keptParameterIssues } from "../search/kept-parameters.ts"
import { EXTRACTIVE } from "./answering/answer.ts"
import { makeAssistantsRepository } from "./assistants-repository.ts"
import type { AssistantBody } from "./schema.ts"

/** Parameters that answering sets itself, and those that would cost credits. */
const NO_PARAMS = new Set([
  "q",
  "page",
  "per_page",
  "limit",
  "offset",
  "collection",
  "conversation",
  "nl_query",
  "voice_query",
  "group_by",
  "highlight_fields",
  "enable_analytics"
])
export const missingAssistant = (id: string) =>
  new NotFound({ message: `Assistant ${id.slice(0, 80)} does not exist.` })
const orDie = <A, E, R>(effect: Effect.Effect<A, E | SqlError.SqlError, R>) =>
  Effect.catchTag(effect as Effect.Effect<A, SqlError.SqlError, R>, "SqlError", (error) =>
    Effect.die(error)
  ) as Effect.Effect<A, Exclude<E, SqlError.SqlError>, R>

/** Checks of a body that need the organization's data. */
const makeChecks = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const providers = yield* AiProviders
  return (organizationId: string, body: AssistantBody) => {
    const context = contextOf(organizationId)
    const { collections, document_template = {}, model, search_params } = body
    const issues: Array<Issue> = collections.flatMap((name, place) =>
      resolveCollection(context, name) === undefined
        ? [{ path: `collections[${place}]`, message: "No collection and no alias of the organization" }]
        : []
    )
    for (const name of Object.keys(document_template))
      if (!collections.includes(name))
        issues.push({ path: `document_template.${name.slice(0, 80)}`, message: "One of `collections`" })
    if (search_params !== undefined)
      issues.push(
        ...keptParameterIssues(search_params, { path: "search_params", of: "an assistant", refused: NO_PARAMS })
      )
    if (model !== undefined && model !== EXTRACTIVE && providers.generator(organizationId) === undefined)
      issues.push({
        path: "model",
        message: `\`${EXTRACTIVE}\`, or name a provider first: PUT /v1/ai/providers/generator`
      })
    return refused(issues)
  }
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const identifiers = yield* Identifiers
  const entitlements = yield* Entitlements
  const audit = yield* makeAuditRecorder
  const repository = yield* makeAssistantsRepository
  const checked = yield* makeChecks
  const recorded = <A, E>(organizationId: string, id: string, change: Effect.Effect<A, E>) =>
    orDie(sql.withTransaction(audit.recorded({ kind: "assistant", organizationId, id }, change)))
  const get = Effect.fnUntraced(function* (organizationId: string, id: string) {
    return (yield* Effect.orDie(repository.get(organizationId, id))) ?? (yield* missingAssistant(id))
  })
  return {
    get,
    list: (organizationId: string, after: string, limit: number) =>
      Effect.orDie(repository.page(organizationId, after, limit)),
    create: Effect.fn("Assistants.create")(function* (organizationId: string, body: AssistantBody) {
      yield* checked(organizationId, body)
      const id = yield* identifiers.make("ast")
      const now = yield* Clock.currentTimeMillis
      return yield* recorded(
        organizationId,
        id,
        Effect.gen(function* () {
          yield* entitlements.requireRoom(
            organizationId,
            "assistants",
            (yield* repository.lockCount(organizationId)) + 1
          )
          return yield* repository.put(organizationId, id, body, now)
        })
      )
    }),
    replace: Effect.fn("Assistants.replace")(function* (organizationId: string, id: string, body: AssistantBody) {
      yield* get(organizationId, id)
      yield* checked(organizationId, body)
      const now = yield* Clock.currentTimeMillis
      return yield* recorded(
        organizationId,
        id,
        Effect.gen(function* () {
          yield* repository.lockCount(organizationId)
          if ((yield* repository.get(organizationId, id)) === undefined) return yield* missingAssistant(id)
          return yield* repository.put(organizationId, id, body, now)
        })
      )
    }),
    remove: Effect.fn("Assistants.remove")(function* (organizationId: string, id: string) {
      return yield* recorded(
        organizationId,
        id,
        Effect.gen(function* () {
          if ((yield* repository.get(organizationId, id)) === undefined) return yield* missingAssistant(id)
          yield* repository.remove(organizationId, id)
          return { id }
        })
      )
    })
  }
})

export class Assistants extends Context.Service<Assistants, Effect.Success<typeof make>>()(
  "dowser/assistants/Assistants"
) {
  static readonly layer = Layer.effect(Assistants, make)
}
