/** Recommendations from what visitors do, updated with every event: one collection's state and its answers. */
export * from "./collection-model.ts"
export type { TogetherParameters } from "./bought-together.ts"
export { TOGETHER } from "./bought-together.ts"
export { POPULAR, type PopularParameters, TRENDING, type TrendingParameters } from "./heat.ts"
export { NEXT_ITEMS, type NextItemsParameters, TASTE } from "./next-items.ts"
export { type Kind, KINDS } from "./session-log.ts"
