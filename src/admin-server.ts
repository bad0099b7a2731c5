/** Contents of an API process's admin port: metrics of the server, the log, background work and all rooms. */
import { Effect } from "effect"
import { MeasuredLog } from "@dowser/log/event-log/measured"
import { httpMeasures } from "./metrics/http-measures.ts"
import { backgroundMeasures } from "./metrics/background.ts"
import { logMeasures } from "./metrics/log-measures.ts"
import { type AdminPort, layerMetrics } from "./metrics/server.ts"
import { rooms } from "./rooms.ts"

/** All metrics except those that the operating system provides about the process. */
export const measures = Effect.gen(function* () {
  return [
    ...(yield* httpMeasures),
    ...logMeasures(yield* MeasuredLog),
    ...(yield* backgroundMeasures),
    ...(yield* rooms.metrics)
  ]
})

export const layerAdmin = (at: AdminPort) => layerMetrics(at, measures)
