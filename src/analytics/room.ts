/** Figures about visitors' actions. */
import { Layer } from "effect"
import { Analytics } from "./service.ts"
import { PopularDocuments } from "./popular-documents.ts"
import { expireInstants } from "./instants-retention.ts"
import { routes } from "./routes.ts"
import { defineRoom } from "../room.ts"

export const room = defineRoom({
  name: "analytics",
  routes,
  reaches: {
    getQueryMetrics: "each",
    getZeroResultMetrics: "each",
    getOverviewMetrics: "each",
    getProductMetrics: "each",
    getFilterMetrics: "each"
  },
  groups: { analytics: "Figures of searches, products and filters." },
  layer: Layer.mergeAll(Analytics.layer, PopularDocuments.layer),
  expiries: [expireInstants]
})
