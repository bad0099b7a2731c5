/** Landing pages of facet values, for search engines. */
import { textIn } from "../http/json-fields.ts"
import { defineRoom } from "../room.ts"
import { errorSamples } from "./error-samples.ts"
import { seoPages } from "./migration.ts"
import { routes } from "./routes.ts"
import { seeds } from "./seeds.ts"
import { SeoRules } from "./seo-rules.ts"

export const room = defineRoom({
  name: "seo",
  routes,
  reaches: {
    listSeoRules: "filtered",
    createSeoRule: ({ body }) => textIn(body, "collection"),
    getSeoRule: "filtered",
    updateSeoRule: ({ body }) => textIn(body, "collection"),
    deleteSeoRule: "filtered",
    generateSeoPages: "filtered",
    auditSeoPages: "filtered",
    listSeoPages: "filtered",
    getSeoPage: "filtered",
    exportSeoSitemap: "filtered"
  },
  groups: { seo: "Landing pages of facet values, their sitemap, and what is wrong with them." },
  engineGroups: ["seo"],
  layer: SeoRules.layer,
  // Pages are rows in Postgres and do not count as stored bytes of the engine: plans limit their number.
  features: {
    seo_rules: { free: 3, standard: 50, unlimited: 1_000 },
    seo_pages: { free: 1_000, standard: 100_000, unlimited: 1_000_000 }
  },
  roles: {
    listSeoRules: "member",
    createSeoRule: "admin",
    getSeoRule: "member",
    updateSeoRule: "admin",
    deleteSeoRule: "admin",
    generateSeoPages: "admin",
    auditSeoPages: "admin",
    listSeoPages: "member",
    getSeoPage: "member",
    exportSeoSitemap: "member"
  },
  seeds,
  errorSamples,
  audited: {
    seo_rule: (sql, { id, organizationId }) =>
      sql`SELECT row_to_json(t)::text AS row FROM seo_rules t WHERE organization_id = ${organizationId} AND id = ${id}`
  },
  migrations: { "2026112411_seo_pages": seoPages }
})
