/**
 * The admin port: `/metrics` for the operator's Prometheus, and nothing else. It needs no credential and so listens on
 * loopback by default; it shows counts of the program, never of one organization.
 */
import { createServer } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { exposition } from "./exposition.ts"
import type { Measure } from "./measure.ts"
import { processMeasures } from "./process-measures.ts"

export interface AdminPort {
  readonly host: string
  readonly port: number
}
/** Listens when built and stops with its scope. `measures`: created once, read at each scrape. */
export const layerMetrics = <E, R>(
  { host, port }: AdminPort,
  measures: Effect.Effect<ReadonlyArray<Measure>, E, R>
) => {
  const routes = HttpRouter.addAll(
    Effect.map(measures, (own) => [
      HttpRouter.route(
        "GET",
        "/metrics",
        Effect.map(exposition([...processMeasures, ...own]), (text) =>
          HttpServerResponse.text(text, { contentType: "text/plain; version=0.0.4; charset=utf-8" })
        )
      )
    ])
  )
  return HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provide(NodeHttpServer.layer(() => createServer(), { host, port, gracefulShutdownTimeout: "1 second" }))
  )
}
