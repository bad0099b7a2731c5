/** The OpenAPI documents of each plane and the reference page that reads them: generated from the list of operations. */
import { Effect } from "effect"
import { contractVersion } from "../config.ts"
import { openApiOf } from "../wire/openapi.ts"
import { operation, type Operation } from "../wire/operation.ts"
import { Reply } from "../wire/reply.ts"
import { implement, type Implemented } from "../wire/route.ts"
import { referencePage } from "./reference-page.ts"

const getTenantDocument = operation({ id: "getOpenApi", group: "documents", summary: "This document", method: "GET", path: "/v1/openapi.json", plane: "control", scope: "public", isRateFree: true })
const getGatewayDocument = operation({ id: "getGatewayOpenApi", group: "documents", summary: "The gateway's document", method: "GET", path: "/api/v1/openapi.json", plane: "gateway", scope: "public", isRateFree: true })
const getReference = operation({ id: "getReference", group: "documents", summary: "API reference", method: "GET", path: "/docs", plane: "control", scope: "public", successType: "html", isRateFree: true })

/** Both texts are made once, at start. */
export const documents = (operations: ReadonlyArray<Operation>): ReadonlyArray<Implemented> => {
  const tenant = openApiOf(operations.filter((each) => each.path.startsWith("/v1/") || each.path.startsWith("/console/")), {
    title: "Dowser tenant API", version: contractVersion, description: "Hosted search for many tenants. Bodies are JSON unless stated; every answer carries x-request-id."
  })
  const gateway = openApiOf(operations.filter((each) => each.path.startsWith("/api/v1/")), { title: "Dowser search gateway", version: contractVersion, description: "The application-layer search gateway." })
  const tenantText = JSON.stringify(tenant)
  const gatewayText = JSON.stringify(gateway)
  const page = referencePage(tenant)
  return [
    implement(getTenantDocument, () => Effect.succeed(new Reply(200, tenantText))),
    implement(getGatewayDocument, () => Effect.succeed(new Reply(200, gatewayText))),
    implement(getReference, () => Effect.succeed(new Reply(200, page.html, "text/html; charset=utf-8", { "content-security-policy": page.policy })))
  ]
}
