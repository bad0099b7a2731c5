/** A catalogue that a shop system pushes, or that is pulled from it. */
import { Layer } from "effect"
import { defineRoom } from "../room.ts"
import { layerApplier } from "./applying/applier.ts"
import { expireDeletions } from "./applying/documents-repository.ts"
import { Connectors } from "./connectors.ts"
import { expireCreations } from "./connectors-repository.ts"
import { errorSamples } from "./error-samples.ts"
import { expireJournal, expireLeftovers, shortenJournal } from "./journal-repository.ts"
import { metrics } from "./metrics.ts"
import { migrations } from "./migrations.ts"
import { expirePushes } from "./pushes-repository.ts"
import { Pushes } from "./pushes.ts"
import { Pulls } from "./pulling/pulls.ts"
import { routes } from "./routes.ts"

export const room = defineRoom({
  name: "connectors",
  routes,
  metrics,
  errorSamples,
  migrations,
  groups: { connectors: "Shop systems that push their catalogue or have it fetched, and what became of it." },
  reaches: {
    listConnectors: "organization",
    createConnector: "organization",
    getConnector: "organization",
    updateConnector: "organization",
    deleteConnector: "organization",
    rotateConnectorSecret: "organization",
    listConnectorJournal: "organization",
    testConnectorMapping: "organization",
    syncConnector: "organization"
  },
  roles: {
    listConnectors: "member",
    getConnector: "member",
    listConnectorJournal: "member",
    testConnectorMapping: "member",
    createConnector: "admin",
    updateConnector: "admin",
    deleteConnector: "admin",
    rotateConnectorSecret: "admin",
    syncConnector: "admin"
  },
  features: { connectors: { free: 2, standard: 20, unlimited: 100 } },
  seeds: {
    createConnector: [{ name: "Shop", collection: "products", provider: "generic", sync_mode: "push" }],
    updateConnector: [{ name: "Shop", mapping: { title: "name" } }],
    testConnectorMapping: [{ event: { id: "1", title: "Lamp" } }],
    syncConnector: [{}, { full: true, confirm_deletes: true }],
    pushConnectorEvents: [{ events: [{ external_id: "1", document: { title: "Lamp" } }] }]
  },
  layer: Layer.provideMerge(layerApplier, Layer.provideMerge(Layer.merge(Pulls.layer, Pushes.layer), Connectors.layer)),
  audited: {
    // Without the secrets and the token, sealed or not.
    connector: (sql, { id, organizationId }) =>
      sql`SELECT (to_jsonb(t) - 'secrets' - 'pull_token')::text AS row FROM connectors t WHERE organization_id = ${organizationId} AND id = ${id}`
  },
  expiries: [
    expireJournal,
    (rowsMax) => shortenJournal(rowsMax),
    expireLeftovers,
    expireCreations,
    expirePushes,
    expireDeletions
  ]
})
