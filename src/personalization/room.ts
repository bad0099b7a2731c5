/** Personalized searches: histories of visitors, and the step that reorders by them. */
import { Layer } from "effect"
import { defineRoom } from "../room.ts"
import { Histories } from "./histories.ts"
import { expireHistories, historiesByVisitor, historyTables } from "./history-tables.ts"
import { Personalization } from "./personalized.ts"
import { routes } from "./routes.ts"

export const room = defineRoom({
  name: "personalization",
  routes,
  reaches: { getPersonalizationProfile: "filtered" },
  groups: { personalization: "What searches know of a visitor." },
  engineGroups: ["personalization"],
  layer: Layer.provideMerge(Personalization.layer, Histories.layer),
  roles: { getPersonalizationProfile: "member" },
  expiries: [(rowsMax) => expireHistories(rowsMax)],
  migrations: { "2026112321_visitor_histories": historyTables, "2026112401_histories_by_visitor": historiesByVisitor }
})
