/** The response to addresses without an operation: first 401, then 404 in the plane's format. */
import type { IncomingMessage } from "node:http"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Effect } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { clientAddress } from "../http/client-address.ts"
import { NotFound } from "../http/errors.ts"
import { originOf } from "../http/origin.ts"
import { planeOfPath } from "../http/plane.ts"
import { KeyAuthenticator } from "../identity/authenticators.ts"
import { pathOf, presentedKey, searchOf } from "./presented-key.ts"
import { causeResponse, headersOf, type IdentifiedKey } from "./responses.ts"
import type { RouteOptions } from "./route.ts"

export const unmatchedRoute = ({ trustedProxies = [] }: Pick<RouteOptions, "trustedProxies">) =>
  Effect.gen(function* () {
    const keys = yield* KeyAuthenticator
    return HttpRouter.route(
      "*",
      "/*",
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
        const node = NodeHttpServerRequest.toIncomingMessage(request) as IncomingMessage
        const path = pathOf(node.url ?? "/")
        const plane = planeOfPath(path)
        const { values: search } = searchOf(node.url ?? "/")
        const key = presentedKey({ plane, scope: "search" }, node.headers, search)
        const isApi = path.startsWith("/v1") || path.startsWith("/api/v1")
        let known: IdentifiedKey | undefined
        const checked = !isApi
          ? Effect.void
          : keys.check({
              key,
              scope: "search",
              address: clientAddress(node.socket.remoteAddress ?? "", node.headers["x-forwarded-for"], trustedProxies),
              origin: originOf(node.headers),
              collection: undefined,
              sessionId: undefined,
              isRateFree: false,
              isGateway: plane === "gateway",
              onKey: (key, rate) => {
                known = { key, rate }
              }
            })
        const program = Effect.andThen(checked, Effect.fail(new NotFound({ message: "Not Found" })))
        return Effect.catchCause(program, (cause) =>
          causeResponse(cause, plane, String(node.headers["x-request-id"]), path, headersOf(known, node))
        )
      })
    )
  })
