/**
 * The OpenAPI documents of each plane and the reference page that shows them, generated from the list of operations;
 * also the guide.
 */
import type { IncomingHttpHeaders } from "node:http"
import { Effect } from "effect"
import { contractVersion } from "../config.ts"
import { NotFound } from "../http/errors.ts"
import { type DocumentOptions, openApiOf } from "../api/openapi.ts"
import type { Operation } from "../http/operation.ts"
import { Reply } from "../http/reply.ts"
import { implement, type Implemented } from "../api/implement.ts"
import * as contract from "./contract.ts"
import type { ApiDocument } from "./guide/api-pages.ts"
import { guideRoutes } from "./guide/routes.ts"
import { fileReply } from "../http/page-file.ts"
import { pageFile } from "./reference-page.ts"

const viewerFile = (name: string, headers: IncomingHttpHeaders) =>
  Effect.suspend(() => {
    const file = pageFile(name)
    return file === undefined
      ? Effect.fail(new NotFound({ message: "Not Found" }))
      : Effect.succeed(fileReply(file, headers))
  })

/** The documents of both planes. */
export const apiDocuments = (
  listed: ReadonlyArray<Operation>,
  { groups: sentences, roles }: Pick<DocumentOptions, "groups" | "roles">
) => {
  const operations = [...listed, contract.getTenantDocument, contract.getGatewayDocument]
  const groups = new Map([...sentences, ["reference", "These documents and the page that shows them."]])
  const tenant = openApiOf(
    operations.filter((each) => each.path.startsWith("/v1/") || each.path.startsWith("/console/")),
    {
      title: "Dowser tenant API",
      version: contractVersion,
      description: "Hosted search for many tenants. Bodies are JSON unless stated; every answer carries x-request-id.",
      groups,
      roles
    }
  )
  const gateway = openApiOf(
    operations.filter((each) => each.path.startsWith("/api/v1/")),
    {
      title: "Dowser search gateway",
      version: contractVersion,
      description: "The application-layer search gateway.",
      groups,
      roles
    }
  )
  return { gateway, tenant }
}

/** Both texts are generated once, at start; the guide reads them when its first page is requested. */
export const documents = (
  implemented: ReadonlyArray<Implemented>,
  { groups }: Pick<DocumentOptions, "groups">
): ReadonlyArray<Implemented> => {
  const roles = new Map(
    implemented.flatMap(({ operation, role }) => (role === undefined ? [] : [[operation.id, role] as const]))
  )
  const { gateway, tenant } = apiDocuments(
    implemented.map(({ operation }) => operation),
    { groups, roles }
  )
  const tenantText = JSON.stringify(tenant)
  const gatewayText = JSON.stringify(gateway)
  return [
    implement(contract.getTenantDocument, () => Effect.succeed(new Reply(200, tenantText))),
    implement(contract.getGatewayDocument, () => Effect.succeed(new Reply(200, gatewayText))),
    implement(contract.getReference, ({ headers }) => viewerFile("index.html", headers)),
    implement(contract.getReferenceFile, ({ headers, params }) => viewerFile(params.file, headers)),
    ...guideRoutes(() => [JSON.parse(tenantText) as ApiDocument, JSON.parse(gatewayText) as ApiDocument])
  ]
}
