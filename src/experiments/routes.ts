/** Handlers of experiments: the experiment is looked up before the body is read. */
import { Clock, Effect } from "effect"
import { implement } from "../api/implement.ts"
import { likeOf } from "../engine-plane/like-pattern.ts"
import { Conflict, NotFound } from "../http/errors.ts"
import { invalidFields } from "../http/checks.ts"
import { byId, pageOf } from "../http/page.ts"
import type { Caller } from "../identity/caller.ts"
import { reachesCollection, reachesEverything } from "../identity/reach.ts"
import { makeChecks, presetReached } from "./checks.ts"
import * as contract from "./contract.ts"
import { definitionOf } from "./definition.ts"
import { Experiments } from "./experiments.ts"
import type { StoredExperiment } from "./experiments-repository.ts"
import { resultsOf } from "./results.ts"
import { makeRunsRepository } from "./runs-repository.ts"
import type { Experiment } from "./schema.ts"

const shown = ({ definition, promotion, winner_variant_id, ...row }: StoredExperiment): typeof Experiment.Type => ({
  id: row.id,
  mode: "split",
  ...definition,
  status: row.status,
  run: row.run,
  started_at: row.started_at,
  stopped_at: row.stopped_at,
  ...(promotion === null || promotion.is_pending ? {} : { promoted_variant_id: promotion.variant_id }),
  ...(winner_variant_id === null ? {} : { winner_variant_id }),
  created_at: row.created_at,
  updated_at: row.updated_at
})

const makeFound = Effect.map(Experiments, (experiments) => ({
  experiments,
  /** To a key, an experiment on a collection that it may not access does not exist. */
  found: ({ caller, params }: { readonly caller: Caller; readonly params: { readonly experimentId: string } }) =>
    Effect.flatMap(experiments.get(caller.organizationId, params.experimentId), (one) =>
      reachesCollection(caller, one.definition.collection)
        ? Effect.succeed(one)
        : Effect.fail(new NotFound({ message: `Experiment ${params.experimentId} does not exist.` }))
    )
}))

const makeResults = Effect.gen(function* () {
  const { found } = yield* makeFound
  const runs = yield* makeRunsRepository
  return implement(
    contract.getExperimentResults,
    Effect.fnUntraced(function* (input) {
      const { id, organization_id, run } = yield* found(input)
      const key = { organization_id, experiment_id: id, run }
      const stored = yield* Effect.orDie(runs.get(key))
      if (stored === undefined) return yield* new Conflict({ message: `The experiment ${id} was never started.` })
      const counted = yield* Effect.orDie(
        Effect.all({
          sums: runs.sums(key),
          exposures: runs.exposures(key),
          latencies: runs.latencies(key),
          splits: runs.splits(key),
          droppedDays: runs.droppedDays(organization_id)
        })
      )
      return resultsOf(stored, counted, yield* Clock.currentTimeMillis)
    })
  )
})

export const routes = Effect.gen(function* () {
  const { experiments, found } = yield* makeFound
  const checked = yield* makeChecks
  const definition = Effect.fnUntraced(function* (caller: Caller, body: unknown) {
    const read = definitionOf(body)
    return "issues" in read ? yield* invalidFields(read.issues) : yield* checked(caller, read.definition)
  })
  return [
    implement(
      contract.listExperiments,
      Effect.fnUntraced(function* ({ caller, query }) {
        const { cursor, limit } = yield* query
        const rows = yield* experiments.list(caller.organizationId, {
          cursor,
          limit: limit + 1,
          collections: reachesEverything(caller) ? undefined : caller.key.collections.map(likeOf)
        })
        return pageOf(rows.map(shown), limit, byId)
      })
    ),
    implement(
      contract.createExperiment,
      Effect.fnUntraced(function* ({ caller, payload }) {
        return shown(yield* experiments.create(caller.organizationId, yield* definition(caller, yield* payload)))
      })
    ),
    implement(contract.getExperiment, (input) => Effect.map(found(input), shown)),
    implement(
      contract.updateExperiment,
      Effect.fnUntraced(function* (input) {
        const { id } = yield* found(input)
        const { caller, payload } = input
        return shown(yield* experiments.replace(caller.organizationId, id, yield* definition(caller, yield* payload)))
      })
    ),
    implement(contract.deleteExperiment, (input) =>
      Effect.flatMap(found(input), ({ id }) => experiments.remove(input.caller.organizationId, id))
    ),
    implement(contract.startExperiment, (input) =>
      Effect.map(
        Effect.flatMap(found(input), ({ id }) => experiments.start(input.caller.organizationId, id)),
        shown
      )
    ),
    implement(contract.stopExperiment, (input) =>
      Effect.map(
        Effect.flatMap(found(input), ({ id }) => experiments.stop(input.caller.organizationId, id)),
        shown
      )
    ),
    implement(
      contract.promoteExperiment,
      Effect.fnUntraced(function* (input) {
        const { definition: own, id } = yield* found(input)
        yield* presetReached(input.caller, own)
        const { variant_id } = yield* input.payload
        return shown(yield* experiments.promote(input.caller.organizationId, id, variant_id))
      })
    ),
    implement(
      contract.rollbackExperimentPromotion,
      Effect.fnUntraced(function* (input) {
        const { id, promotion } = yield* found(input)
        const place = promotion?.place
        if (place?.kind === "preset") yield* presetReached(input.caller, { target: { preset: place.name } })
        return shown(yield* experiments.rollBack(input.caller.organizationId, id))
      })
    ),
    yield* makeResults
  ]
})
