/** Organizations' own models. */
import { defineRoom } from "../room.ts"
import { AiProviders } from "./ai-providers.ts"
import { aiProviders } from "./migration.ts"
import { routes } from "./routes.ts"

export const room = defineRoom({
  name: "ai-providers",
  routes,
  layer: AiProviders.layer,
  groups: { "AI providers": "Models of your own in place of this program's." },
  reaches: { listAiProviders: "organization", putAiProvider: "organization", deleteAiProvider: "organization" },
  roles: { listAiProviders: "member", putAiProvider: "admin", deleteAiProvider: "admin" },
  seeds: {
    putAiProvider: [
      { kind: "openai", model: "text-embedding-3-small", url: "http://127.0.0.1:9/v1", api_key: "sk-key" },
      { kind: "tei", url: "http://127.0.0.1:9" }
    ]
  },
  audited: {
    ai_provider: (sql, { id, organizationId }) =>
      sql`SELECT json_build_object('port', port, 'value', value, 'has_api_key', sealed_api_key IS NOT NULL)::text AS row FROM ai_providers WHERE organization_id = ${organizationId} AND port = ${id}`
  },
  migrations: { "2026112631_ai_providers": aiProviders }
})
