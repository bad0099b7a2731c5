/** Handlers of quality suites: the suite is looked up before the body is read. */
import { resolveCollection } from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import { parseDateRange } from "../analytics/date-range.ts"
import type { Caller } from "../identity/caller.ts"
import { collectionClosed, reachesCollection, reachesEverything } from "../identity/reach.ts"
import { restrictionsOf } from "../identity/restrictions.ts"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { likeOf } from "../engine-plane/like-pattern.ts"
import { type CollectionNotAllowed, type InputInvalid, inputInvalid, NotFound } from "../http/errors.ts"
import { byId, pageOf } from "../http/page.ts"
import { invalidFields, refused } from "../http/checks.ts"
import { implement } from "../api/implement.ts"
import { Search } from "../search/search.ts"
import * as contract from "./contract.ts"
import { textsOf } from "./run-suite.ts"
import type { QualitySuite } from "./schema.ts"
import { type Params, paramsIssues, suiteFieldsOf } from "./suite-input.ts"
import { type FullSuite, QualitySuites } from "./suites.ts"
import type { StoredSuite } from "./suites-repository.ts"

const summary = ({ organization_id: _, ...suite }: StoredSuite) => suite
const shown = ({ judgments, suite }: FullSuite): typeof QualitySuite.Type => ({
  ...summary(suite),
  judgments: judgments.map(([q, document_id, grade]) => ({ q, document_id, grade }))
})
/** A suite beyond the key's reach is treated as missing. */
const foundIn = (suites: QualitySuites["Service"]) => (caller: Caller, id: string) =>
  Effect.flatMap(suites.get(caller.organizationId, id), (suite) =>
    reachesCollection(caller, suite.collection)
      ? Effect.succeed(suite)
      : Effect.fail(new NotFound({ message: `Quality suite ${id} does not exist.` }))
  )
const PROFILE = /^[a-z0-9][a-z0-9_-]{0,63}$/

/** Checks of a body that need the collection. */
const makeChecks = Effect.gen(function* () {
  const search = yield* Search
  const contextOf = yield* makeContexts
  /** Whether the caller could run such searches; an unavailable engine only affects the run. */
  const searchable = (
    caller: Caller,
    collection: string,
    params: Params
  ): Effect.Effect<void, InputInvalid | CollectionNotAllowed> =>
    Effect.flatMap(
      Effect.promise((signal) =>
        search.rankable({
          organizationId: caller.organizationId,
          collection,
          parameters: { ...textsOf(params), q: "*" },
          depth: 1,
          signal,
          restrictions: restrictionsOf(caller)
        })
      ),
      (result): Effect.Effect<void, InputInvalid | CollectionNotAllowed> => {
        if (result.ok || "_tag" in result.error) return Effect.void
        const { kind, message } = result.error
        if (kind === "Closed" || kind === "RestrictionNotApplicable") return Effect.fail(collectionClosed())
        if (kind !== "Invalid" && kind !== "NotFound") return Effect.void
        const parameter = kind === "Invalid" ? result.error.parameter : undefined
        return Effect.fail(inputInvalid(parameter === undefined ? "params" : `params.${parameter}`, message))
      }
    )
  /** A missing profile is a 404; everything else that is wrong with it is reported by the run. */
  const profiled = (caller: Caller, collection: string, profile: string): Effect.Effect<void, NotFound> =>
    Effect.flatMap(
      Effect.promise((signal) =>
        search.rankable({
          organizationId: caller.organizationId,
          collection,
          parameters: { profile, q: "*" },
          depth: 1,
          signal
        })
      ),
      (result) =>
        !result.ok && !("_tag" in result.error) && result.error.kind === "NotFound"
          ? Effect.fail(new NotFound({ message: result.error.message }))
          : Effect.void
    )
  const fieldsOf = Effect.fnUntraced(function* (caller: Caller, body: unknown) {
    const fields = suiteFieldsOf(body)
    if ("_tag" in fields) return yield* fields
    if (!reachesCollection(caller, fields.collection)) return yield* collectionClosed()
    if (resolveCollection(contextOf(caller.organizationId), fields.collection) === undefined)
      return yield* inputInvalid("collection", "Collection not found")
    yield* searchable(caller, fields.collection, fields.params)
    return fields
  })
  return { fieldsOf, profiled, searchable }
})

