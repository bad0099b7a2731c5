/** Collections, documents, aliases, presets, synonyms, curations and stopwords. */
import { reaches } from "./reaches.ts"
import { Layer } from "effect"
import { CatalogNames } from "./names.ts"
import { CollectionChanges } from "../engine-plane/collection-changes.ts"
import { CollectionDrops } from "../engine-plane/collection-drops.ts"
import { CatalogResources } from "../engine-plane/resources.ts"
import { layerDictionaries } from "./dictionaries.ts"
import { layerEngineDamages } from "./engine-damages.ts"
import { metrics } from "./metrics.ts"
import { routes } from "./routes.ts"
import { seeds } from "./seeds.ts"
import { defineRoom } from "../room.ts"

export const room = defineRoom({
  name: "catalog",
  routes,
  metrics,
  reaches,
  groups: {
    collections: "Schemas of what can be searched, and their rebuild.",
    documents: "Records of a collection, one at a time, by filter, or as JSON Lines.",
    aliases: "Second names of collections, moved from one to another in one step.",
    presets: "Search parameters stored under a name.",
    "synonym sets": "Words that find each other.",
    "curation sets": "Documents pinned, hidden or filtered for a query, applied by the engine.",
    stopwords: "Words that a search leaves out.",
    stemming: "Dictionaries that reduce words to a root."
  },
  seeds,
  engineGroups: ["collections", "documents"],
  layer: Layer.provideMerge(
    Layer.mergeAll(
      CatalogNames.layer,
      CollectionChanges.layer,
      CollectionDrops.layer,
      layerDictionaries,
      layerEngineDamages
    ),
    CatalogResources.layer
  ),
  audited: {
    engine_resource: (sql, { id, organizationId }) => {
      // Kinds contain no slash; names may.
      const slash = id.indexOf("/")
      return sql`SELECT value::text AS row FROM engine_resources WHERE organization_id = ${organizationId} AND kind = ${id.slice(0, slash)} AND name = ${id.slice(slash + 1)}`
    }
  }
})
