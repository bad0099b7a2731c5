/**
 * Experiments of all organizations: rows in Postgres, with the running ones also in memory (`Configuration`), so that
 * searches need no look-up and the next one in every process sees each start or stop.
 *
 * Decision: an experiment belongs to a collection, not to one of its names: an alias leads to the experiments of its
 * target, and dropping a collection drops its experiments.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import type { Identifiers } from "@dowser/log/identifiers"
import type { Outbox } from "@dowser/log/outbox"
import { Configuration } from "../configuration/configuration.ts"
import { CollectionDrops } from "../engine-plane/collection-drops.ts"
import type { CatalogResources } from "../engine-plane/resources.ts"
import {
  type ConfigurationUnavailable,
  type Conflict,
  inputInvalid,
  type InputInvalid,
  type NotFound
} from "../http/errors.ts"
import type { Entitlements } from "../metering/entitlements.ts"
import type { FeatureNotInPlan } from "../metering/errors.ts"
import { bytesOf, LIST_BYTES_MAX } from "../metering/named-resources.ts"
import type { SearchPolicies } from "../policies/search-policies.ts"
import type { Engine } from "../ports/engine/engine.ts"
import type { RecommendationModels } from "../recommendation-models/models.ts"
import type { RowReaders } from "../identity/row-readers.ts"
import type { SearchProfiles } from "../profiles/search-profiles.ts"
import type { SearchRules } from "../rules/search-rules.ts"
import { type Definition, placeOf } from "./definition.ts"
import { makeExperimentsRepository, type StoredExperiment } from "./experiments-repository.ts"
import { type ExperimentParts, makeParts, present, refuse } from "./parts.ts"
import { makePromotions, type Promotions } from "./promotion.ts"
import { ExperimentTable } from "./running-experiments.ts"

type Written<E> = Effect.Effect<StoredExperiment, E | NotFound | ConfigurationUnavailable>
interface ExperimentsShape extends Promotions {
  /** The running experiments, in the form that searches need. */ readonly running: ExperimentTable
  /** `collections` are LIKE patterns; all if absent. */
  readonly list: (
    organizationId: string,
    page: {
      readonly cursor: string | undefined
      readonly limit: number
      readonly collections: ReadonlyArray<string> | undefined
    }
  ) => Effect.Effect<ReadonlyArray<StoredExperiment>>
  readonly get: (organizationId: string, id: string) => Effect.Effect<StoredExperiment, NotFound>
  readonly create: (
    organizationId: string,
    definition: Definition
  ) => Effect.Effect<StoredExperiment, FeatureNotInPlan | InputInvalid | ConfigurationUnavailable>
  readonly replace: (
    organizationId: string,
    id: string,
    definition: Definition
  ) => Written<Conflict | FeatureNotInPlan | InputInvalid>
  readonly remove: (
    organizationId: string,
    id: string
  ) => Effect.Effect<{ readonly id: string }, Conflict | NotFound | ConfigurationUnavailable>
  readonly start: (organizationId: string, id: string) => Written<Conflict | FeatureNotInPlan>
  readonly stop: (organizationId: string, id: string) => Written<Conflict>
}

const sized = (definition: Definition): Effect.Effect<void, InputInvalid> =>
  bytesOf(definition) > LIST_BYTES_MAX
    ? Effect.fail(inputInvalid("body", `An experiment may have at most ${LIST_BYTES_MAX} bytes`))
    : Effect.void

/** Creates drafts, and changes or removes experiments that are not running. */
const makeDefinitions = ({ changed, identifiers, locked, models, named, repository }: ExperimentParts) => {
  /** Requires the models that rules name to exist. Runs in the transaction that stores the definition. */
  const holdModels = Effect.fnUntraced(function* (organizationId: string, { variants }: Definition) {
    for (const [i, { rules }] of variants.entries()) {
      if (rules?.["zero_hits_fallback"] !== "recommendations") continue
      if (!(yield* models.hold(organizationId, String(rules["fallback_model_id"]))))
        return yield* inputInvalid(`variants[${i}].rules.fallback_model_id`, "there is no such recommendation model")
    }
  })
  const create: ExperimentsShape["create"] = Effect.fn("Experiments.create")(function* (organizationId, definition) {
    yield* sized(definition)
    const id = yield* identifiers.make("exp")
    const now = yield* Clock.currentTimeMillis
    const draft: StoredExperiment = {
      organization_id: organizationId,
      id,
      definition,
      status: "draft",
      run: 0,
      started_at: null,
      stopped_at: null,
      winner_variant_id: null,
      promotion: null,
      created_at: now,
      updated_at: now
    }
    const stored = Effect.andThen(holdModels(organizationId, definition), Effect.as(repository.put(draft), draft))
    return yield* changed(organizationId, id, named.within(organizationId, stored))
  })
  const replaced = Effect.fnUntraced(function* (organizationId: string, id: string, definition: Definition) {
    const before = yield* locked(organizationId, id)
    if (before.status === "running") return yield* refuse(`The experiment ${id} runs: stop it first.`)
    yield* holdModels(organizationId, definition)
    const after: StoredExperiment = { ...before, definition, updated_at: yield* Clock.currentTimeMillis }
    yield* repository.put(after)
    return after
  })
  const removed = Effect.fnUntraced(function* (organizationId: string, id: string) {
    const before = yield* locked(organizationId, id)
    if (before.status === "running") return yield* refuse(`The experiment ${id} runs: stop it first.`)
    yield* repository.remove(organizationId, id)
    return { id }
  })
  const replace: ExperimentsShape["replace"] = (organizationId, id, definition) =>
    Effect.andThen(
      sized(definition),
      changed(organizationId, id, named.within(organizationId, replaced(organizationId, id, definition)))
    )
  return {
    create,
    replace,
    remove: (organizationId: string, id: string) => changed(organizationId, id, removed(organizationId, id)),
    /** Removes even a running experiment, because its collection no longer exists. */
    drop: (organizationId: string, id: string) =>
      changed(organizationId, id, Effect.asVoid(repository.remove(organizationId, id)))
  }
}

