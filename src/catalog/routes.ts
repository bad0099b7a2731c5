/** Handlers of collections, documents and what belongs to them: unpack, call one operation of the engine package, answer. */
import * as engine from "../../engine-sdk/src/operations/mod.ts"
import { Effect } from "effect"
import type { Caller } from "../access/caller.ts"
import { reachesCollection } from "../access/decision.ts"
import { CurrentOrigin } from "../audit/origin.ts"
import { makeAuditRecorder } from "../audit/record.ts"
import { SearchRules } from "../rules/search-rules.ts"
import { CollectionNotAllowed } from "../wire/errors.ts"
import { parseBounded, textOf, unstorablePath } from "../wire/body.ts"
import { inputInvalid } from "../wire/errors.ts"
import { implement, type Input } from "../wire/route.ts"
import * as contract from "./contract.ts"
import { auditedCollection } from "./audited-collection.ts"
import { answering, makeContexts, streaming } from "./engine-plane.ts"

/** The raw text of a body: the engine package parses it, in its own words when it does not parse. */
const bodyTextOf = (input: Input<unknown, unknown>) => Effect.flatMap(input.bytes, (bytes) => {
  const text = textOf(bytes)
  // Resources rest in Postgres. Only an escape can write what it does not keep; a dictionary is a text of lines.
  const path = text.includes("\\u") ? [text, ...text.split("\n")].map(parseBounded).map((parsed) => typeof parsed === "object" ? unstorablePath(parsed.value) : undefined).find((each) => each !== undefined) : undefined
  return path === undefined ? Effect.succeed(text) : Effect.fail(inputInvalid(path === "" ? "body" : path, "No NUL character and no half surrogate pair"))
})

/** Under a name that a key reaches, an alias would open what it does not. */
const isAliasAllowed = (caller: Caller, name: string, text: string): boolean => {
  if (caller.key.collections.includes("*")) return true
  const body = engine.parseBody(text)
  const target = body.ok && typeof body.value === "object" && body.value !== null && "collection_name" in body.value ? body.value.collection_name : undefined
  return [name, target].every((one) => typeof one !== "string" || reachesCollection(caller, one))
}

export const routes = Effect.gen(function*() {
  const conbodyTextOf = yield* makeContexts
  const rules = yield* SearchRules
  const audited = auditedCollection(yield* makeAuditRecorder, conbodyTextOf)
  type AnyInput = Input<unknown, unknown>
  const own = (input: AnyInput) => conbodyTextOf(input.caller.organizationId)
  /** Operations without a body. */
  const plain = (run: (context: engine.OperationContext, input: AnyInput) => engine.Answered | Promise<engine.Answered>) => (input: AnyInput) =>
    Effect.flatMap(CurrentOrigin, (origin) => answering(() => run(conbodyTextOf(input.caller.organizationId, origin), input)))
  /** Operations that take the body's text. */
  const withText = (run: (context: engine.OperationContext, input: AnyInput, text: string) => engine.Answered | Promise<engine.Answered>) => (input: AnyInput) =>
    Effect.flatMap(CurrentOrigin, (origin) => Effect.flatMap(bodyTextOf(input), (text) => answering(() => run(conbodyTextOf(input.caller.organizationId, origin), input, text))))
  /** The same, after the collection was found: a missing one answers before a bad body (contract part 0). */
  const inCollection = (run: (context: engine.OperationContext, input: AnyInput, text: string) => engine.Answered | Promise<engine.Answered>) => (input: AnyInput) =>
    Effect.suspend(() => engine.resolveCollection(own(input), input.params.collectionName) === undefined
      ? answering(() => engine.getCollection(own(input), input.params.collectionName))
      : withText(run)(input))

  const sets = (operations: typeof contract.synonymSets | typeof contract.curationSets, run: engine.NamedSetOperations) => [
    implement(operations.list, plain((context) => run.list(context))),
    implement(operations.get, plain((context, { params }) => run.get(context, params.setName))),
    implement(operations.upsert, withText((context, { params }, text) => run.upsert(context, params.setName, text))),
    implement(operations.delete, plain((context, { params }) => run.delete(context, params.setName))),
    implement(operations.listItems, plain((context, { params, search }) => run.listItems(context, params.setName, search))),
    implement(operations.getItem, plain((context, { params }) => run.getItem(context, params.setName, params.itemId))),
    implement(operations.upsertItem, withText((context, { params }, text) => run.upsertItem(context, params.setName, params.itemId, text))),
    implement(operations.deleteItem, plain((context, { params }) => run.deleteItem(context, params.setName, params.itemId)))
  ]

  return [
    implement(contract.getCollections, plain((context, { search }) => engine.listCollections(context, search))),
    implement(contract.createCollection, (input) => Effect.flatMap(bodyTextOf(input), (text) => audited.creation(input.caller.organizationId, text, answering(() => engine.createCollection(own(input), text, input.search))))),
    implement(contract.getCollection, plain((context, { params }) => engine.getCollection(context, params.collectionName))),
    implement(contract.updateCollection, (input) => Effect.flatMap(bodyTextOf(input), (text) =>
      audited.change(input.caller.organizationId, input.params.collectionName, "updated", answering(() => engine.updateCollection(own(input), input.params.collectionName, text))))),
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
    implement(contract.upsertAlias, (input) => Effect.flatMap(bodyTextOf(input), (text) => isAliasAllowed(input.caller, input.params.aliasName, text)
      ? withText((context, { params }, body) => engine.upsertAlias(context, params.aliasName, body))(input)
      : Effect.fail(new CollectionNotAllowed({ message: "This key does not reach the collection." })))),
    implement(contract.deleteAlias, plain((context, { params }) => engine.deleteAlias(context, params.aliasName))),

    implement(contract.listPresets, plain((context) => engine.listPresets(context))),
    implement(contract.getPreset, plain((context, { params }) => engine.getPreset(context, params.presetId))),
    implement(contract.upsertPreset, withText((context, { params }, text) => engine.upsertPreset(context, params.presetId, text))),
    implement(contract.deletePreset, plain((context, { params }) => engine.deletePreset(context, params.presetId))),

    ...sets(contract.synonymSets, engine.synonymSets),
    ...sets(contract.curationSets, engine.curationSets),

    implement(contract.listStopwords, plain((context) => engine.listStopwords(context))),
    implement(contract.getStopwords, plain((context, { params }) => engine.getStopwords(context, params.setId))),
    implement(contract.upsertStopwords, withText((context, { params }, text) => engine.upsertStopwords(context, params.setId, text))),
    implement(contract.deleteStopwords, plain((context, { params }) => engine.deleteStopwords(context, params.setId))),

    implement(contract.listStemmingDictionaries, plain((context) => engine.listStemmingDictionaries(context))),
    implement(contract.importStemmingDictionary, withText((context, { search }, text) => engine.importStemmingDictionary(context, text, search))),
    implement(contract.getStemmingDictionary, plain((context, { params }) => engine.getStemmingDictionary(context, params.dictionaryId))),
    implement(contract.deleteStemmingDictionary, plain((context, { params }) => engine.deleteStemmingDictionary(context, params.dictionaryId)))
  ]
})
