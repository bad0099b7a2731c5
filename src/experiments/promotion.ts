/**
 * Promotes a variant for everybody, and rolls it back. The rooms that own presets, rule sets and profiles write it in
 * their own transactions, so the value to be replaced is stored first: an interrupted promotion is completed by
 * promoting again, and the old value is still known.
 */
import { Clock, Effect } from "effect"
import {
  type ConfigurationUnavailable,
  type Conflict,
  inputInvalid,
  type InputInvalid,
  type NotFound
} from "../http/errors.ts"
import type { FeatureNotInPlan } from "../metering/errors.ts"
import type { Promotion, StoredExperiment } from "./experiments-repository.ts"
import { type ExperimentParts, present, refuse } from "./parts.ts"
import { makePlaces } from "./places.ts"

type Failures = Conflict | FeatureNotInPlan | InputInvalid | NotFound | ConfigurationUnavailable
export interface Promotions {
  readonly promote: (organizationId: string, id: string, variantId: string) => Effect.Effect<StoredExperiment, Failures>
  readonly rollBack: (organizationId: string, id: string) => Effect.Effect<StoredExperiment, Failures>
}

/** Equality that ignores the order of keys. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part
  ) ?? ""
const isSame = (a: unknown, b: unknown): boolean => canonical(a) === canonical(b)

const makePromoting = Effect.fnUntraced(function* ({ changed, locked, outbox, repository, runs }: ExperimentParts) {
  const places = yield* makePlaces
  const isPromotable = ({ id, status }: StoredExperiment) =>
    status === "running" || status === "stopped"
      ? Effect.void
      : refuse(`The experiment ${id} is ${status.replace("_", " ")}: only a running or a stopped one is promoted.`)
  /** Stores the value to be replaced; fails if the experiment changed since it was read. */
  const begun = Effect.fnUntraced(function* (seen: StoredExperiment, promotion: Promotion | null) {
    const before = yield* locked(seen.organization_id, seen.id)
    if (before.updated_at !== seen.updated_at || before.status !== seen.status)
      return yield* refuse(`The experiment ${seen.id} was changed meanwhile: look at it and promote again.`)
    yield* repository.put({ ...before, promotion })
    return { ...before, promotion }
  })
  const ended = Effect.fnUntraced(function* (organizationId: string, id: string, promotion: Promotion) {
    const before = yield* locked(organizationId, id)
    yield* isPromotable(before)
    const now = yield* Clock.currentTimeMillis
    const { run, status } = before
    const after: StoredExperiment = {
      ...before,
      status: "promoted",
      stopped_at: status === "running" ? now : before.stopped_at,
      promotion: { ...promotion, is_pending: false },
      updated_at: now
    }
    yield* repository.put(after)
    if (status === "running") {
      yield* runs.end({ organization_id: organizationId, experiment_id: id, run }, now)
      yield* outbox.put(organizationId, "experiment.stopped", {
        experiment_id: id,
        collection: before.definition.collection
      })
    }
    yield* outbox.put(organizationId, "experiment.promoted", { experiment_id: id, variant_id: promotion.variant_id })
    return after
  })
  return Effect.fn("Experiments.promote")(function* (organizationId: string, id: string, variantId: string) {
    const seen = yield* Effect.flatMap(Effect.orDie(repository.get(organizationId, id)), present(id))
    yield* isPromotable(seen)
    const variant = seen.definition.variants.find((one) => one.id === variantId)
    if (variant === undefined) return yield* inputInvalid("variant_id", "The id of one of the variants")
    const place = yield* places.placeOf(seen.definition, variant)
    const now = yield* places.valueAt(organizationId, place)
    const { promotion: pending } = seen
    // The interrupted promotion has already written, so the value it replaced is the one that this promotion replaces.
    const before = pending !== null && isSame(pending.place, place) && isSame(pending.after, now) ? pending.before : now
    const made = yield* places.valueOf(organizationId, seen.definition, variant, place, before)
    const promotion: Promotion = { variant_id: variantId, is_pending: true, place, before, after: made.to }
    const kept = yield* changed(organizationId, id, begun(seen, promotion))
    yield* Effect.onError(places.write(organizationId, place, { from: now, ...made }), () =>
      Effect.ignore(changed(organizationId, id, begun(kept, seen.promotion)))
    )
    return yield* changed(organizationId, id, ended(organizationId, id, promotion))
  })
})

const makeRollingBack = Effect.fnUntraced(function* ({ changed, locked, repository }: ExperimentParts) {
  const places = yield* makePlaces
  const promotionOf = Effect.fnUntraced(function* ({ id, promotion, status }: StoredExperiment) {
    if (status !== "promoted" || promotion === null)
      return yield* refuse(`Of the experiment ${id} nothing is promoted that could be rolled back.`)
    return promotion
  })
  const ended = Effect.fnUntraced(function* (organizationId: string, id: string) {
    const before = yield* locked(organizationId, id)
    yield* promotionOf(before)
    const after: StoredExperiment = { ...before, status: "rolled_back", updated_at: yield* Clock.currentTimeMillis }
    yield* repository.put(after)
    return after
  })
  return Effect.fn("Experiments.rollBack")(function* (organizationId: string, id: string) {
    const seen = yield* Effect.flatMap(Effect.orDie(repository.get(organizationId, id)), present(id))
    const { after, before, place } = yield* promotionOf(seen)
    const now = yield* places.valueAt(organizationId, place)
    if (isSame(now, after)) yield* places.write(organizationId, place, { from: now, to: before })
    // An interrupted rollback may already have written.
    else if (!isSame(now, before))
      return yield* refuse(`The ${places.nameOf(place)} was changed since the promotion, so it is left as it is.`)
    return yield* changed(organizationId, id, ended(organizationId, id))
  })
})

export const makePromotions = Effect.fnUntraced(function* (parts: ExperimentParts) {
  const promotions: Promotions = { promote: yield* makePromoting(parts), rollBack: yield* makeRollingBack(parts) }
  return promotions
})
