/** Handlers of collections, documents and what belongs to them: unpack, call one operation of the engine package, answer. */
import * as engine from "../../engine-sdk/src/operations/mod.ts"
import { Effect } from "effect"
import type { Caller } from "../access/caller.ts"
import { reachesCollection } from "../access/decision.ts"
import { CurrentOrigin } from "../audit/origin.ts"
import { makeAuditRecorder } from "../audit/record.ts"
import { SearchRules } from "../rules/search-rules.ts"
import { CollectionNotAllowed } from "../wire/errors.ts"
import { textOf, unstorablePath } from "../wire/body.ts"
import { type InputInvalid, inputInvalid, type Throttled } from "../wire/errors.ts"
import { implement, type Input } from "../wire/route.ts"
import * as contract from "./contract.ts"
import { auditedCollection } from "./audited-collection.ts"
import { answering, makeContexts, streaming } from "./engine-plane.ts"

type AnyInput = Input<unknown, unknown>

/** Only an escape can write what Postgres does not keep: NUL, or half a surrogate pair. */
const mayBeUnstorable = (text: string): boolean => /\\u(?:0000|d[89a-f])/i.test(text)
const storable = <A>(value: A, parsed: unknown): Effect.Effect<A, InputInvalid> => {
  const path = unstorablePath(parsed)
  return path === undefined ? Effect.succeed(value) : Effect.fail(inputInvalid(path === "" ? "body" : path, "No NUL character and no half surrogate pair"))
}
/** A body that is parsed once, here; one that does not parse is refused by the operation, in the engine's words. */
const bodyOf = (input: AnyInput): Effect.Effect<engine.ParsedBody, InputInvalid | Throttled> => Effect.flatMap(input.bytes, (bytes) => {
  const text = textOf(bytes)
  const result = engine.parseBody(text)
  const body = new engine.ParsedBody(result)
  return result.ok && mayBeUnstorable(text) ? storable(body, result.value) : Effect.succeed(body)
})
/** Documents, which are parsed by who writes them, and the lines of a dictionary. */
const textIn = (input: AnyInput): Effect.Effect<string, InputInvalid | Throttled> => Effect.flatMap(input.bytes, (bytes) => {
  const text = textOf(bytes)
  if (!mayBeUnstorable(text)) return Effect.succeed(text)
  const whole = engine.parseBody(text)
  return storable(text, whole.ok ? whole.value : text.split("\n").map((line) => engine.parseBody(line)).map((line) => line.ok ? line.value : undefined))
})

/** Under a name that a key reaches, an alias would open what it does not. */
const isAliasAllowed = (caller: Caller, name: string, sent: engine.Body): boolean => {
  if (caller.key.collections.includes("*")) return true
  const body = engine.parseBody(sent)
  const target = body.ok && typeof body.value === "object" && body.value !== null && "collection_name" in body.value ? body.value.collection_name : undefined
  return [name, target].every((one) => typeof one !== "string" || reachesCollection(caller, one))
}

