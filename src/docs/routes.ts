/**
 * The OpenAPI documents of each plane and the reference page that shows them: generated from the list of operations.
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
import { pageFile } from "./reference-page.ts"

const fileReply = (name: string, headers: IncomingHttpHeaders) =>
  Effect.suspend(() => {
    const file = pageFile(name)
    if (file === undefined) return Effect.fail(new NotFound({ message: "Not Found" }))
    const common = { etag: file.etag, "cache-control": "no-cache", vary: "accept-encoding" }
    if (headers["if-none-match"] === file.etag) return Effect.succeed(new Reply(304, "", file.type, common))
    return Effect.succeed(
      /\bgzip\b/.test(headers["accept-encoding"] ?? "")
        ? new Reply(200, file.gzip, file.type, { ...common, "content-encoding": "gzip" })
        : new Reply(200, file.plain, file.type, common)
    )
  })

/** Both texts are made once, at start. */
export const documents = (
  implemented: ReadonlyArray<Implemented>,
  { groups: sentences }: Pick<DocumentOptions, "groups">
): ReadonlyArray<Implemented> => {
  const operations: ReadonlyArray<Operation> = [
    ...implemented.map(({ operation }) => operation),
    contract.getTenantDocument,
    contract.getGatewayDocument
  ]
  const groups = new Map([...sentences, ["reference", "These documents and the page that shows them."]])
  const roles = new Map(
    implemented.flatMap(({ operation, role }) => (role === undefined ? [] : [[operation.id, role] as const]))
  )
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
  const tenantText = JSON.stringify(tenant)
  const gatewayText = JSON.stringify(gateway)
  return [
    implement(contract.getTenantDocument, () => Effect.succeed(new Reply(200, tenantText))),
    implement(contract.getGatewayDocument, () => Effect.succeed(new Reply(200, gatewayText))),
    implement(contract.getReference, ({ headers }) => fileReply("index.html", headers)),
    implement(contract.getReferenceFile, ({ headers, params }) => fileReply(params.file, headers))
  ]
}
