/** The search engine behind its port, as a service. Only `src/runtime` knows which engine it is. */
import type { SearchEngine } from "@dowser/engine-sdk"
import { Context } from "effect"
import { Tally, Timings } from "@dowser/log/process/timings"
import type { CircuitState } from "./circuit.ts"

export class Engine extends Context.Service<Engine, SearchEngine>()("dowser/ports/Engine") {}

/**
 * Why no engine answers in this process: it runs without one, or cannot reach that of another process. Operations that
 * need one answer this as a 502.
 */
export const EngineAbsence = Context.Reference<() => string | undefined>("dowser/ports/EngineAbsence", {
  defaultValue: () => () => undefined
})
/** Whether the engine is in this process: background work on it runs only there. */
export const OwnsEngine = Context.Reference<boolean>("dowser/ports/OwnsEngine", { defaultValue: () => true })

/** States of the circuit breakers between this process and its engine (`guarded-engine.ts`). */
export interface EngineCircuits {
  readonly reads: CircuitState
  readonly writes: CircuitState
}
/** For the operator's status; both are closed if an engine has no circuits. */
export const CurrentCircuits = Context.Reference<() => EngineCircuits>("dowser/ports/CurrentCircuits", {
  defaultValue: () => () => ({ reads: "closed", writes: "closed" })
})
/** Calls to the engine since this process started. */
export interface EngineCalls {
  /** Durations until the answer, by method. */ readonly times: Timings
  /** By outcome: `answered`, `refused` (its circuit was open), `unavailable`, `failed` (a defect). */
  readonly outcomes: Tally
}
export const CurrentCalls = Context.Reference<EngineCalls>("dowser/ports/CurrentCalls", {
  defaultValue: () => ({ times: new Timings(), outcomes: new Tally() })
})
/** Threads that search on behalf of the thread that takes requests, if the engine has any. */
interface SearchThreads {
  readonly ready: number
  /** Searches sent to these threads since the engine was opened. */ readonly searches: number
  /** Memory of each thread, without the shared index. */ readonly own_bytes: ReadonlyArray<number>
}
export const CurrentSearchThreads = Context.Reference<() => SearchThreads | undefined>(
  "dowser/ports/CurrentSearchThreads",
  { defaultValue: () => () => undefined }
)
/**
 * Number of times that something was removed from an organization's collections since the start: documents deleted or
 * a collection dropped. 0 if the engine does not count.
 */
export const CurrentRemovals = Context.Reference<(organizationId: string) => number>("dowser/ports/CurrentRemovals", {
  defaultValue: () => () => 0
})
/** Number of writes of documents and changes of schemas, likewise; NaN if the engine does not count. */
export const CurrentChanges = Context.Reference<(organizationId: string) => number>("dowser/ports/CurrentChanges", {
  defaultValue: () => () => Number.NaN
})
