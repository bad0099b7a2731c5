/** Completions, prompts and refinements from what others searched. */
import { Layer } from "effect"
import { PopularQueries } from "./popular-queries.ts"
import { Suggestions } from "./service.ts"
import { expireQueries } from "./queries-retention.ts"
import { routes } from "./routes.ts"
import { defineRoom } from "../room.ts"

export const room = defineRoom({
  name: "suggestions",
  routes,
  reaches: { getSuggestions: "path", getPrompts: "path" },
  groups: { suggestions: "Completions of what is typed, and prompts before it." },
  engineGroups: ["suggestions"],
  layer: Layer.provideMerge(Suggestions.layer, PopularQueries.layer),
  expiries: [(rowsMax) => expireQueries(rowsMax)]
})
