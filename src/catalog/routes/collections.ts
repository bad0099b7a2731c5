/** Handlers of collections. */
import * as engine from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import { implement } from "../../api/implement.ts"
import { makeAuditRecorder } from "../../audit/record.ts"
import { answering } from "../../engine-plane/engine-plane.ts"
import { writable } from "../../engine-plane/reached.ts"
import { auditedCollection } from "../audited-collection.ts"
import * as contract from "../contract.ts"
import { makeOwnedConfiguration } from "../owned-configuration.ts"
import { makeAnnouncedChange } from "../announced-change.ts"
import { type AnyInput, bodyOf, type Handling, reachedBy } from "./handling.ts"

export const collectionRoutes = Effect.fnUntraced(function* ({ contextOf, own, plain }: Handling) {
  const owned = yield* makeOwnedConfiguration
  const announced = yield* makeAnnouncedChange
  const audited = auditedCollection(yield* makeAuditRecorder, contextOf)
  /** For the source of a clone: its schema, including references, becomes another collection's. */
  const cloning = (input: AnyInput) =>
    input.search.src_name === undefined ? Effect.void : writable(own(input), input.caller, input.search.src_name)
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
          announced(
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
    )
  ]
})
