/**
 * The admin port: `/metrics` for the operator's Prometheus, and nothing else. It asks for no credential and so listens
 * on loopback unless the operator says otherwise; it shows counts of the program, never of one organization.
 */
import { createServer } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { rooms } from "./rooms.ts"
import { exposition } from "./metrics/exposition.ts"
import { processMeasures } from "./metrics/process-measures.ts"

const metrics = HttpRouter.addAll(
  Effect.map(rooms.metrics, (measures) => [
    HttpRouter.route(
      "GET",
      "/metrics",
      Effect.map(exposition([...processMeasures, ...measures]), (text) =>
        HttpServerResponse.text(text, { contentType: "text/plain; version=0.0.4; charset=utf-8" })
      )
    )
  ])
)

/** Listens when built and stops with its scope. */
export const layerAdmin = ({ host, port }: { readonly host: string; readonly port: number }) =>
  HttpRouter.serve(metrics, { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provide(NodeHttpServer.layer(() => createServer(), { host, port, gracefulShutdownTimeout: "1 second" }))
  )
