/** Synonyms that visitors' searches suggest, and what their owner decides. */
import { defineRoom } from "../room.ts"
import { synonymSuggestions } from "./migration.ts"
import { routes } from "./routes.ts"
import { SynonymSuggestions } from "./suggestions.ts"

export const room = defineRoom({
  name: "synonym-suggestions",
  routes,
  reaches: {
    suggestSynonyms: "path",
    listSynonymSuggestions: "path",
    // Synonyms affect searches of all collections.
    acceptSynonymSuggestion: "organization",
    rejectSynonymSuggestion: "path"
  },
  groups: { "synonym suggestions": "Synonyms that visitors' searches suggest." },
  engineGroups: ["synonym suggestions"],
  layer: SynonymSuggestions.layer,
  roles: {
    suggestSynonyms: "admin",
    listSynonymSuggestions: "member",
    acceptSynonymSuggestion: "admin",
    rejectSynonymSuggestion: "admin"
  },
  seeds: {
    suggestSynonyms: [{}, { from: "2026-01-01", to: "2026-01-02" }],
    acceptSynonymSuggestion: [{ synonym_set: "shop" }]
  },
  audited: {
    synonym_suggestion: (sql, { id, organizationId }) =>
      sql`SELECT row_to_json(t)::text AS row FROM synonym_suggestions t WHERE organization_id = ${organizationId} AND collection || '/' || id = ${id}`
  },
  migrations: { "2026112622_synonym_suggestions": synonymSuggestions }
})
