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
    description: "Shows the profiles of a collection in the order of their names. An unknown collection is a 404.",
    example: { params: { collectionName: "products" } }
  },
  createSearchProfile: {
    description:
      "Makes a profile: what is searched, filtered, sorted and counted, decided on the server under a name that clients send as `profile`. Its draft acts at once, until it is published for the first time; so every field that it names must be there with the index that it needs, and a 400 names each that is not. Two profiles of a collection do not have the same name (409), and the plan says how many there may be (403).",
    example: { params: { collectionName: "products" }, body: { name: "search", ...body } }
  },
  getSearchProfile: {
    description:
      "Shows a profile: its draft, its revision, and which release is active. It is `broken` where what acts on searches does not fit the collection's schema any more, and `changes` says why.",
    example: { params: listing }
  },
  replaceSearchProfile: {
    description:
      "Replaces the draft of a profile as a whole: what is left out goes back to its default, and the revision grows by one. Before the first publication it acts from the next search on; afterwards it changes no search until it is published.",
    example: { params: listing, body }
  },
  deleteSearchProfile: {
    description:
      "Deletes a profile with its releases. Searches that name it are a 404 from then on, and browser keys that are bound to it stop working, also when one of the same name is made anew.",
    example: { params: { collectionName: "products", profileName: "old_listing" } }
  },
  listProfileReleases: {
    description:
      "Shows the releases of a profile, newest first, and which of them is active. `before_version` continues behind the last one that was shown.",
    example: { params: listing, query: { limit: "10" } }
  },
  getProfileRelease: {
    description: "Shows one release of a profile. It never changes. An unknown id is a 404.",
    example: { params: { ...listing, releaseId: sampleIds.release } }
  },
  publishSearchProfile: {
    description:
      "Publishes the draft: it becomes a release, which nothing changes any more, and acts from the next search on; where nothing changed since the active release, that one is answered. It is refused (409) when the profile has another revision than `expected_revision`, when the draft does not fit the collection's schema (`data.changes`), and with `quality` when it finds what was judged less well than what is active (`data.quality`).",
    example: { params: listing, body: { expected_revision: 2, note: "Cheapest first" } }
  },
  activateProfileRelease: {
    description:
      "Lets a release act from the next search on: back to an earlier one, or forward again; the draft stays as it is. A release that no longer fits the collection's schema is refused (409, `data.changes`).",
    example: { params: listing, body: { release_id: sampleIds.release, expected_revision: 2 } }
  },
  diffSearchProfile: {
    description:
      "Compares two states of a profile place by place: `active`, `draft` or the version of a release; by default what is active with the draft. `class` says what keeps the later one from acting: nothing (HOT), a flag that a field lacks (WARM), or a field that is not there (COLD).",
    example: { params: listing, query: { from: "active", to: "draft" } }
  },
  getStorefront: {
    description:
      "Shows what a shop's pages need of a profile: the sorts to pick from, the facets to render and how long a page may be. It tells no expressions and no fields that are searched; facets that the key may not see are left out.",
    example: { params: listing }
  }
} as const satisfies Readonly<Record<string, Described>>
