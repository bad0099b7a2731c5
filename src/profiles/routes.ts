/** Handlers of profiles and releases: collection and profile are looked up before the body is read. */
import type { CollectionInfo } from "@dowser/engine-sdk"
import { Reach } from "@dowser/engine-sdk/operations"
import { covers } from "@dowser/engine-sdk/query"
import { Effect } from "effect"
import { implement } from "../api/implement.ts"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { inputInvalid, RestrictionNotApplicable } from "../http/errors.ts"
import { pageOf } from "../http/page.ts"
import type { Caller } from "../identity/caller.ts"
import { collectionClosed, reachesCollection } from "../identity/reach.ts"
import { restrictionsOf } from "../identity/restrictions.ts"
import * as contract from "./contract.ts"
import { makeJudge } from "./judge-profiles.ts"
import { manifestOf, type ProfileManifest, withFigures } from "./manifest.ts"
import type { StoredProfile } from "./profiles-repository.ts"
import { makeFinding } from "./find-profile.ts"
import { makeReleaseRoutes } from "./release-routes.ts"
import type { SearchProfileBody } from "./schema.ts"
import { SearchProfiles } from "./search-profiles.ts"
import { shownProfile, storefrontOf } from "./shown-profile.ts"

type Body = Omit<typeof SearchProfileBody.Type, "name">
/** Checks of a body that involve several fields. */
const draftOf = (body: Body) =>
  Effect.suspend(() => {
    const { meaning } = body
    // A caller cannot set the figures.
    const manifest = manifestOf({ ...body, meaning: meaning === undefined ? undefined : { weight: meaning.weight } })
    const { default_sort_id, sorts } = manifest
    return default_sort_id === "" || sorts.some(({ id }) => id === default_sort_id)
      ? Effect.succeed({ manifest, is_default: body.is_default ?? false })
      : Effect.fail(inputInvalid("default_sort_id", "The id of one of the `sorts`"))
  })

const profileRoutes = Effect.gen(function* () {
  const profiles = yield* SearchProfiles
  const { changesOf, judge } = yield* makeJudge
  const { collectionOf, profileOf } = yield* makeFinding
  const shown = (collection: CollectionInfo, profile: StoredProfile) =>
    shownProfile(profile, { changes: changesOf(collection, profile) })
  /** Collections that filters and sorts join must be within the writer's reach. */
  const reached = (caller: Caller, collection: CollectionInfo, manifest: ProfileManifest) =>
    Effect.suspend(() => {
      const { related } = judge(caller.organizationId, collection, manifest)
      return [...related].every(
        ([name, schema]) => reachesCollection(caller, name) && reachesCollection(caller, schema?.name ?? name)
      )
        ? Effect.void
        : Effect.fail(collectionClosed())
    })
  const changesIn =
    (organizationId: string) =>
    (...given: [CollectionInfo, ProfileManifest]) =>
      judge(organizationId, ...given).changes.filter(({ path }) => path !== "search_policy")

  return [
    implement(
      contract.listSearchProfiles,
      Effect.fnUntraced(function* ({ caller, params, query }) {
        const collection = yield* collectionOf(caller.organizationId, params.collectionName)
        const { cursor = "", limit } = yield* query
        const rows = profiles.list(caller.organizationId, collection).filter(({ name }) => name > cursor)
        // Some milliseconds for each that no search has used yet, so other fibers get their turn.
        const shownRows = yield* Effect.forEach(rows.slice(0, limit + 1), (profile) =>
          Effect.map(Effect.yieldNow, () => shown(collection, profile))
        )
        return pageOf(shownRows, limit, ({ name }) => name)
      })
    ),
    implement(
      contract.createSearchProfile,
      Effect.fnUntraced(function* ({ caller, params, payload }) {
        const { organizationId } = caller
        const collection = yield* collectionOf(organizationId, params.collectionName)
        const { name, ...body } = yield* payload
        const draft = yield* draftOf(body)
        yield* reached(caller, collection, draft.manifest)
        return shown(
          collection,
          yield* profiles.create(organizationId, collection, name, draft, changesIn(organizationId))
        )
      })
    ),
    implement(contract.getSearchProfile, (input) =>
      Effect.map(profileOf(input), ({ collection, profile }) => shown(collection, profile))
    ),
    implement(
      contract.replaceSearchProfile,
      Effect.fnUntraced(function* (input) {
        const { organizationId } = input.caller
        const { collection, profile } = yield* profileOf(input)
        const { name, ...body } = yield* input.payload
        if (name !== undefined && name !== profile.name)
          return yield* inputInvalid("name", "A profile keeps its name; it stands in the path")
        const { is_default, manifest: sent } = yield* draftOf(body)
        const draft = { is_default, manifest: withFigures(sent, profile.draft) }
        yield* reached(input.caller, collection, draft.manifest)
        return shown(
          collection,
          yield* profiles.replace(organizationId, collection, profile.name, draft, changesIn(organizationId))
        )
      })
    ),
    implement(
      contract.deleteSearchProfile,
      Effect.fnUntraced(function* (input) {
        const { profile } = yield* profileOf(input)
        yield* profiles.remove(input.caller.organizationId, profile.collection, profile.name)
        return { name: profile.name }
      })
    )
  ]
})

const storefrontRoutes = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const { profileOf } = yield* makeFinding
  return [
    implement(
      contract.getStorefront,
      Effect.fnUntraced(function* (input) {
        const { caller, params } = input
        if (caller.profile !== undefined && caller.profile.name !== params.profileName)
          return yield* new RestrictionNotApplicable({ message: "The key is bound to another profile." })
        const { profile } = yield* profileOf(input)
        const { fields } = new Reach(contextOf(caller.organizationId), restrictionsOf(caller))
        return storefrontOf(profile, (field) => fields === undefined || covers(fields, field))
      })
    )
  ]
})

export const routes = Effect.gen(function* () {
  return [...(yield* profileRoutes), ...(yield* storefrontRoutes), ...(yield* makeReleaseRoutes)]
})
