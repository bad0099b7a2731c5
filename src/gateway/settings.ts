/** Settings of the gateway. */
import { Context } from "effect"
import { SEARCH_TIME_MAX_MS } from "./limits.ts"

export interface GatewaySettings {
  readonly searchTimeMax_ms: number
  /** Whether to refuse requests now; by default determined by the delay of this thread. */
  readonly isShedding?: () => boolean
}
export const GatewaySettings = Context.Reference<GatewaySettings>("dowser/gateway/GatewaySettings", {
  defaultValue: () => ({ searchTimeMax_ms: SEARCH_TIME_MAX_MS })
})
