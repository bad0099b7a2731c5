/**
 * Handlers of the search gateway: each reads its body and calls the same use case as the tenant API. Specific to the
 * gateway: indexes that the organization lacks are refused rather than missing, searches end after ten seconds, and
 * requests are refused when this process cannot keep up.
 */
import { mayName, seenFieldsOf } from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import { deletable, writable } from "../engine-plane/reached.ts"
import { Quota } from "../metering/quota.ts"
import { replyOf } from "../search/routes.ts"
import { restrictionsOf } from "../identity/restrictions.ts"
import { withinTime } from "../engine-plane/time-limit.ts"
import { TYPED_CHARACTERS_MAX } from "../suggestions/schema.ts"
import { Suggestions } from "../suggestions/service.ts"
import { EngineOverloaded, inputInvalid } from "../http/errors.ts"
import { implement, type Implemented } from "../api/implement.ts"
import { makeCapabilities } from "./capabilities.ts"
import * as contract from "./contract.ts"
import { deletesOf, putsOf } from "./documents.ts"

import { makeScopedTokens } from "./scoped-tokens.ts"
import { geoSearchOf, parametersOf } from "./search-body.ts"
import { GatewaySettings } from "./settings.ts"
import { makeShedding } from "./shedding.ts"

import { asInvalid, bodyOf, checked, makeAsking, makeIndexOf, mergedOutcome } from "./asking.ts"
import { makeWriting } from "./writing.ts"

const RETRY_AFTER_S = 10

/** Checked before anything else in a request. */
const unlessShedding =
  (isShedding: () => boolean) =>
  ({ handler, operation }: Implemented): Implemented => ({
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

export const routes = Effect.gen(function* () {
  const { searchTimeMax_ms, ...settings } = yield* GatewaySettings
  const isShedding = settings.isShedding ?? (yield* makeShedding).isShedding
  const capabilities = yield* makeCapabilities
  const { inIndex, several } = yield* makeAsking
  const writing = yield* makeWriting
  const indexOf = yield* makeIndexOf
  const suggestions = yield* Suggestions
  const quota = yield* Quota
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
  return [
    implement(contract.getCapabilities, () => Effect.sync(capabilities)),
    ...keyed.map(unlessShedding(isShedding))
  ]
})
