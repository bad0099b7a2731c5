/** Requests to addresses that tenants chose, as metrics. */
import { Effect } from "effect"
import { type Measure, spreadOver } from "../metrics/measure.ts"
import { CurrentOutbound } from "../ports/outbound-http/outbound-http.ts"

export const metrics = Effect.map(CurrentOutbound, (times): ReadonlyArray<Measure> => [
  {
    name: "dowser_outbound_request_seconds",
    type: "histogram",
    help: "Time of requests to addresses of tenants, by outcome: 2xx, 4xx, timeout, refused_address.",
    read: Effect.sync(() => spreadOver("outcome", times))
  }
])
