/** Experiments: who is shown what, and what the figures say. Pure; keeps nothing and reads no clock. */
export * from "./assignment.ts"
export * from "./confidence-sequence.ts"
export * from "./holm.ts"
export * from "./interleave.ts"
export * from "./quantile-sketch.ts"
export * from "./ratio-estimate.ts"
export * from "./sample-ratio.ts"
export * from "./unit-sums.ts"
