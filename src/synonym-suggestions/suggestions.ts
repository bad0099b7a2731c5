/**
 * Suggestions of synonyms: rows in Postgres, created by a job in the process that has the engine, and their owner's
 * decisions.
 */
import type { CollectionInfo } from "@dowser/engine-sdk"
import type { SynonymSet } from "@dowser/engine-sdk/query"
import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Analytics } from "../analytics/service.ts"
import { makeAuditRecorder } from "../audit/record.ts"
import { collectionNames } from "../clicks/collection-names.ts"
import { CollectionDrops } from "../engine-plane/collection-drops.ts"
import { answering, makeContexts } from "../engine-plane/engine-plane.ts"
import type { EngineWriteFailure } from "../engine-plane/engine-errors.ts"
import { Conflict, NotFound } from "../http/errors.ts"
import type { Caller } from "../identity/caller.ts"
import { CurrentOrigin } from "../identity/origin.ts"
import { makeJobWorker } from "../jobs/job-worker.ts"
import { makePaidJobStarter, type PaidJobError } from "../jobs/paid-jobs.ts"
import type { Job } from "../jobs/schema.ts"
import { OwnsEngine } from "../ports/engine/engine.ts"
import { makeFind, SUGGESTING } from "./find.ts"
import { makeSuggestionsRepository, type StoredSuggestion } from "./suggestions-repository.ts"

interface Range {
  readonly from: number
  readonly before: number
}
interface SynonymSuggestionsShape {
  readonly start: (caller: Caller, collection: CollectionInfo, range: Range) => Effect.Effect<Job, PaidJobError>
  /** Best first. */
  readonly list: (organizationId: string, collection: string) => Effect.Effect<ReadonlyArray<StoredSuggestion>>
  readonly get: (organizationId: string, collection: string, id: string) => Effect.Effect<StoredSuggestion, NotFound>
  readonly accept: (
    organizationId: string,
    collection: string,
    suggestion: StoredSuggestion,
    set: string
  ) => Effect.Effect<StoredSuggestion, Conflict | EngineWriteFailure>
  readonly reject: (
    organizationId: string,
    collection: string,
    suggestion: StoredSuggestion
  ) => Effect.Effect<StoredSuggestion, Conflict>
}

const decided = ({ id }: StoredSuggestion) =>
  new Conflict({ message: `Suggestion ${id} was accepted or rejected before.` })
const orDie = <A, E, R>(effect: Effect.Effect<A, E | SqlError.SqlError, R>) =>
  Effect.catchTag(effect as Effect.Effect<A, SqlError.SqlError, R>, "SqlError", Effect.die) as Effect.Effect<
    A,
    Exclude<E, SqlError.SqlError>,
    R
  >

/** A set with the suggestion as its item: a search for the term finds what its synonyms find. */
const withItem = (name: string, set: SynonymSet | undefined, { id, synonyms, term }: StoredSuggestion): SynonymSet => ({
  ...(set ?? { name }),
  items: [...(set?.items ?? []).filter((item) => item.id !== id), { id, root: term, synonyms }].sort((a, b) =>
    a.id < b.id ? -1 : 1
  )
})

const makeDecisions = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder
  const repository = yield* makeSuggestionsRepository
  const contextOf = yield* makeContexts
  const decide = (
    organizationId: string,
    collection: string,
    suggestion: StoredSuggestion,
    status: "accepted" | "rejected",
    set: string | null
  ) =>
    orDie(
      sql.withTransaction(
        Effect.flatMap(
          audit.recorded(
            { kind: "synonym_suggestion", organizationId, id: `${collection}/${suggestion.id}` },
            repository.decide(organizationId, collection, suggestion.id, status, set)
          ),
          (row) => (row === undefined ? Effect.fail(decided(suggestion)) : Effect.succeed(row))
        )
      )
    )
  /** The set is written in a transaction of its own: if that fails, the suggestion becomes new again. */
  const accept = Effect.fnUntraced(function* (
    organizationId: string,
    collection: string,
    suggestion: StoredSuggestion,
    set: string
  ) {
    const origin = yield* CurrentOrigin
    const { resources } = contextOf(organizationId, origin)
    const isThere = () =>
      resources.get(organizationId, "synonym_set", set)?.items.some(({ id }) => id === suggestion.id) === true
    // If the process died between the two transactions, the decision is stored but its set is not.
    const isHalf = suggestion.status === "accepted" && suggestion.synonym_set === set && !isThere()
    const row = isHalf ? suggestion : yield* decide(organizationId, collection, suggestion, "accepted", set)
    const write = answering(async () => {
      await resources.change(organizationId, "synonym_set", set, (known) => withItem(set, known, suggestion))
      return { ok: true, value: { status: 200, body: {} } } as const
    })
    yield* Effect.onError(write, () => Effect.ignore(repository.undecide(organizationId, collection, suggestion.id)))
    return row
  })
  return {
    accept,
    reject: (organizationId: string, collection: string, suggestion: StoredSuggestion) =>
      decide(organizationId, collection, suggestion, "rejected", null)
  }
})

const makeStart = Effect.gen(function* () {
  const analytics = yield* Analytics
  const contextOf = yield* makeContexts
  const paid = yield* makePaidJobStarter
  const wake = (yield* OwnsEngine)
    ? (yield* makeJobWorker({ type: SUGGESTING, run: yield* makeFind, atWorkMax: 1 })).wake
    : Effect.void
  return Effect.fn("SynonymSuggestions.start")(function* (
    caller: Caller,
    { created_at, schema }: CollectionInfo,
    range: Range
  ) {
    const { organizationId } = caller
    let queries = 0
    for (const collection of collectionNames(contextOf(organizationId), schema.name)) {
      const page = { organizationId, collection, range, segment: undefined, limit: 1, offset: 0 }
      queries += (yield* analytics.getQueryMetrics(page)).total
    }
    const config = { collection: schema.name, created_at, from_at: range.from, before_at: range.before }
    const job = yield* paid(caller, SUGGESTING, "synonym_suggestions", Math.max(1, queries), config)
    yield* wake
    return job
  })
})

export class SynonymSuggestions extends Context.Service<SynonymSuggestions, SynonymSuggestionsShape>()(
  "dowser/synonym-suggestions/SynonymSuggestions"
) {
  static readonly layer = Layer.effect(
    SynonymSuggestions,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const repository = yield* makeSuggestionsRepository
      const drops = yield* CollectionDrops
      const decisions = yield* makeDecisions
      yield* drops.register((organizationId, collection) =>
        Effect.orDie(
          sql.withTransaction(
            Effect.andThen(repository.lock(organizationId, collection), repository.remove(organizationId, collection))
          )
        )
      )
      return SynonymSuggestions.of({
        ...decisions,
        start: yield* makeStart,
        list: (organizationId, collection) => Effect.orDie(repository.list(organizationId, collection)),
        get: (organizationId, collection, id) =>
          Effect.flatMap(Effect.orDie(repository.get(organizationId, collection, id)), (row) =>
            row === undefined
              ? Effect.fail(new NotFound({ message: `Suggestion ${id} does not exist.` }))
              : Effect.succeed(row)
          )
      })
    })
  )
}
