/**
 * Handlers of the search gateway: each takes its body apart and calls the use case that the tenant API calls. What is
 * the gateway's own is here: indexes that the organization lacks are refused, not missing; searches end after ten
 * seconds; and when this process cannot keep up, requests are turned away.
 */
import { type CollectionInfo, statusOf } from "@dowser/engine-sdk"
import { mayName, ParsedBody, resolveCollection, seenFieldsOf } from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import type { Caller } from "../identity/caller.ts"
import type { EngineFailure } from "../engine-plane/engine-errors.ts"
import { failureOf, makeContexts } from "../engine-plane/engine-plane.ts"
import { deletable, reachesNamed, writable } from "../engine-plane/reached.ts"
import { version } from "../config.ts"
import { Quota } from "../metering/quota.ts"
import { Engine } from "../ports/engine/engine.ts"
import { Installation } from "../installation.ts"
import type { SearchAnswer, SearchRequest } from "../search/request.ts"
import { replyOf, searchRequestOf } from "../search/routes.ts"
import { Search } from "../search/search.ts"
import { restrictionsOf } from "../identity/restrictions.ts"
import { withinTime } from "../engine-plane/time-limit.ts"
import { LIMIT_MAX, TYPED_CHARACTERS_MAX } from "../suggestions/schema.ts"
import { Suggestions } from "../suggestions/service.ts"
import { textOf } from "../http/body.ts"
import {
  CollectionNotAllowed,
  EngineOverloaded,
  EngineRefusal,
  type InputInvalid,
  inputInvalid
} from "../http/errors.ts"
import type { CommonRefusal } from "../http/refusals.ts"
import { bodyBytesMaxDefault } from "../http/operation.ts"
import { type Handler, implement, type Implemented, type Input } from "../api/implement.ts"
import * as contract from "./contract.ts"
import { deletesOf, type DocumentVerdicts, isWrites, putsOf, verdictsOf, type Writes } from "./documents.ts"
import { DOCUMENTS_MAX, EXPIRES_IN_MAX_S, SEARCHES_MAX } from "./limits.ts"
import { makeScopedTokens } from "./scoped-tokens.ts"
import { entriesOf, type Fault, geoSearchOf, isFault, isObject, type Parameters, parametersOf } from "./search-body.ts"
import { GatewaySettings } from "./settings.ts"
import { makeShedding } from "./shedding.ts"

const RETRY_AFTER_S = 10
interface InIndex {
  readonly collectionName: string
}
const refused = ({ message, path }: Fault) => inputInvalid(path, message)

/** The index is there: what the engine does not find is named in the request, and is told in the engine's words. */
const asInvalid = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | EngineRefusal> =>
  Effect.mapError(effect, (error) =>
    error instanceof EngineRefusal && error.status === 404
      ? new EngineRefusal({ message: error.message, status: 400 })
      : error
  )

/** A merged list has one outcome; the engine package tells its failure in a 200, as the tenant API does. */
const mergedOutcome = (answer: SearchAnswer): Effect.Effect<SearchAnswer, EngineRefusal> => {
  const [failure] = answer.failures
  return failure === undefined
    ? Effect.succeed(answer)
    : Effect.fail(new EngineRefusal({ message: failure.message, status: statusOf(failure) }))
}

