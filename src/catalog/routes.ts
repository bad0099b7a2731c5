/**
 * Handlers of collections, documents and what belongs to them: unpack, call one operation of the engine package,
 * answer.
 */
import * as engine from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import type { Caller } from "../identity/caller.ts"
import { collectionClosed, reachesCollection, reachesEverything } from "../identity/reach.ts"
import { CurrentOrigin } from "../identity/origin.ts"
import { makeAuditRecorder } from "../audit/record.ts"
import { restrictionsOf } from "../identity/restrictions.ts"
import { textOf, unstorablePath } from "../http/body.ts"
import { type InputInvalid, inputInvalid, type SessionRequired, type Throttled } from "../http/errors.ts"
import { implement, type Input } from "../api/implement.ts"
import * as contract from "./contract.ts"
import { makeOwnedConfiguration } from "./owned-configuration.ts"
import { makeToldChange } from "./told-change.ts"
import { auditedCollection } from "./audited-collection.ts"
import { answering, makeContexts, streaming } from "../engine-plane/engine-plane.ts"
import { deletable, reachesAlias, reachesOwnName, writable } from "../engine-plane/reached.ts"

type AnyInput = Input<unknown, unknown>
type In<P> = Input<unknown, unknown, P>
/** Of operations on one collection, and on one alias. */
type InCollection = In<{ readonly collectionName: string }>
type OfAlias = In<{ readonly aliasName: string }>
type OfDocument = In<{ readonly collectionName: string; readonly documentId: string }>

/** Only an escape can write what Postgres does not store: NUL, or half a surrogate pair. */
const mayBeUnstorable = (text: string): boolean => /\\u(?:0000|d[89a-f])/i.test(text)
const storable = <A>(value: A, parsed: unknown): Effect.Effect<A, InputInvalid> => {
  const path = unstorablePath(parsed)
  return path === undefined
    ? Effect.succeed(value)
    : Effect.fail(inputInvalid(path === "" ? "body" : path, "No NUL character and no half surrogate pair"))
}
/** A body is parsed once, here; if it does not parse, the operation refuses it in the engine's words. */
const bodyOf = (input: AnyInput): Effect.Effect<engine.ParsedBody, InputInvalid | SessionRequired | Throttled> =>
  Effect.flatMap(input.bytes, (bytes) => {
    const text = textOf(bytes)
    const result = engine.parseBody(text)
    const body = new engine.ParsedBody(result)
    return result.ok && mayBeUnstorable(text) ? storable(body, result.value) : Effect.succeed(body)
  })
/** Documents, which the writer parses, and the lines of a dictionary. */
const textIn = (input: AnyInput): Effect.Effect<string, InputInvalid | SessionRequired | Throttled> =>
  Effect.flatMap(input.bytes, (bytes) => {
    const text = textOf(bytes)
    if (!mayBeUnstorable(text)) return Effect.succeed(text)
    const whole = engine.parseBody(text)
    return storable(
      text,
      whole.ok
        ? whole.value
        : text
            .split("\n")
            .map((line) => engine.parseBody(line))
            .map((line) => (line.ok ? line.value : undefined))
    )
  })

/**
 * An alias under a name that a key reaches would open what the key does not reach; an alias that leads elsewhere is not
 * the key's to move.
 */
const isAliasAllowed = (context: engine.OperationContext, caller: Caller, name: string, target?: unknown): boolean => {
  if (reachesEverything(caller)) return true
  const known = context.resources.get(context.namespace, "alias", name)
  return (
    reachesCollection(caller, name) &&
    (known === undefined || reachesAlias(caller, known)) &&
    (typeof target !== "string" || reachesCollection(caller, target))
  )
}
const targetIn = (sent: engine.Body): unknown => {
  const body = engine.parseBody(sent)
  return body.ok && typeof body.value === "object" && body.value !== null && "collection_name" in body.value
    ? body.value.collection_name
    : undefined
}

/** undefined where the key reaches every collection. */
const reachedBy = (context: engine.OperationContext, caller: AnyInput["caller"]) =>
  reachesEverything(caller) ? undefined : (name: string) => reachesOwnName(context, caller, name)

type Awaitable<A> = A | Promise<A>

