/** Handlers of releases: what was published, what is active, and how two states of a profile differ. */
import { type CollectionInfo } from "@dowser/engine-sdk"
import { Effect } from "effect"
import { implement } from "../api/implement.ts"
import { NotFound } from "../http/errors.ts"
import * as contract from "./contract.ts"
import { QualityDropped } from "./errors.ts"
import { makeFinding } from "./find-profile.ts"
import { makeJudge } from "./judge-profiles.ts"
import type { ProfileManifest } from "./manifest.ts"
import { notHot, refuseRevision } from "./profile-writes.ts"
import type { StoredProfile } from "./profiles-repository.ts"
import type { StoredRelease } from "./releases-repository.ts"
import { PublishGate } from "./publish-gate.ts"
import type { ProfileRelease, PublishProfile } from "./schema.ts"
import { SearchProfiles } from "./search-profiles.ts"
import { diffOf, shownProfile } from "./shown-profile.ts"

const MAX_DROP = 0.02
/** Greater than every version. */
const VERSION_END = 2_147_483_647

const shownRelease = (release: StoredRelease): typeof ProfileRelease.Type => ({
  id: release.id,
  version: release.version,
  manifest: release.manifest,
  change_class: release.change_class,
  created_at: release.created_at,
  created_by: release.created_by,
  note: release.note
})
const noRelease = () => new NotFound({ message: "Release not found" })

/** Runs the suite that a publication names; undefined if it names none. */
const makeGate = Effect.map(PublishGate, (gate) =>
  Effect.fnUntraced(function* (
    { active, collection, draft, name, organization_id: organizationId }: StoredProfile,
    quality: (typeof PublishProfile.Type)["quality"]
  ) {
    if (quality === undefined) return
    const { max_drop: maxDrop = MAX_DROP, suite_id: suiteId } = quality
    const { after, before, passes, worst } = yield* gate.judge({
      organizationId,
      collection,
      profile: name,
      suiteId,
      maxDrop,
      before: active?.manifest,
      after: draft
    })
    if (!passes)
      return yield* new QualityDropped({
        message: `nDCG@10 is ${after} with the draft and ${before ?? "unknown"} with what is active: more than ${maxDrop} lower.`,
        quality: { before, after, worst }
      })
  })
)

const makePublishing = Effect.gen(function* () {
  const profiles = yield* SearchProfiles
  const { judge } = yield* makeJudge
  const { profileOf } = yield* makeFinding
  const judged = yield* makeGate
  const changesIn = (organizationId: string) => (collection: CollectionInfo, manifest: ProfileManifest) =>
    judge(organizationId, collection, manifest).changes.filter(({ path }) => path !== "search_policy")
  return [
    implement(
      contract.publishSearchProfile,
      Effect.fnUntraced(function* (input) {
        const { organizationId } = input.caller
        const { collection, profile } = yield* profileOf(input)
        const { expected_revision, note = "", quality } = yield* input.payload
        // A publication that would be refused in any case must not cost a run of the suite.
        yield* refuseRevision(profile, expected_revision)
        const { changes } = judge(organizationId, collection, profile.draft)
        if (changes.length > 0) return yield* notHot(profile.name, changes)
        yield* judged(profile, quality)
        const asked = { expected_revision, note }
        return shownRelease(
          yield* profiles.publish(organizationId, collection, profile.name, asked, changesIn(organizationId))
        )
      })
    ),
    implement(
      contract.activateProfileRelease,
      Effect.fnUntraced(function* (input) {
        const { organizationId } = input.caller
        const { collection, profile } = yield* profileOf(input)
        const activated = yield* profiles.activate(
          organizationId,
          collection,
          profile.name,
          yield* input.payload,
          changesIn(organizationId)
        )
        return shownProfile(activated, { changes: [] })
      })
    )
  ]
})

export const makeReleaseRoutes = Effect.gen(function* () {
  const profiles = yield* SearchProfiles
  const { judge } = yield* makeJudge
  const { profileOf } = yield* makeFinding
  /** Undefined if nothing is active yet. */
  const manifestAt = Effect.fnUntraced(function* (profile: StoredProfile, state: string) {
    if (state === "draft") return profile.draft
    if (state === "active") return profile.active?.manifest
    const release = yield* profiles.releaseOfVersion(profile, Number(state))
    return release === undefined ? yield* noRelease() : release.manifest
  })
  return [
    ...(yield* makePublishing),
    implement(
      contract.listProfileReleases,
      Effect.fnUntraced(function* (input) {
        const { profile } = yield* profileOf(input)
        const { before_version = VERSION_END, limit } = yield* input.query
        const rows = yield* profiles.releases(profile, before_version, limit + 1)
        const releases = rows.slice(0, limit)
        return {
          releases: releases.map(shownRelease),
          active_release_id: profile.active?.id ?? null,
          next_before_version: rows.length > limit ? releases[limit - 1]!.version : null
        }
      })
    ),
    implement(
      contract.getProfileRelease,
      Effect.fnUntraced(function* (input) {
        const { profile } = yield* profileOf(input)
        const release = yield* profiles.release(profile, input.params.releaseId)
        return release === undefined ? yield* noRelease() : shownRelease(release)
      })
    ),
    implement(
      contract.diffSearchProfile,
      Effect.fnUntraced(function* (input) {
        const { collection, profile } = yield* profileOf(input)
        const { from = "active", to = "draft" } = yield* input.query
        const before = yield* manifestAt(profile, from)
        const after = yield* manifestAt(profile, to)
        const changes = after === undefined ? [] : judge(input.caller.organizationId, collection, after).changes
        return diffOf(before, after, changes)
      })
    )
  ]
})
