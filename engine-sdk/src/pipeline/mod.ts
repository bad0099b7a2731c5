/** Exports of the pipeline folder. */
export { merchandise } from "./merchandise.ts"
export { merchandiseUnion } from "./merchandise-union.ts"
export * from "./merchandising.ts"
export { WINDOW } from "./prepare.ts"
export { runStages, type StageEnvironment, type StageRun } from "./run-stages.ts"
export * from "../stage/stage.ts"
export { parseStoredRun, recordRun, replayRun, storedRunText, type StoredRun } from "./stored-run.ts"
export * from "./trace.ts"