const suiteRoutes = Effect.gen(function* () {
  const suites = yield* QualitySuites
  const found = foundIn(suites)
  const { fieldsOf } = yield* makeChecks
  return [
    implement(
      contract.listQualitySuites,
      Effect.fnUntraced(function* ({ caller, query }) {
        const { cursor, limit } = yield* query
        const data = yield* suites.list(caller.organizationId, {
          cursor,
          limit: limit + 1,
          collections: reachesEverything(caller) ? undefined : caller.key.collections.map(likeOf)
        })
        return pageOf(data.map(summary), limit, byId)
      })
    ),
    implement(
      contract.createQualitySuite,
      Effect.fnUntraced(function* ({ caller, payload }) {
        return shown(yield* suites.create(caller.organizationId, yield* fieldsOf(caller, yield* payload)))
      })
    ),
    implement(
      contract.getQualitySuite,
      Effect.fnUntraced(function* ({ caller, params }) {
        const suite = yield* found(caller, params.suiteId)
        return shown({ suite, judgments: yield* suites.judgments(caller.organizationId, suite.id) })
      })
    ),
    implement(
      contract.replaceQualitySuite,
      Effect.fnUntraced(function* ({ caller, params, payload }) {
        const { id } = yield* found(caller, params.suiteId)
        return shown(yield* suites.replace(caller.organizationId, id, yield* fieldsOf(caller, yield* payload)))
      })
    ),
    implement(contract.deleteQualitySuite, ({ caller, params }) =>
      Effect.flatMap(found(caller, params.suiteId), ({ id }) => suites.remove(caller.organizationId, id))
    )
  ]
})
/** The jobs that measure with a suite. */
const measuring = Effect.gen(function* () {
  const suites = yield* QualitySuites
  const found = foundIn(suites)
  const { profiled, searchable } = yield* makeChecks
  return [
    implement(
      contract.runQualitySuite,
      Effect.fnUntraced(function* ({ bytes, caller, params, payload }) {
        const { collection, id } = yield* found(caller, params.suiteId)
        // Runs are usually requested without a body.
        const { params: other, profile } = (yield* bytes).length === 0 ? {} : yield* payload
        yield* refused([
          ...(other === undefined ? [] : paramsIssues(other)),
          ...(profile === undefined || PROFILE.test(profile)
            ? []
            : [{ path: "profile", message: "The name of a profile" }])
        ])
        if (other !== undefined) yield* searchable(caller, collection, other as Params)
        if (profile !== undefined) yield* profiled(caller, collection, profile)
        return yield* suites.run(caller.organizationId, id, {
          ...(other === undefined ? {} : { params: other as Params }),
          ...(profile === undefined ? {} : { profile })
        })
      })
    ),
    implement(
      contract.judgeFromClicks,
      Effect.fnUntraced(function* ({ caller, params, payload }) {
        const { id } = yield* found(caller, params.suiteId)
        const { from, to } = yield* payload
        const parsed = parseDateRange(from, to)
        if (!parsed.ok) return yield* invalidFields(parsed.issues)
        return yield* suites.judgeFromClicks(caller.organizationId, id, parsed.range)
      })
    ),
    implement(
      contract.weighMeaning,
      Effect.fnUntraced(function* ({ caller, params, payload }) {
        const { collection, id } = yield* found(caller, params.suiteId)
        const { profile } = yield* payload
        yield* profiled(caller, collection, profile)
        return yield* suites.weighMeaning(caller.organizationId, id, profile)
      })
    ),
    implement(
      contract.listQualityRuns,
      Effect.fnUntraced(function* ({ caller, params, query }) {
        const { id } = yield* found(caller, params.suiteId)
        const { cursor, limit } = yield* query
        return pageOf(yield* suites.runs(caller.organizationId, id, { cursor, limit: limit + 1 }), limit, byId)
      })
    )
  ]
})

export const routes = Effect.map(Effect.all([suiteRoutes, measuring]), (all) => all.flat())
