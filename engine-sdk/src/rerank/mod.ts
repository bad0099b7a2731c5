/** Names of the rerank folder. */
export * from "./reranker.ts"
