/** A gateway request as a search: looks up its index, validates its body, and translates its result. */
import { type CollectionInfo, statusOf } from "@dowser/engine-sdk"
import { ParsedBody, resolveCollection } from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import type { Caller } from "../identity/caller.ts"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { reachesNamed } from "../engine-plane/reached.ts"
import { Installation } from "../installation.ts"
import type { SearchAnswer, SearchRequest } from "../search/request.ts"
import { replyOf, searchRequestOf } from "../search/routes.ts"
import { Search } from "../search/search.ts"
import { CollectionNotAllowed, EngineRefusal, type InputInvalid, inputInvalid } from "../http/errors.ts"
import type { Input } from "../api/implement.ts"
import { entriesOf, type Fault, isFault, isObject, type Parameters } from "./search-body.ts"
import { GatewaySettings } from "./settings.ts"

export interface InIndex {
  readonly collectionName: string
}
export const refused = ({ message, path }: Fault) => inputInvalid(path, message)

/** The index exists, so anything else the engine does not find is a mistake in the request; its message names it. */
export const asInvalid = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | EngineRefusal> =>
  Effect.mapError(effect, (error) =>
    error instanceof EngineRefusal && error.status === 404
      ? new EngineRefusal({ message: error.message, status: 400 })
      : error
  )

/** A merged list has one result; like the tenant API, the engine package reports its failure in a 200. */
export const mergedOutcome = (answer: SearchAnswer): Effect.Effect<SearchAnswer, EngineRefusal> => {
  const [failure] = answer.failures
  return failure === undefined
    ? Effect.succeed(answer)
    : Effect.fail(new EngineRefusal({ message: failure.message, status: statusOf(failure) }))
}

export const bodyOf = (input: Input<unknown, unknown>) =>
  Effect.flatMap(input.payload, (body) =>
    isObject(body) ? Effect.succeed(body) : Effect.fail(inputInvalid("body", "An object"))
  )
export const checked = <A extends object>(value: A | Fault): Effect.Effect<A, InputInvalid> =>
  isFault(value) ? Effect.fail(refused(value)) : Effect.succeed(value)

/** For an index that the organization lacks, or that the key may not access: refused rather than missing. */
export const mismatch = new CollectionNotAllowed({
  message: "This key's organization has no such index, or the key does not reach it."
})
export const makeIndexOf = Effect.map(
  makeContexts,
  (contextOf) =>
    (caller: Caller, name: string): Effect.Effect<CollectionInfo, CollectionNotAllowed> =>
      Effect.suspend(() => {
        const context = contextOf(caller.organizationId)
        const collection = reachesNamed(context, caller, name) ? resolveCollection(context, name) : undefined
        return collection === undefined ? Effect.fail(mismatch) : Effect.succeed(collection)
      })
)

export const makeAsking = Effect.gen(function* () {
  const { searchTimeMax_ms } = yield* GatewaySettings
  const { countryHeader } = yield* Installation
  const search = yield* Search
  const indexOf = yield* makeIndexOf
  const requestOf = (input: Input<unknown, unknown>, shared: Parameters): SearchRequest => ({
    ...searchRequestOf(input, countryHeader),
    shared,
    queryText: "",
    timeLimit_ms: searchTimeMax_ms
  })

  const inIndex = (
    parametersIn: (
      body: Readonly<Record<string, unknown>>,
      collection: CollectionInfo,
      caller: Caller
    ) => { readonly values: Parameters; readonly field?: string } | Fault
  ) =>
    Effect.fnUntraced(function* (input: Input<unknown, unknown, InIndex>) {
      const { caller, params } = input
      const collection = yield* indexOf(caller, params.collectionName)
      const { field, values } = yield* checked(parametersIn(yield* bodyOf(input), collection, caller))
      const request = requestOf(input, values)
      const asked = field === undefined ? request : { ...request, distanceField: field }
      return replyOf(yield* asInvalid(search.searchCollection(asked, params.collectionName)))
    })
  const several = Effect.fnUntraced(function* (
    input: Input<unknown, unknown>,
    body: Readonly<Record<string, unknown>>,
    shared: Parameters,
    more: object
  ) {
    const { entries, indexes } = yield* checked(entriesOf(body))
    yield* Effect.forEach(indexes, (index) => indexOf(input.caller, index), { discard: true })
    return yield* search.multiSearch(
      requestOf(input, shared),
      new ParsedBody({ ok: true, value: { searches: entries, ...more } })
    )
  })
  return { inIndex, several }
})
