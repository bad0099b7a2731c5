/** Search profiles and their releases. */
import { Schema, SchemaTransformation } from "effect"
import { refusing } from "../http/checks.ts"
import { NotFound } from "../http/errors.ts"
import { operation } from "../http/operation.ts"
import { pageFields, pageLimit } from "../http/page.ts"
import { FeatureNotInPlan } from "../metering/errors.ts"
import { ManifestNotHot, QualityDropped, RevisionMismatch, SearchProfileExists } from "./errors.ts"
import { described } from "./examples.ts"
import {
  ActivateRelease,
  CreateSearchProfile,
  ProfileDiff,
  ProfileRelease,
  PublishProfile,
  SearchProfile,
  SearchProfileBody,
  Storefront
} from "./schema.ts"

const at = { group: "search profiles", plane: "control", scope: "full" } as const
const path = "/v1/collections/:collectionName/search-profiles"
const one = { ...at, path: `${path}/:profileName` } as const
/** A positive integer, as text. */
const version = Schema.String.check(
  refusing((text: string) => (/^[1-9]\d{0,8}$/.test(text) ? undefined : "A whole number from 1 up"))
)

export const listSearchProfiles = operation({
  ...at,
  ...described.listSearchProfiles,
  id: "listSearchProfiles",
  summary: "List the search profiles of a collection",
  method: "GET",
  path,
  query: Schema.Struct(pageFields({ max: 250, byDefault: 50 })),
  success: Schema.Struct({
    data: Schema.Array(SearchProfile),
    next_cursor: Schema.optionalKey(Schema.String)
  }).annotate({ identifier: "SearchProfileList" }),
  errors: [NotFound]
})
export const createSearchProfile = operation({
  ...at,
  ...described.createSearchProfile,
  id: "createSearchProfile",
  summary: "Create a search profile",
  method: "POST",
  path,
  payload: CreateSearchProfile,
  success: SearchProfile,
  status: 201,
  errors: [FeatureNotInPlan, NotFound, SearchProfileExists]
})
export const getSearchProfile = operation({
  ...one,
  ...described.getSearchProfile,
  id: "getSearchProfile",
  summary: "Get a search profile",
  method: "GET",
  success: SearchProfile,
  errors: [NotFound]
})
export const replaceSearchProfile = operation({
  ...one,
  ...described.replaceSearchProfile,
  id: "replaceSearchProfile",
  summary: "Replace the draft of a search profile",
  method: "PUT",
  payload: SearchProfileBody,
  success: SearchProfile,
  errors: [FeatureNotInPlan, NotFound]
})
export const deleteSearchProfile = operation({
  ...one,
  ...described.deleteSearchProfile,
  id: "deleteSearchProfile",
  summary: "Delete a search profile with its releases",
  method: "DELETE",
  success: Schema.Struct({ name: Schema.String }).annotate({ identifier: "DeletedSearchProfile" }),
  errors: [NotFound]
})
export const listProfileReleases = operation({
  ...at,
  ...described.listProfileReleases,
  id: "listProfileReleases",
  summary: "List the releases of a search profile, newest first",
  method: "GET",
  path: `${path}/:profileName/releases`,
  query: Schema.Struct({
    limit: pageLimit({ max: 100, byDefault: 20 }),
    /** Only versions below this one. */ before_version: Schema.optionalKey(
      version.pipe(Schema.decodeTo(Schema.Number, SchemaTransformation.numberFromString))
    )
  }),
  success: Schema.Struct({
    releases: Schema.Array(ProfileRelease),
    active_release_id: Schema.NullOr(Schema.String),
    /** Start of the next page; null after the last one. */ next_before_version: Schema.NullOr(Schema.Int)
  }).annotate({ identifier: "ProfileReleaseList" }),
  errors: [NotFound]
})
export const getProfileRelease = operation({
  ...at,
  ...described.getProfileRelease,
  id: "getProfileRelease",
  summary: "Get a release of a search profile",
  method: "GET",
  path: `${path}/:profileName/releases/:releaseId`,
  params: { releaseId: Schema.String.annotate({ description: "The id of a release, `rel_…`." }) },
  success: ProfileRelease,
  errors: [NotFound]
})
export const publishSearchProfile = operation({
  ...at,
  ...described.publishSearchProfile,
  id: "publishSearchProfile",
  summary: "Publish the draft of a search profile as a release",
  method: "POST",
  path: `${path}/:profileName/publish`,
  payload: PublishProfile,
  success: ProfileRelease,
  errors: [FeatureNotInPlan, ManifestNotHot, NotFound, QualityDropped, RevisionMismatch]
})
export const activateProfileRelease = operation({
  ...at,
  ...described.activateProfileRelease,
  id: "activateProfileRelease",
  summary: "Activate a release of a search profile",
  method: "POST",
  path: `${path}/:profileName/activate`,
  payload: ActivateRelease,
  success: SearchProfile,
  errors: [ManifestNotHot, NotFound, RevisionMismatch]
})
const state = (description: string) =>
  Schema.optionalKey(
    Schema.String.check(
      refusing((text: string) =>
        /^(active|draft|[1-9]\d{0,8})$/.test(text) ? undefined : "`active`, `draft` or the version of a release"
      )
    ).annotate({ description })
  )
export const diffSearchProfile = operation({
  ...at,
  ...described.diffSearchProfile,
  id: "diffSearchProfile",
  summary: "Compare two states of a search profile",
  method: "GET",
  path: `${path}/:profileName/diff`,
  query: Schema.Struct({
    from: state("`active` (default), `draft` or the version of a release."),
    to: state("`active`, `draft` (default) or the version of a release.")
  }),
  success: ProfileDiff,
  errors: [NotFound]
})
export const getStorefront = operation({
  ...at,
  ...described.getStorefront,
  id: "getStorefront",
  summary: "What a shop's pages need of a search profile",
  method: "GET",
  scope: "search",
  path: `${path}/:profileName/storefront`,
  success: Storefront,
  errors: [NotFound]
})
