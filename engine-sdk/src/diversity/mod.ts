/** Exports of the diversity folder. */
export * from "./caps.ts"
export * from "./diversity-stages.ts"
export { greedyMmr, type MmrInputs, type MmrOutcome } from "./mmr.ts"
export * from "./near-duplicate.ts"
export * from "./similarity.ts"
