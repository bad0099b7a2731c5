/** How well a collection finds what people judged relevant. */
import { Layer } from "effect"
import { textIn } from "../http/json-fields.ts"
import { defineRoom } from "../room.ts"
import { qualitySuites } from "./migration.ts"
import { layerPublishGate } from "./publish-gate.ts"
import { routes } from "./routes.ts"
import { seeds } from "./seeds.ts"
import { QualitySuites } from "./suites.ts"

export const room = defineRoom({
  name: "quality",
  routes,
  reaches: {
    listQualitySuites: "filtered",
    createQualitySuite: ({ body }) => textIn(body, "collection"),
    getQualitySuite: "filtered",
    replaceQualitySuite: ({ body }) => textIn(body, "collection"),
    deleteQualitySuite: "filtered",
    runQualitySuite: "filtered",
    judgeFromClicks: "filtered",
    weighMeaning: "filtered",
    listQualityRuns: "filtered"
  },
  groups: { quality: "Judged queries, and how well a collection answers them." },
  engineGroups: ["quality"],
  layer: Layer.mergeAll(QualitySuites.layer, layerPublishGate),
  features: { quality_suites: { free: 3, standard: 100, unlimited: 1_000 } },
  roles: {
    listQualitySuites: "member",
    createQualitySuite: "admin",
    getQualitySuite: "member",
    replaceQualitySuite: "admin",
    deleteQualitySuite: "admin",
    runQualitySuite: "admin",
    judgeFromClicks: "admin",
    weighMeaning: "admin",
    listQualityRuns: "member"
  },
  seeds,
  audited: {
    quality_suite: (sql, { id, organizationId }) =>
      sql`SELECT json_build_object('id', id, 'name', name, 'collection', collection, 'params', params, 'tolerance', tolerance, 'schedule_cron', schedule_cron, 'judgments_count', judgments_count, 'updated_at', updated_at)::text AS row
        FROM quality_suites WHERE organization_id = ${organizationId} AND id = ${id}`
  },
  migrations: { "2026112311_quality_suites": qualitySuites }
})
