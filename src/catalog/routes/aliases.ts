/** Handlers of aliases. */
import * as engine from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import { implement } from "../../api/implement.ts"
import { reachesAlias } from "../../engine-plane/reached.ts"
import type { Caller } from "../../identity/caller.ts"
import { collectionClosed, reachesCollection, reachesEverything } from "../../identity/reach.ts"
import * as contract from "../contract.ts"
import { bodyOf, type Handling, type In } from "./handling.ts"

type OfAlias = In<{ readonly aliasName: string }>

/**
 * A new alias with an allowed name could open a collection that the key may not access, and a key must not move an
 * alias whose target it may not access.
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

export const aliasRoutes = ({ own, plain }: Handling) => {
  const aliasReached = (input: OfAlias, target?: unknown) =>
    Effect.suspend(() =>
      isAliasAllowed(own(input), input.caller, input.params.aliasName, target)
        ? Effect.void
        : Effect.fail(collectionClosed())
    )
  const shownAlias = plain((context, { params }: OfAlias) => engine.getAlias(context, params.aliasName))
  const removedAlias = plain((context, { params }: OfAlias) => engine.deleteAlias(context, params.aliasName))

  return [
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
    implement(contract.deleteAlias, (input) => Effect.andThen(aliasReached(input), removedAlias(input)))
  ]
}