export const routes = Effect.gen(function* () {
  const { searchTimeMax_ms, ...settings } = yield* GatewaySettings
  const isShedding = settings.isShedding ?? (yield* makeShedding).isShedding
  const contextOf = yield* makeContexts
  const { countryHeader } = yield* Installation
  const engine = yield* Engine
  const search = yield* Search
  const suggestions = yield* Suggestions
  const quota = yield* Quota

  const mismatch = new CollectionNotAllowed({
    message: "This key's organization has no such index, or the key does not reach it."
  })
  const indexOf = (caller: Caller, name: string): Effect.Effect<CollectionInfo, CollectionNotAllowed> =>
    Effect.suspend(() => {
      const context = contextOf(caller.organizationId)
      const collection = reachesNamed(context, caller, name) ? resolveCollection(context, name) : undefined
      return collection === undefined ? Effect.fail(mismatch) : Effect.succeed(collection)
    })
  /** Before anything else of a request is looked at. */
  const taken = ({ handler, operation }: Implemented): Implemented => ({
    operation,
    handler: (input) =>
      Effect.suspend(() =>
        isShedding()
          ? Effect.fail(
              new EngineOverloaded({
                message: "More requests are waiting than can be answered in time.",
                retry_after_s: RETRY_AFTER_S
              })
            )
          : handler(input)
      )
  })
  const bodyOf = (input: Input<unknown, unknown>) =>
    Effect.flatMap(input.payload, (body) =>
      isObject(body) ? Effect.succeed(body) : Effect.fail(inputInvalid("body", "An object"))
    )
  const checked = <A extends object>(value: A | Fault): Effect.Effect<A, InputInvalid> =>
    isFault(value) ? Effect.fail(refused(value)) : Effect.succeed(value)
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
  const writing = (
    writesOf: (text: string) => Writes,
    mayWrite: typeof writable
  ): Handler<
    unknown,
    unknown,
    DocumentVerdicts,
    InIndex,
    CommonRefusal<"connector_write"> | EngineFailure,
    "connector_write"
  > =>
    Effect.fnUntraced(function* ({ bytes, caller, params }) {
      const collection = yield* indexOf(caller, params.collectionName)
      yield* mayWrite(contextOf(caller.organizationId), caller, params.collectionName)
      const writes = writesOf(textOf(yield* bytes))
      if (!isWrites(writes)) return yield* refused(writes)
      const written = yield* Effect.promise(() =>
        engine.write(caller.organizationId, collection.schema.name, writes, {
          keeps: contextOf(caller.organizationId).keeps
        })
      )
      if (written.ok) return verdictsOf(writes, written.value)
      // Dropped since it was looked up: told as a moment later.
      return yield* Effect.fail(statusOf(written.error) === 404 ? mismatch : failureOf(written.error))
    })

  const capabilities = () => ({
    version,
    operations: contract.gatewayOperations.map(
      ({ method, path }) => `${method} ${path.replace(":collectionName", "{index}")}`
    ),
    engine: engine.capabilities().grades,
    limits: {
      search_time_ms: searchTimeMax_ms,
      searches_per_request: SEARCHES_MAX,
      documents_per_request: DOCUMENTS_MAX,
      body_bytes: bodyBytesMaxDefault,
      suggestions: LIMIT_MAX,
      scoped_token_seconds: EXPIRES_IN_MAX_S
    }
  })

  const keyed = [
    implement(
      contract.gatewaySearch,
      inIndex((body) => parametersOf(body))
    ),
    implement(
      contract.gatewaySuggest,
      Effect.fnUntraced(function* (input) {
        const { caller, params } = input
        const collection = yield* indexOf(caller, params.collectionName)
        const { limit, q } = yield* input.query
        return {
          data: yield* quota.counted(
            caller.organizationId,
            withinTime(
              searchTimeMax_ms,
              suggestions.suggest(caller, collection, (q ?? "").slice(0, TYPED_CHARACTERS_MAX), limit)
            )
          )
        }
      })
    ),
    implement(
      contract.gatewayMultiSearch,
      Effect.fnUntraced(function* (input) {
        const body = yield* bodyOf(input)
        const unknown = Object.keys(body).find((name) => name !== "searches")
        if (unknown !== undefined) return yield* inputInvalid(unknown, "Not a field of this body")
        return replyOf(yield* several(input, body, {}, {}))
      })
    ),
    implement(
      contract.gatewayFederatedSearch,
      Effect.fnUntraced(function* (input) {
        const { remove_duplicates, searches, ...paging } = yield* bodyOf(input)
        const unknown = Object.keys(paging).find(
          (name) => !["page", "per_page", "offset", "limit", "limit_hits"].includes(name)
        )
        if (unknown !== undefined) return yield* inputInvalid(unknown, "Not a field of this body")
        if (remove_duplicates !== undefined && typeof remove_duplicates !== "boolean")
          return yield* inputInvalid("remove_duplicates", "true or false")
        const { values } = yield* checked(parametersOf(paging))
        const merged = several(input, { searches }, values, {
          union: true,
          remove_duplicates: remove_duplicates ?? true
        })
        return replyOf(yield* asInvalid(Effect.flatMap(merged, mergedOutcome)))
      })
    ),
    implement(
      contract.gatewayGeoSearch,
      inIndex((body, collection, caller) => {
        const seen = seenFieldsOf(restrictionsOf(caller), (name) => name)
        return geoSearchOf(body, collection, (name) => mayName(seen, name))
      })
    ),
    implement(contract.gatewayPutDocuments, writing(putsOf, writable)),
    implement(contract.gatewayDeleteDocuments, writing(deletesOf, deletable)),
    implement(contract.createScopedToken, yield* makeScopedTokens(indexOf))
  ]
  return [implement(contract.getCapabilities, () => Effect.sync(capabilities)), ...keyed.map(taken)]
})
