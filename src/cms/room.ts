/** CMS installations: modules in a shop's CMS that are configured here. */
import { Layer } from "effect"
import { defineRoom } from "../room.ts"
import { errorSamples } from "./error-samples.ts"
import { CmsInstallations } from "./installations.ts"
import { installationsTable } from "./migration.ts"
import { routes } from "./routes.ts"
import { CmsRuntime } from "./runtime.ts"

const config = {
  protocol_version: 1,
  stores: [{ local_id: "main", sources: [{ local_id: "catalogue", collection: "goods" }] }]
}

export const room = defineRoom({
  name: "cms",
  routes,
  errorSamples,
  groups: {
    cms: "Modules in content management systems, configured from here.",
    "cms runtime": "What such a module calls, with the key of its installation."
  },
  reaches: {
    listCmsInstallations: "organization",
    createCmsInstallation: "organization",
    getCmsInstallation: "organization",
    publishCmsConfig: "organization",
    revokeCmsInstallation: "organization",
    // Its key belongs to the organization, but can access only its own sources.
    getCmsRuntimeConfig: "organization",
    reportCmsRuntime: "organization",
    pushCmsEvents: "organization"
  },
  roles: {
    listCmsInstallations: "member",
    getCmsInstallation: "member",
    createCmsInstallation: "admin",
    publishCmsConfig: "admin",
    revokeCmsInstallation: "admin"
  },
  features: { cms_installations: { free: 1, standard: 10, unlimited: 100 } },
  seeds: {
    createCmsInstallation: [
      { name: "Shop", provider: "bitrix", environment: "production", origin: "https://shop.example" }
    ],
    publishCmsConfig: [{ expected_revision: 1, config }],
    reportCmsRuntime: [
      { applied_revision: 0, discovery: { stores: [{ name: "x", other: 1 }] }, sync_health: { pending: 1 } }
    ],
    pushCmsEvents: [{ store: "main", source: "catalogue", events: [{ external_id: "1", title: "Lamp" }] }]
  },
  layer: Layer.merge(CmsInstallations.layer, CmsRuntime.layer),
  audited: {
    cms_installation: (sql, { id, organizationId }) =>
      sql`SELECT to_jsonb(t)::text AS row FROM cms_installations t WHERE organization_id = ${organizationId} AND id = ${id}`
  },
  migrations: { "2026112521_cms_installations": installationsTable }
})
