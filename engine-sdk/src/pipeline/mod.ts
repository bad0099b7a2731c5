/** Names of the pipeline folder. */
export * from "./merchandising.ts"
export * from "./stage.ts"
export * from "./trace.ts"
