/**
 * The history, in the collection that a model names: a document for each question and one for each answer, owned by
 * the organization like any other. Messages older than the model's `ttl` are no longer read, and are removed.
 */
import { parseJson } from "@dowser/engine-sdk/documents"
import { deleteDocuments, resolveCollection, search } from "@dowser/engine-sdk/operations"
import type { CollectionInfo, EngineError } from "@dowser/engine-sdk"
import { Clock, Effect } from "effect"
import { Identifiers } from "@dowser/log/identifiers"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { isObject } from "../http/json-fields.ts"
import type { LanguageModel } from "../language-models/model.ts"
import { TTL_S } from "./model.ts"

export interface Message {
  readonly role: "user" | "assistant"
  readonly text: string
  /** Unix seconds. */ readonly at_s: number
}
/** Limit of a conversation's newest messages; older ones are neither read nor shown. */
const MESSAGES_MAX = 100
const EXPIRED_PAGE = "500"

/** What a collection lacks to hold histories; undefined if nothing. */
const schemaProblem = ({ schema }: CollectionInfo): string | undefined => {
  const texts = ["conversation_id", "role", "message", "model_id"].map((name) => [name, "string", "a string"] as const)
  for (const [name, type, noun] of [...texts, ["timestamp", "int32", "an integer"] as const]) {
    const field = schema.fields.find((one) => one.name === name)
    if (field === undefined) return `Schema is missing \`${name}\` field`
    if (field.type !== type) return `\`${name}\` field must be ${noun}`
  }
  const { sort } = schema.fields.find(({ name }) => name === "timestamp")!
  return sort ? undefined : "`timestamp` field must be a sort field"
}
export const historyOf = (model: LanguageModel): string | undefined =>
  typeof model.fields.history_collection === "string" ? model.fields.history_collection : undefined
export const ttlOf = ({ fields }: LanguageModel): number => (typeof fields.ttl === "number" ? fields.ttl : TTL_S)

const messageOf = (hit: unknown): ReadonlyArray<Message & { readonly id: string }> => {
  const document = isObject(hit) && isObject(hit.document) ? hit.document : {}
  const { id, message, role, timestamp } = document
  return typeof message === "string" && (role === "user" || role === "assistant")
    ? [{ role, text: message, at_s: Number(timestamp), id: String(id) }]
    : []
}
const sentenceOf = ({ message }: EngineError): string => `The history cannot be reached: ${message}`

export const makeHistory = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const identifiers = yield* Identifiers
  const collectionOf = (organizationId: string, name: string) => resolveCollection(contextOf(organizationId), name)

  /** Why a collection cannot hold histories. */
  const problem = (organizationId: string, name: string): string | undefined => {
    const collection = collectionOf(organizationId, name)
    return collection === undefined ? "Collection not found" : schemaProblem(collection)
  }
  /** Oldest first; fails with a message. `conversationId` must not contain anything that a filter interprets. */
  const read = Effect.fnUntraced(function* (organizationId: string, model: LanguageModel, conversationId: string) {
    const name = historyOf(model)
    if (name === undefined) return []
    const since_s = Math.floor((yield* Clock.currentTimeMillis) / 1_000) - ttlOf(model)
    const found = yield* Effect.promise(() =>
      search(contextOf(organizationId), name, {
        q: "*",
        filter_by: `conversation_id:=\`${conversationId}\` && timestamp:>=${since_s}`,
        sort_by: "timestamp:desc",
        per_page: String(MESSAGES_MAX),
        include_fields: "id,role,message,timestamp",
        enable_curations: "false"
      })
    )
    if (!found.ok) return yield* Effect.fail(sentenceOf(found.error))
    const answer = parseJson(found.value.text ?? "{}")
    const hits = isObject(answer) && Array.isArray(answer.hits) ? (answer.hits as ReadonlyArray<unknown>) : []
    return hits
      .flatMap(messageOf)
      .toSorted((a, b) => a.at_s - b.at_s || (a.id < b.id ? -1 : 1))
      .map(({ at_s, role, text }): Message => ({ at_s, role, text }))
  })
  /** Adds both messages of a turn; returns a message if that fails. */
  const append = Effect.fnUntraced(function* (
    organizationId: string,
    model: LanguageModel,
    conversationId: string,
    messages: ReadonlyArray<Message>
  ) {
    const collection = collectionOf(organizationId, historyOf(model) ?? "")
    if (collection === undefined) return yield* Effect.fail("The history cannot be reached: Collection not found")
    const turn = yield* identifiers.make("turn")
    const { engine, keeps, namespace } = contextOf(organizationId)
    const operations = messages.map(({ at_s, role, text }, i) => ({
      kind: "put" as const,
      action: "emplace" as const,
      dirtyValues: undefined,
      document: {
        id: `${turn}_${i}`,
        conversation_id: conversationId,
        role,
        message: text,
        timestamp: at_s,
        model_id: model.id
      }
    }))
    const written = yield* Effect.promise(() => engine.write(namespace, collection.schema.name, operations, { keeps }))
    if (!written.ok) return yield* Effect.fail(sentenceOf(written.error))
    for (const { result } of written.value) if (!result.ok) return yield* Effect.fail(sentenceOf(result.error))
  })
  /** Removes messages older than the model's `ttl`. */
  const expire = Effect.fnUntraced(function* (organizationId: string, model: LanguageModel) {
    const collection = collectionOf(organizationId, historyOf(model) ?? "")
    if (collection === undefined || schemaProblem(collection) !== undefined) return
    const since_s = Math.floor((yield* Clock.currentTimeMillis) / 1_000) - ttlOf(model)
    const filter_by = `timestamp:<${since_s} && model_id:=\`${model.id}\``
    const deleted = yield* Effect.promise(() =>
      deleteDocuments(contextOf(organizationId), collection.schema.name, { filter_by, batch_size: EXPIRED_PAGE })
    )
    if (!deleted.ok) yield* Effect.logWarning(`Old conversations of ${organizationId} stay: ${deleted.error.message}`)
  })
  return { problem, read, append, expire }
})
