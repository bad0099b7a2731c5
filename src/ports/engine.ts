/** The search engine behind its port, as a service. Which engine it is, only `src/runtime` knows. */
import type { SearchEngine } from "../../engine-sdk/src/mod.ts"
import { Context } from "effect"

export class Engine extends Context.Service<Engine, SearchEngine>()("dowser/ports/Engine") {}

/** Why this process has no engine, where it runs without one: operations that need one answer that, as a 502. */
export const EngineAbsence = Context.Reference<string | undefined>("dowser/ports/EngineAbsence", { defaultValue: () => undefined })
