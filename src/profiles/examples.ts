/** Descriptions of the operations of profiles, each with an example request that succeeds (`src/http/operation.ts`). */
import { sampleIds } from "../api/sample-ids.ts"
import type { Described } from "../http/operation.ts"

const listing = { collectionName: "products", profileName: "listing" }
const body = {
  label: "Product list",
  searchable_fields: ["title", "brand"],
  facet_fields: [{ field: "brand", label: "Brand" }],
  filterable_fields: ["brand", "price"],
  sorts: [{ id: "cheap", label: "Cheapest first", sort_by: "price:asc" }],
  fixed_filter_by: "discontinued:=false",
  per_page_max: 48
}
export const described = {
  listSearchProfiles: {
    description: "Lists the profiles of a collection by name. An unknown collection is a 404.",
    example: { params: { collectionName: "products" } }
  },
  createSearchProfile: {
    description:
      "Creates a profile: it decides on the server what is searched, filtered, sorted and counted, under a name that clients send as `profile`. Its draft takes effect immediately, until the profile is first published; so every field that it names must exist with the index that it needs, and a 400 names each that does not. A name that is taken is a 409, and the plan bounds the number of profiles (403).",
    example: { params: { collectionName: "products" }, body: { name: "search", ...body } }
  },
  getSearchProfile: {
    description:
      "Shows a profile: its draft, its revision, and its active release. It is `broken` if what is in effect no longer fits the collection's schema, and `changes` says why.",
    example: { params: listing }
  },
  replaceSearchProfile: {
    description:
      "Replaces the draft of a profile as a whole: omitted fields return to their defaults, and the revision increases by one. Before the first publication it takes effect with the next search; afterwards it changes no search until it is published.",
    example: { params: listing, body }
  },
  deleteSearchProfile: {
    description:
      "Deletes a profile with its releases. Searches that name it are a 404 from then on, and browser keys bound to it stop working, even if a profile of that name is created again.",
    example: { params: { collectionName: "products", profileName: "old_listing" } }
  },
  listProfileReleases: {
    description:
      "Lists the releases of a profile, newest first, and says which is active. `before_version` continues after the last one shown.",
    example: { params: listing, query: { limit: "10" } }
  },
  getProfileRelease: {
    description: "Shows one release of a profile. It never changes. An unknown id is a 404.",
    example: { params: { ...listing, releaseId: sampleIds.release } }
  },
  publishSearchProfile: {
    description:
      "Publishes the draft as an immutable release, which takes effect with the next search; if nothing has changed since the active release, that one is returned. It is refused (409) if the profile's revision is not `expected_revision`, if the draft does not fit the collection's schema (`data.changes`), and with `quality` if the draft finds the judged documents less well than what is active (`data.quality`).",
    example: { params: listing, body: { expected_revision: 2, note: "Cheapest first" } }
  },
  activateProfileRelease: {
    description:
      "Activates a release from the next search on: back to an earlier one, or forward again; the draft stays as it is. A release that no longer fits the collection's schema is refused (409, `data.changes`).",
    example: { params: listing, body: { release_id: sampleIds.release, expected_revision: 2 } }
  },
  diffSearchProfile: {
    description:
      "Compares two states of a profile field by field: `active`, `draft` or the version of a release; by default the active one with the draft. `class` says what the later one needs: nothing (HOT), a flag that a field lacks (WARM), or a field that is missing (COLD).",
    example: { params: listing, query: { from: "active", to: "draft" } }
  },
  getStorefront: {
    description:
      "Shows what a shop's pages need of a profile: the sorts to offer, the facets to render and the largest page. It reveals no expressions and no searched fields; facets that the key may not see are left out.",
    example: { params: listing }
  }
} as const satisfies Readonly<Record<string, Described>>
