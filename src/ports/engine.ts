/** The search engine behind its port, as a service. Which engine it is, only `src/runtime` knows. */
import type { SearchEngine } from "../../engine-sdk/src/mod.ts"
import { Context } from "effect"

export class Engine extends Context.Service<Engine, SearchEngine>()("dowser/ports/Engine") {}
