/** Profiles as answers contain them. Pure. */
import { type CompiledManifest, type ManifestChange } from "./compile-manifest.ts"
import { differencesOf, type ProfileManifest } from "./manifest.ts"
import { actingManifest } from "./acting-profile.ts"
import type { StoredProfile } from "./profiles-repository.ts"
import type { ProfileDiff, SearchProfile, Storefront } from "./schema.ts"

/** `changes`: why the manifest that applies does not compile under the current schema; empty if it does. */
export const shownProfile = (
  { active, collection, created_at, draft, is_default, name, revision, updated_at }: StoredProfile,
  { changes }: Pick<CompiledManifest, "changes">
): typeof SearchProfile.Type => ({
  name,
  collection,
  ...draft,
  is_default,
  revision,
  active_release_id: active?.id ?? null,
  broken: changes.length > 0,
  ...(changes.length === 0 ? {} : { changes }),
  created_at,
  updated_at
})

/** `isShown`: whether the caller may see a field. */
export const storefrontOf = (profile: StoredProfile, isShown: (field: string) => boolean): typeof Storefront.Type => {
  const { default_sort_id, facet_fields, label, per_page_max, sorts } = actingManifest(profile)
  return {
    name: profile.name,
    label,
    sorts: sorts.map((sort) => ({ id: sort.id, label: sort.label })),
    default_sort_id,
    facets: facet_fields
      .filter(({ field }) => isShown(field))
      .map((facet) => ({ field: facet.field, label: facet.label })),
    per_page_max
  }
}

/** `changes`: why the later manifest cannot be active. */
export const diffOf = (
  before: ProfileManifest | undefined,
  after: ProfileManifest | undefined,
  changes: ReadonlyArray<ManifestChange>
): typeof ProfileDiff.Type => {
  const classes = new Map(changes.map((change) => [change.path, change.class]))
  return {
    changes: differencesOf(before, after).map((difference) => ({
      ...difference,
      class: classes.get(difference.path) ?? "HOT"
    }))
  }
}
