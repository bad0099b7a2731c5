/** Experiments: assignment of variants, and statistics of the outcome. Pure; stores nothing and reads no clock. */
export * from "./assignment.ts"
export * from "./confidence-sequence.ts"
export * from "./holm.ts"
export * from "./interleave.ts"
export * from "./quantile-sketch.ts"
export * from "./ratio-estimate.ts"
export * from "./sample-ratio.ts"
export * from "./unit-sums.ts"
