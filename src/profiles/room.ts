/** What is searched, filtered, sorted and counted, decided on the server under a name that clients send. */
import { Effect, Layer } from "effect"
import type { Measure } from "../metrics/measure.ts"
import { single } from "../metrics/measure.ts"
import { defineRoom } from "../room.ts"
import { errorSamples } from "./error-samples.ts"
import { migrations } from "./migrations.ts"
import { placeOf } from "./profiles-repository.ts"
import { routes } from "./routes.ts"
import { layerKnownProfiles, SearchProfiles } from "./search-profiles.ts"
import { seeds } from "./seeds.ts"

const metrics = Effect.map(SearchProfiles, ({ count }): ReadonlyArray<Measure> => [
  {
    name: "dowser_search_profiles",
    type: "gauge",
    help: "Search profiles of all organizations that this process keeps in memory.",
    read: Effect.map(count, single)
  }
])

export const room = defineRoom({
  name: "profiles",
  routes,
  metrics,
  errorSamples,
  migrations,
  seeds,
  groups: { "search profiles": "Searches that are decided on the server, with their releases." },
  engineGroups: ["search profiles"],
  reaches: {
    listSearchProfiles: "path",
    createSearchProfile: "path",
    getSearchProfile: "path",
    replaceSearchProfile: "path",
    deleteSearchProfile: "path",
    listProfileReleases: "path",
    getProfileRelease: "path",
    publishSearchProfile: "path",
    activateProfileRelease: "path",
    diffSearchProfile: "path",
    getStorefront: "path"
  },
  roles: {
    listSearchProfiles: "member",
    createSearchProfile: "admin",
    getSearchProfile: "member",
    replaceSearchProfile: "admin",
    deleteSearchProfile: "admin",
    listProfileReleases: "member",
    getProfileRelease: "member",
    publishSearchProfile: "admin",
    activateProfileRelease: "admin",
    diffSearchProfile: "member"
  },
  layer: Layer.provideMerge(layerKnownProfiles, SearchProfiles.layer),
  audited: {
    search_profile: (sql, { id, organizationId }) => {
      const { collection, name } = placeOf(id)
      return sql`SELECT row_to_json(t)::text AS row FROM search_profiles t WHERE organization_id = ${organizationId} AND collection = ${collection} AND name = ${name}`
    }
  }
})
