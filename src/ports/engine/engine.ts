/** The search engine behind its port, as a service. Only `src/runtime` knows which engine it is. */
import type { SearchEngine } from "@dowser/engine-sdk"
import { Context } from "effect"
import { Tally, Timings } from "@dowser/log/process/timings"
import type { CircuitState } from "./circuit.ts"

export class Engine extends Context.Service<Engine, SearchEngine>()("dowser/ports/Engine") {}

/**
 * Why no engine answers this process: it runs without one, or cannot reach another process's. Operations that need one
 * answer this as a 502.
 */
export const EngineAbsence = Context.Reference<() => string | undefined>("dowser/ports/EngineAbsence", {
  defaultValue: () => () => undefined
})
/** Whether the engine is in this process: background work over it runs only there. */
export const OwnsEngine = Context.Reference<boolean>("dowser/ports/OwnsEngine", { defaultValue: () => true })

/** States of the circuit breakers between this process and its engine (`guarded-engine.ts`). */
export interface EngineCircuits {
  readonly reads: CircuitState
  readonly writes: CircuitState
}
/** For the operator's status; both closed if an engine has none. */
export const CurrentCircuits = Context.Reference<() => EngineCircuits>("dowser/ports/CurrentCircuits", {
  defaultValue: () => () => ({ reads: "closed", writes: "closed" })
})
/** Calls of the engine since this process started. */
export interface EngineCalls {
  /** By what is called, until they were answered. */ readonly times: Timings
  /** By outcome: `answered`, `refused` (its circuit was open), `unavailable`, `failed` (a defect). */
  readonly outcomes: Tally
}
export const CurrentCalls = Context.Reference<EngineCalls>("dowser/ports/CurrentCalls", {
  defaultValue: () => ({ times: new Timings(), outcomes: new Tally() })
})
/** Threads that search for the one that takes requests, where the engine has such. */
interface SearchThreads {
  readonly ready: number
  /** Sent to them since the engine was opened. */ readonly searches: number
  /** Of each, beside the shared index. */ readonly own_bytes: ReadonlyArray<number>
}
export const CurrentSearchThreads = Context.Reference<() => SearchThreads | undefined>(
  "dowser/ports/CurrentSearchThreads",
  { defaultValue: () => () => undefined }
)
/**
 * How often something was removed from an organization's collections since the start: documents deleted, a collection
 * dropped. 0 if an engine does not count.
 */
export const CurrentRemovals = Context.Reference<(organizationId: string) => number>("dowser/ports/CurrentRemovals", {
  defaultValue: () => () => 0
})
/** The same of documents that were written and schemas that were changed; NaN where an engine does not count. */
export const CurrentChanges = Context.Reference<(organizationId: string) => number>("dowser/ports/CurrentChanges", {
  defaultValue: () => () => Number.NaN
})
