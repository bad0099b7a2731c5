/**
 * The weight of meaning in a profile, chosen with a suite as a job: its queries are searched with the profile's draft
 * under each weight, and the draft is replaced by one with the chosen weight and the reason.
 */
import type { CollectionInfo } from "@dowser/engine-sdk"
import { embeddingFieldsOf } from "@dowser/engine-sdk/embedding"
import { resolveCollection } from "@dowser/engine-sdk/operations"
import { Clock, Effect } from "effect"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { type ClaimedJob, type JobEnd, JobFailed } from "../jobs/job-worker.ts"
import { makeJudge } from "../profiles/judge-profiles.ts"
import { isSameManifest, type ProfileManifest, type ProfileMeaning } from "../profiles/manifest.ts"
import { SearchProfiles } from "../profiles/search-profiles.ts"
import { Search } from "../search/search.ts"
import { chooseWeight, WEIGHTS } from "./choose-weight.ts"
import { evaluate, hasRelevant } from "./evaluate.ts"
import type { StoredJudgment } from "./suite-input.ts"
import { makeSuitesRepository } from "./suites-repository.ts"

export const MEANING = "meaning_weight"
/** The configuration of a job. */
export interface MeaningConfig extends Readonly<Record<string, unknown>> {
  readonly suite_id: string
  readonly collection: string
  readonly profile: string
}
const QUERIES_MAX = 1_000
/** Least number of queries judged by people, or by clicks, each of which is less informative. */
const JUDGED_MIN = 20,
  CLICKED_MIN = 500

/** Why the judgments are too few; undefined if there are enough. */
export const tooFew = (judgments: ReadonlyArray<StoredJudgment>): string | undefined => {
  const relevant = judgments.filter(([, , grade]) => grade > 0)
  const queries = new Set(relevant.map(([q]) => q)).size
  const isClicked = relevant.every(([, , , isOfClicks]) => isOfClicks === 1)
  const least = isClicked ? CLICKED_MIN : JUDGED_MIN
  return hasRelevant(judgments) && queries >= least
    ? undefined
    : `${queries} queries have a relevant document; a weight is chosen by ${CLICKED_MIN} that clicks judged, or ${JUDGED_MIN} that people did.`
}
const weighed = ({ meaning: _, ...manifest }: ProfileManifest, meaning: ProfileMeaning): ProfileManifest => ({
  ...manifest,
  meaning
})
const failed = (message: string) => new JobFailed({ message })

export const makeWeighMeaning = Effect.gen(function* () {
  const search = yield* Search
  const profiles = yield* SearchProfiles
  const { judge } = yield* makeJudge
  const contextOf = yield* makeContexts
  const repository = yield* makeSuitesRepository

  const collectionOf = (organizationId: string, name: string) =>
    Effect.suspend(() => {
      const collection = resolveCollection(contextOf(organizationId), name)
      if (collection === undefined) return Effect.fail(failed("The collection no longer exists."))
      return embeddingFieldsOf(collection.schema).length === 0
        ? Effect.fail(failed("The collection has no vectors: search it by meaning once to create them."))
        : Effect.succeed(collection)
    })
  const draftOf = (organizationId: string, collection: CollectionInfo, name: string) => {
    const profile = profiles.get(organizationId, collection, name)
    return profile === undefined
      ? Effect.fail(failed(`The profile \`${name}\` no longer exists.`))
      : Effect.succeed(profile)
  }
  /** Only if nobody changed the draft that was measured. */
  const write = Effect.fnUntraced(function* (
    organizationId: string,
    collection: CollectionInfo,
    name: string,
    draft: ProfileManifest,
    meaning: ProfileMeaning
  ) {
    const now = yield* draftOf(organizationId, collection, name)
    if (!isSameManifest(now.draft, draft)) return yield* failed("The profile was changed while it was measured.")
    const changed = { manifest: weighed(draft, meaning), is_default: now.is_default }
    const compile = (at: CollectionInfo, manifest: ProfileManifest) =>
      judge(organizationId, at, manifest).changes.filter(({ path }) => path !== "search_policy")
    yield* Effect.mapError(profiles.replace(organizationId, collection, name, changed, compile), ({ message }) =>
      failed(message)
    )
  })

  return Effect.fn("Quality.weighMeaning")(function* (
    { config, organizationId }: ClaimedJob,
    report: (progress: number) => Effect.Effect<void>
  ): Effect.fn.Return<JobEnd, JobFailed> {
    const { collection: name, profile, suite_id } = config as MeaningConfig
    const judgments = yield* Effect.orDie(repository.judgments(organizationId, suite_id))
    const refusal = tooFew(judgments)
    if (refusal !== undefined) return yield* failed(refusal)
    const collection = yield* collectionOf(organizationId, name)
    const { draft } = yield* draftOf(organizationId, collection, profile)
    const measured = []
    for (const [place, weight] of WEIGHTS.entries()) {
      const asked = {
        organizationId,
        collection: name,
        parameters: {},
        profile: { name: profile, draft: weighed(draft, { weight }), active: undefined },
        judgments,
        queriesMax: QUERIES_MAX
      }
      const { queries } = yield* evaluate(search, asked, (done) => report((place + done) / WEIGHTS.length))
      measured.push(queries)
    }
    const { weight, ...figures } = chooseWeight(measured)
    const meaning = { weight, chosen: { suite_id, ...figures, chosen_at: yield* Clock.currentTimeMillis } }
    yield* write(organizationId, collection, profile, draft, meaning)
    return { result: { profile, weight, ...figures } }
  })
})