export const routes = Effect.gen(function*() {
  const contextOf = yield* makeContexts
  const rules = yield* SearchRules
  const audited = auditedCollection(yield* makeAuditRecorder, contextOf)
  const own = (input: AnyInput) => contextOf(input.caller.organizationId)
  /** Operations without a body. */
  const plain = (run: (context: engine.OperationContext, input: AnyInput) => engine.Answered | Promise<engine.Answered>) => (input: AnyInput) =>
    Effect.flatMap(CurrentOrigin, (origin) => answering(() => run(contextOf(input.caller.organizationId, origin), input)))
  /** Operations that take a body, read as `read` does. */
  const taking = <B>(read: (input: AnyInput) => Effect.Effect<B, InputInvalid | Throttled>) => (run: (context: engine.OperationContext, input: AnyInput, body: B) => engine.Answered | Promise<engine.Answered>) => (input: AnyInput) =>
    Effect.flatMap(CurrentOrigin, (origin) => Effect.flatMap(read(input), (body) => answering(() => run(contextOf(input.caller.organizationId, origin), input, body))))
  const withBody = taking(bodyOf)
  const withText = taking(textIn)
  /** The same, after the collection was found: a missing one answers before a bad body (contract part 0). */
  const inCollection = (run: (context: engine.OperationContext, input: AnyInput, text: string) => engine.Answered | Promise<engine.Answered>) => (input: AnyInput) =>
    Effect.suspend(() => engine.resolveCollection(own(input), input.params.collectionName) === undefined
      ? answering(() => engine.getCollection(own(input), input.params.collectionName))
      : withText(run)(input))

  const sets = (operations: typeof contract.synonymSets | typeof contract.curationSets, run: engine.NamedSetOperations) => [
    implement(operations.list, plain((context) => run.list(context))),
    implement(operations.get, plain((context, { params }) => run.get(context, params.setName))),
    implement(operations.upsert, withBody((context, { params }, body) => run.upsert(context, params.setName, body))),
    implement(operations.delete, plain((context, { params }) => run.delete(context, params.setName))),
    implement(operations.listItems, plain((context, { params, search }) => run.listItems(context, params.setName, search))),
    implement(operations.getItem, plain((context, { params }) => run.getItem(context, params.setName, params.itemId))),
    implement(operations.upsertItem, withBody((context, { params }, body) => run.upsertItem(context, params.setName, params.itemId, body))),
    implement(operations.deleteItem, plain((context, { params }) => run.deleteItem(context, params.setName, params.itemId)))
  ]

  return [
    implement(contract.getCollections, plain((context, { search }) => engine.listCollections(context, search))),
    implement(contract.createCollection, (input) => Effect.flatMap(bodyOf(input), (body) => audited.creation(input.caller.organizationId, body, answering(() => engine.createCollection(own(input), body, input.search))))),
    implement(contract.getCollection, plain((context, { params }) => engine.getCollection(context, params.collectionName))),
    implement(contract.updateCollection, (input) => Effect.flatMap(bodyOf(input), (body) =>
      audited.change(input.caller.organizationId, input.params.collectionName, "updated", answering(() => engine.updateCollection(own(input), input.params.collectionName, body))))),
    implement(contract.deleteCollection, (input) => Effect.suspend(() => {
      const collection = engine.resolveCollection(own(input), input.params.collectionName)
      const dropped = audited.change(input.caller.organizationId, input.params.collectionName, "deleted", answering(() => engine.deleteCollection(own(input), input.params.collectionName)))
      return collection === undefined ? dropped : Effect.tap(dropped, () => rules.remove(input.caller.organizationId, collection.schema.name))
    })),

    implement(contract.indexDocument, inCollection((context, { params, search }, text) => engine.createDocument(context, params.collectionName, text, search))),
    implement(contract.importDocuments, (input) => Effect.flatMap(input.stream, (stream) => streaming(engine.importDocuments(own(input), input.params.collectionName, stream, input.search, input.held()), input.held()))),
    implement(contract.exportDocuments, (input) => Effect.suspend(() => streaming(engine.exportDocuments(own(input), input.params.collectionName, input.search), input.held()))),
    implement(contract.getDocument, plain((context, { params, search }) => engine.getDocument(context, params.collectionName, params.documentId, search))),
    implement(contract.updateDocument, inCollection((context, { params, search }, text) => engine.updateDocument(context, params.collectionName, params.documentId, text, search))),
    implement(contract.deleteDocument, plain((context, { params, search }) => engine.deleteDocument(context, params.collectionName, params.documentId, search))),
    implement(contract.updateDocuments, inCollection((context, { params, search }, text) => engine.updateDocuments(context, params.collectionName, text, search))),
    implement(contract.deleteDocuments, plain((context, { params, search }) => engine.deleteDocuments(context, params.collectionName, search))),

    implement(contract.listAliases, plain((context) => engine.listAliases(context))),
    implement(contract.getAlias, plain((context, { params }) => engine.getAlias(context, params.aliasName))),
    implement(contract.upsertAlias, (input) => Effect.flatMap(bodyOf(input), (body) => isAliasAllowed(input.caller, input.params.aliasName, body)
      ? plain((context, { params }) => engine.upsertAlias(context, params.aliasName, body))(input)
      : Effect.fail(new CollectionNotAllowed({ message: "This key does not reach the collection." })))),
    implement(contract.deleteAlias, plain((context, { params }) => engine.deleteAlias(context, params.aliasName))),

    implement(contract.listPresets, plain((context) => engine.listPresets(context))),
    implement(contract.getPreset, plain((context, { params }) => engine.getPreset(context, params.presetId))),
    implement(contract.upsertPreset, withBody((context, { params }, body) => engine.upsertPreset(context, params.presetId, body))),
    implement(contract.deletePreset, plain((context, { params }) => engine.deletePreset(context, params.presetId))),

    ...sets(contract.synonymSets, engine.synonymSets),
    ...sets(contract.curationSets, engine.curationSets),

    implement(contract.listStopwords, plain((context) => engine.listStopwords(context))),
    implement(contract.getStopwords, plain((context, { params }) => engine.getStopwords(context, params.setId))),
    implement(contract.upsertStopwords, withBody((context, { params }, body) => engine.upsertStopwords(context, params.setId, body))),
    implement(contract.deleteStopwords, plain((context, { params }) => engine.deleteStopwords(context, params.setId))),

    implement(contract.listStemmingDictionaries, plain((context) => engine.listStemmingDictionaries(context))),
    implement(contract.importStemmingDictionary, withText((context, { search }, text) => engine.importStemmingDictionary(context, text, search))),
    implement(contract.getStemmingDictionary, plain((context, { params }) => engine.getStemmingDictionary(context, params.dictionaryId))),
    implement(contract.deleteStemmingDictionary, plain((context, { params }) => engine.deleteStemmingDictionary(context, params.dictionaryId)))
  ]
})