export const routes = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const owned = yield* makeOwnedConfiguration
  const told = yield* makeToldChange
  const audited = auditedCollection(yield* makeAuditRecorder, contextOf)
  const own = (input: AnyInput) => contextOf(input.caller.organizationId)
  /** Operations without a body. */
  const plain =
    <P>(run: (context: engine.OperationContext, input: In<P>) => Awaitable<engine.OperationResult>) =>
    (input: In<P>) =>
      Effect.flatMap(CurrentOrigin, (origin) =>
        answering(() => run(contextOf(input.caller.organizationId, origin), input))
      )
  /** Operations that take a body, read as `read` does. */
  const taking =
    <B>(read: (input: AnyInput) => Effect.Effect<B, InputInvalid | SessionRequired | Throttled>) =>
    <P>(run: (context: engine.OperationContext, input: In<P>, body: B) => Awaitable<engine.OperationResult>) =>
    (input: In<P>) =>
      Effect.flatMap(CurrentOrigin, (origin) =>
        Effect.flatMap(read(input), (body) =>
          answering(() => run(contextOf(input.caller.organizationId, origin), input, body))
        )
      )
  const withBody = taking(bodyOf)
  const withText = taking(textIn)
  /** The same, after the collection was found: a missing one answers before a bad body. */
  const inCollection =
    <P extends { readonly collectionName: string }>(
      run: (context: engine.OperationContext, input: In<P>, text: string) => Awaitable<engine.OperationResult>
    ) =>
    (input: In<P>) =>
      Effect.suspend(() =>
        engine.resolveCollection(own(input), input.params.collectionName) === undefined
          ? answering(() => engine.getCollection(own(input), input.params.collectionName))
          : withText(run)(input)
      )

  /**
   * An operation whose filter or selection may name other collections; it is refused if the key does not reach one of
   * them.
   */
  const within = <A, E>(
    input: AnyInput,
    run: (context: engine.OperationContext, restrictions: engine.Restrictions) => Effect.Effect<A, E>
  ): Effect.Effect<A, E> =>
    Effect.suspend(() => run(own(input), reachesEverything(input.caller) ? {} : restrictionsOf(input.caller)))
  const writing = (input: InCollection) => writable(own(input), input.caller, input.params.collectionName)
  const deleting = (input: InCollection) => deletable(own(input), input.caller, input.params.collectionName)
  /** The source of a clone: its schema becomes another collection's, with its references. */
  const cloning = (input: AnyInput) =>
    input.search.src_name === undefined ? Effect.void : writable(own(input), input.caller, input.search.src_name)
  const aliasReached = (input: OfAlias, target?: unknown) =>
    Effect.suspend(() =>
      isAliasAllowed(own(input), input.caller, input.params.aliasName, target)
        ? Effect.void
        : Effect.fail(collectionClosed())
    )

  const sets = (
    operations: typeof contract.synonymSets | typeof contract.curationSets,
    run: engine.NamedSetOperations
  ) => [
    implement(
      operations.list,
      plain((context) => run.list(context))
    ),
    implement(
      operations.get,
      plain((context, { params }) => run.get(context, params.setName))
    ),
    implement(
      operations.upsert,
      withBody((context, { params }, body) => run.upsert(context, params.setName, body))
    ),
    implement(
      operations.delete,
      plain((context, { params }) => run.delete(context, params.setName))
    ),
    implement(
      operations.listItems,
      plain((context, { params, search }) => run.listItems(context, params.setName, search))
    ),
    implement(
      operations.getItem,
      plain((context, { params }) => run.getItem(context, params.setName, params.itemId))
    ),
    implement(
      operations.upsertItem,
      withBody((context, { params }, body) => run.upsertItem(context, params.setName, params.itemId, body))
    ),
    implement(
      operations.deleteItem,
      plain((context, { params }) => run.deleteItem(context, params.setName, params.itemId))
    )
  ]

  const indexed = inCollection((context, { params, search }, text) =>
    engine.createDocument(context, params.collectionName, text, search)
  )
  const updated = inCollection((context, { params, search }: OfDocument, text) =>
    engine.updateDocument(context, params.collectionName, params.documentId, text, search)
  )
  const deleted = plain((context, { params, search }: OfDocument) =>
    engine.deleteDocument(context, params.collectionName, params.documentId, search)
  )
  const updatedAll = (restrictions: engine.Restrictions) =>
    inCollection((context, { params, search }, text) =>
      engine.updateDocuments(context, params.collectionName, text, search, restrictions)
    )
  const shownAlias = plain((context, { params }: OfAlias) => engine.getAlias(context, params.aliasName))
  const removedAlias = plain((context, { params }: OfAlias) => engine.deleteAlias(context, params.aliasName))

  return [
    implement(
      contract.getCollections,
      plain((context, { caller, search }) => engine.listCollections(context, search, reachedBy(context, caller)))
    ),
    implement(contract.createCollection, (input) =>
      Effect.flatMap(Effect.andThen(cloning(input), bodyOf(input)), (body) =>
        audited.creation(
          input.caller.organizationId,
          body,
          answering(() => engine.createCollection(own(input), body, input.search))
        )
      )
    ),
    implement(
      contract.getCollection,
      plain((context, { params }) => engine.getCollection(context, params.collectionName))
    ),
    implement(
      contract.listSchemaChanges,
      plain((context, { caller }) => engine.listSchemaChanges(context, reachedBy(context, caller)))
    ),
    implement(contract.updateCollection, (input) =>
      Effect.flatMap(bodyOf(input), (body) => {
        const { collectionName } = input.params
        const altered = answering(() => engine.updateCollection(own(input), collectionName, body))
        return Effect.andThen(
          owned.unbroken(own(input), collectionName, input.search.force, body),
          told(
            own(input),
            collectionName,
            audited.change(input.caller.organizationId, collectionName, "updated", altered)
          )
        )
      })
    ),
    implement(contract.deleteCollection, (input) =>
      Effect.suspend(() => {
        const collection = engine.resolveCollection(own(input), input.params.collectionName)
        const dropped = audited.change(
          input.caller.organizationId,
          input.params.collectionName,
          "deleted",
          answering(() => engine.deleteCollection(own(input), input.params.collectionName))
        )
        return collection === undefined
          ? dropped
          : Effect.tap(dropped, () => owned.remove(input.caller.organizationId, collection.schema.name))
      })
    ),

    implement(contract.indexDocument, (input) => Effect.andThen(writing(input), indexed(input))),
    implement(contract.importDocuments, (input) =>
      Effect.flatMap(Effect.andThen(writing(input), input.stream), (stream) =>
        streaming(
          engine.importDocuments(own(input), input.params.collectionName, stream, input.search, input.held()),
          input.held()
        )
      )
    ),
    implement(contract.exportDocuments, (input) =>
      within(input, (context, caller) =>
        Effect.suspend(() =>
          streaming(engine.exportDocuments(context, input.params.collectionName, input.search, caller), input.held())
        )
      )
    ),
    implement(contract.getDocument, (input) =>
      within(input, (context, caller) =>
        answering(() =>
          engine.getDocument(context, input.params.collectionName, input.params.documentId, input.search, caller)
        )
      )
    ),
    implement(contract.updateDocument, (input) => Effect.andThen(writing(input), updated(input))),
    implement(contract.deleteDocument, (input) => Effect.andThen(deleting(input), deleted(input))),
    implement(contract.updateDocuments, (input) =>
      Effect.andThen(
        writing(input),
        within(input, (_context, caller) => updatedAll(caller)(input))
      )
    ),
    implement(contract.deleteDocuments, (input) =>
      Effect.andThen(
        deleting(input),
        within(input, (context, caller) =>
          answering(() => engine.deleteDocuments(context, input.params.collectionName, input.search, caller))
        )
      )
    ),

    implement(
      contract.listAliases,
      plain((context, { caller }) =>
        engine.listAliases(context, reachesEverything(caller) ? undefined : (alias) => reachesAlias(caller, alias))
      )
    ),
    implement(contract.getAlias, (input) => Effect.andThen(aliasReached(input), shownAlias(input))),
    implement(contract.upsertAlias, (input) =>
      Effect.flatMap(bodyOf(input), (body) =>
        Effect.andThen(
          aliasReached(input, targetIn(body)),
          plain((context) => engine.upsertAlias(context, input.params.aliasName, body))(input)
        )
      )
    ),
    implement(contract.deleteAlias, (input) => Effect.andThen(aliasReached(input), removedAlias(input))),

    implement(
      contract.listPresets,
      plain((context) => engine.listPresets(context))
    ),
    implement(
      contract.getPreset,
      plain((context, { params }) => engine.getPreset(context, params.presetId))
    ),
    implement(
      contract.upsertPreset,
      withBody((context, { params }, body) => engine.upsertPreset(context, params.presetId, body))
    ),
    implement(
      contract.deletePreset,
      plain((context, { params }) => engine.deletePreset(context, params.presetId))
    ),

    ...sets(contract.synonymSets, engine.synonymSets),
    ...sets(contract.curationSets, engine.curationSets),

    implement(
      contract.listStopwords,
      plain((context) => engine.listStopwords(context))
    ),
    implement(
      contract.getStopwords,
      plain((context, { params }) => engine.getStopwords(context, params.setId))
    ),
    implement(
      contract.upsertStopwords,
      withBody((context, { params }, body) => engine.upsertStopwords(context, params.setId, body))
    ),
    implement(
      contract.deleteStopwords,
      plain((context, { params }) => engine.deleteStopwords(context, params.setId))
    ),

    implement(
      contract.listStemmingDictionaries,
      plain((context) => engine.listStemmingDictionaries(context))
    ),
    implement(
      contract.importStemmingDictionary,
      withText((context, { search }, text) => engine.importStemmingDictionary(context, text, search))
    ),
    implement(
      contract.getStemmingDictionary,
      plain((context, { params }) => engine.getStemmingDictionary(context, params.dictionaryId))
    ),
    implement(
      contract.deleteStemmingDictionary,
      plain((context, { params }) => engine.deleteStemmingDictionary(context, params.dictionaryId))
    )
  ]
})