const makeRunning = ({ changed, entitlements, locked, outbox, repository, runs }: ExperimentParts) => {
  const started = Effect.fnUntraced(function* (organizationId: string, id: string) {
    yield* repository.lockStarts(organizationId)
    const before = yield* locked(organizationId, id)
    if (before.status === "running") return yield* refuse(`The experiment ${id} runs already.`)
    if (before.status !== "draft" && before.status !== "stopped")
      return yield* refuse(
        `The experiment ${id} is ${before.status.replace("_", " ")}: only a draft or a stopped one starts.`
      )
    const others = yield* repository.running(organizationId)
    const other = others.find(({ definition }) => placeOf(definition) === placeOf(before.definition))
    if (other !== undefined)
      return yield* refuse(
        `The experiment ${other.id} (${other.definition.name}) runs over the same collection and target: stop it first.`
      )
    yield* entitlements.requireRoom(organizationId, "experiments_running", others.length + 1)
    const now = yield* Clock.currentTimeMillis
    const after: StoredExperiment = {
      ...before,
      status: "running",
      run: before.run + 1,
      started_at: now,
      stopped_at: null,
      winner_variant_id: null,
      promotion: null,
      updated_at: now
    }
    yield* repository.put(after)
    const { definition, run } = after
    yield* runs.begin({ organization_id: organizationId, experiment_id: id, run, definition, started_at: now })
    yield* outbox.put(organizationId, "experiment.started", { experiment_id: id, collection: definition.collection })
    return after
  })
  const stopped = Effect.fnUntraced(function* (organizationId: string, id: string) {
    const before = yield* locked(organizationId, id)
    if (before.status !== "running") return yield* refuse(`The experiment ${id} does not run.`)
    const now = yield* Clock.currentTimeMillis
    const after: StoredExperiment = { ...before, status: "stopped", stopped_at: now, updated_at: now }
    yield* repository.put(after)
    yield* runs.end({ organization_id: organizationId, experiment_id: id, run: before.run }, now)
    const { collection } = before.definition
    yield* outbox.put(organizationId, "experiment.stopped", { experiment_id: id, collection })
    return after
  })
  return {
    start: (organizationId: string, id: string) => changed(organizationId, id, started(organizationId, id)),
    stop: (organizationId: string, id: string) => changed(organizationId, id, stopped(organizationId, id))
  }
}

/** Keeps the running experiments in memory. Unreadable ones affect only their organization. */
const keepRunning = Effect.gen(function* () {
  const configuration = yield* Configuration
  const { readRunning } = yield* makeExperimentsRepository
  const services = yield* Effect.context<never>()
  const table = new ExperimentTable(({ id, organization_id: organizationId }, error) => {
    const reason = `The stored experiment \`${id}\` is not what it should be.`
    configuration.damages.note("experiment", { organizationId, id }, reason)
    Effect.runSyncWith(services)(Effect.logError(`${organizationId} is refused: ${reason}`, error))
  })
  yield* configuration.keep("experiment", (subjects) =>
    Effect.map(readRunning(subjects), (rows) => {
      configuration.damages.forget("experiment", subjects)
      table.replace(subjects, rows)
    })
  )
  return table
})

export class Experiments extends Context.Service<Experiments, ExperimentsShape>()("dowser/experiments/Experiments") {
  static readonly layer: Layer.Layer<
    Experiments,
    never,
    | CatalogResources
    | CollectionDrops
    | Configuration
    | Engine
    | Entitlements
    | Identifiers
    | Outbox
    | RecommendationModels
    | RowReaders
    | SearchPolicies
    | SearchProfiles
    | SearchRules
    | SqlClient.SqlClient
  > = Layer.effect(
    Experiments,
    Effect.gen(function* () {
      const running = yield* keepRunning
      const parts = yield* makeParts
      const { repository } = parts
      const { drop, ...definitions } = makeDefinitions(parts)
      yield* (yield* CollectionDrops).register((organizationId, collection) =>
        Effect.flatMap(Effect.orDie(repository.ofCollection(organizationId, collection)), (ids) =>
          Effect.forEach(ids, (id) => drop(organizationId, id), { discard: true })
        )
      )
      return Experiments.of({
        running,
        ...definitions,
        ...makeRunning(parts),
        ...(yield* makePromotions(parts)),
        get: (organizationId, id) => Effect.flatMap(Effect.orDie(repository.get(organizationId, id)), present(id)),
        list: (organizationId, { collections, cursor, limit }) =>
          Effect.orDie(repository.page(organizationId, cursor, limit, collections))
      })
    })
  )
}
