/** What the documents of a collection name, and how these things are related. */
import { Effect } from "effect"
import { type Measure, single } from "../metrics/measure.ts"
import { defineRoom } from "../room.ts"
import { Graphs } from "./graphs.ts"
import { graphs } from "./migration.ts"
import { routes } from "./routes.ts"

const metrics = Effect.map(Graphs, ({ started }): ReadonlyArray<Measure> => [
  {
    name: "dowser_graph_jobs_total",
    type: "counter",
    help: "Number of collections with a graph.",
    read: Effect.map(started, single)
  }
])

export const room = defineRoom({
  name: "graph",
  routes,
  metrics,
  reaches: {
    listGraphEntities: "path",
    generateGraphEntities: "path",
    listGraphCommunities: "path",
    generateGraphCommunities: "path"
  },
  groups: { graph: "What documents of a collection name, and groups of it that belong together." },
  engineGroups: ["graph"],
  layer: Graphs.layer,
  // Rows in Postgres, which do not count as stored bytes of the engine; the plan limits their number.
  features: { graph_entities: { free: 1_000, standard: 50_000, unlimited: 500_000 } },
  roles: {
    listGraphEntities: "member",
    generateGraphEntities: "admin",
    listGraphCommunities: "member",
    generateGraphCommunities: "admin"
  },
  migrations: { "2026112621_graphs": graphs }
})
