/** The health probe. */
import { Effect } from "effect"
import { version } from "../config.ts"
import { implement } from "../wire/route.ts"
import * as contract from "./contract.ts"

const health = { ok: true, status: "ok" as const, version }
export const routes = Effect.succeed([
  implement(contract.getHealth, () => Effect.succeed(health)),
  implement(contract.getHealthAlias, () => Effect.succeed(health))
])
