/**
 * The check before a profile is published: runs the suite with the draft and with the active release. A request waits
 * for it, so of a suite with more than a thousand queries a thousand are used, evenly taken.
 */
import { Effect, Layer } from "effect"
import { NotFound } from "../http/errors.ts"
import { resolveCollection } from "@dowser/engine-sdk/operations"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import type { ProfileManifest } from "../profiles/manifest.ts"
import { type GateVerdict, PublishGate } from "../profiles/publish-gate.ts"
import { Search } from "../search/search.ts"
import { evaluate, type Evaluated, hasRelevant } from "./evaluate.ts"
import { makeSuitesRepository } from "./suites-repository.ts"

const QUERIES_MAX = 1_000
const WORST = 10
/** Sums of doubles differ in their last digits. */
const ROUNDING = 1e-9

/** Fails if nDCG@10 falls by more than `maxDrop`. Pure. */
export const verdictOf = (before: Evaluated | undefined, after: Evaluated, maxDrop: number): GateVerdict => {
  const known = new Map(before?.queries.map(({ ndcg_at_10, q }) => [q, ndcg_at_10]))
  const worst = after.queries
    .map(({ ndcg_at_10, q }) => ({ q, before: known.get(q) ?? null, after: ndcg_at_10 }))
    // Only queries that fell are reasons.
    .filter(({ after: now, before: then }) => then === null || now < then)
    .sort((a, b) => a.after - (a.before ?? 0) - (b.after - (b.before ?? 0)) || a.after - b.after)
    .slice(0, WORST)
  return {
    before: before?.ndcg_at_10 ?? null,
    after: after.ndcg_at_10,
    worst,
    passes: before === undefined || before.ndcg_at_10 - after.ndcg_at_10 <= maxDrop + ROUNDING
  }
}

export const layerPublishGate = Layer.effect(
  PublishGate,
  Effect.gen(function* () {
    const search = yield* Search
    const contextOf = yield* makeContexts
    const repository = yield* makeSuitesRepository
    return PublishGate.of({
      judge: Effect.fn("PublishGate.judge")(function* ({
        after,
        before,
        collection,
        maxDrop,
        organizationId,
        profile,
        suiteId
      }) {
        const missing = (what: string) => new NotFound({ message: `Quality suite ${suiteId} ${what}.` })
        const suite = yield* Effect.orDie(repository.get(organizationId, suiteId))
        if (suite === undefined) return yield* missing("does not exist")
        if (resolveCollection(contextOf(organizationId), suite.collection)?.schema.name !== collection)
          return yield* missing(`is about \`${suite.collection.slice(0, 80)}\``)
        const judgments = yield* Effect.orDie(repository.judgments(organizationId, suiteId))
        if (!hasRelevant(judgments)) return yield* missing("has no judgment with a grade above 0")
        // As from a storefront, only the words are sent; the manifest decides everything else.
        const of = (manifest: ProfileManifest) =>
          evaluate(search, {
            organizationId,
            collection,
            parameters: {},
            profile: { name: profile, draft: manifest, active: undefined },
            judgments,
            queriesMax: QUERIES_MAX
          })
        // The caller has compiled the draft, so a failure here is the engine's.
        const drafted = yield* Effect.orDie(of(after))
        // The active release may no longer work, for example after a schema change: then there is nothing to compare
        // with.
        const active =
          before === undefined
            ? undefined
            : yield* Effect.catchTag(of(before), "JobFailed", () => Effect.succeed(undefined))
        return verdictOf(active, drafted, maxDrop)
      })
    })
  })
)
