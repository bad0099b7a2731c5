/** The engines that run in this process. */
export { createEngine } from "./create-engine.ts"
export { LocalEngine } from "./local-engine.ts"
export { openEngine, type OpenEngineOptions } from "./open-engine.ts"
export type { SearchWorkers } from "../lane/placing.ts"
