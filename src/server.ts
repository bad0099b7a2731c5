/** Rooms + documents + edges → one HTTP handler, which the server and the tests both use. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import { implementedOperations } from "./implemented.ts"
import { documents } from "./docs/routes.ts"
import { type EdgeOptions, makeServer } from "./http/edges.ts"
import { RequestFigures } from "./http/request-figures.ts"
import { rooms } from "./rooms.ts"
import { unmatchedRoute } from "./api/unmatched.ts"
import { type RouteOptions, routesOf } from "./api/route.ts"

/** Options that the program's operator chooses. */
type Chosen = Omit<RouteOptions, "reaches">

const routes = (options: Chosen) =>
  HttpRouter.addAll(
    Effect.gen(function* () {
      const implemented = yield* implementedOperations
      const described = documents(implemented, { groups: rooms.table("groups") })
      return [
        ...(yield* routesOf([...implemented, ...described], {
          ...options,
          reaches: rooms.table("reaches")
        })),
        yield* unmatchedRoute(options)
      ]
    })
  )

/**
 * The longest path segment as sent: an id of 256 bytes, every byte escaped, with a margin. The router's own limit of
 * 100 would hide documents and users.
 */
const PATH_PART_CHARACTERS_MAX = 4_096
/** Addresses have one spelling: a path that a proxy forbids cannot be reached as `//console` or `/Console`. */
const routerConfig = { maxParamLength: PATH_PART_CHARACTERS_MAX, caseSensitive: true, ignoreDuplicateSlashes: false }

/** Listens when built and stops accepting when its scope closes; requests in progress get 5 s. */
export const layerServer = (options: Chosen & EdgeOptions & { readonly host: string; readonly port: number }) =>
  HttpRouter.serve(routes(options), { disableLogger: true, disableListenLog: true, routerConfig }).pipe(
    Layer.provide(
      Layer.unwrap(
        Effect.map(RequestFigures, ({ connections }) =>
          NodeHttpServer.layer(makeServer({ ...options, counts: connections }), {
            host: options.host,
            port: options.port,
            gracefulShutdownTimeout: "5 seconds"
          })
        )
      )
    )
  )
