/** Exports of the rerank folder. */
export * from "./cross-encoder.ts"
export { featuresOf, type FeatureTable } from "./features.ts"
export { linearReranker, linearScores, untrainedModel, type LinearModel } from "./linear.ts"
export { propensityOf } from "./propensity.ts"
export * from "./rerank-stage.ts"
export * from "./reranker.ts"
export * from "./train-linear.ts"
