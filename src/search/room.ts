/** Searches, single and multiple. */
import { Effect, Layer } from "effect"
import { Installation } from "../installation.ts"
import { Search } from "./search.ts"
import { metrics } from "./metrics.ts"
import { routes } from "./routes.ts"
import { seeds } from "./seeds.ts"
import { defineRoom } from "../room.ts"

export const room = defineRoom({
  name: "search",
  routes,
  reaches: { searchCollection: "path", multiSearch: "each" },
  groups: { search: "Searching one collection or several." },
  seeds,
  engineGroups: ["search"],
  layer: Layer.unwrap(Effect.map(Installation, Search.layer)),
  metrics
})
