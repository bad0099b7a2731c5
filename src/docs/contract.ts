/** The OpenAPI documents and the page that shows them. */
import { operation } from "../http/operation.ts"
import { NotFound } from "../http/errors.ts"
import { described } from "./examples.ts"

const at = { group: "reference", method: "GET", scope: "public", isRateFree: true } as const
export const getTenantDocument = operation({
  ...at,
  ...described.getTenantDocument,
  id: "getOpenApi",
  summary: "This document",
  path: "/v1/openapi.json",
  plane: "control"
})
export const getGatewayDocument = operation({
  ...at,
  ...described.getGatewayDocument,
  id: "getGatewayOpenApi",
  summary: "The gateway's document",
  path: "/api/v1/openapi.json",
  plane: "gateway"
})
export const getReference = operation({
  ...at,
  ...described.getReference,
  id: "getReference",
  summary: "API reference",
  path: "/docs",
  plane: "control",
  successType: "html",
  errors: [NotFound]
})
export const getReferenceFile = operation({
  ...at,
  ...described.getReferenceFile,
  id: "getReferenceFile",
  summary: "A file of the API reference",
  path: "/docs/:file",
  plane: "control",
  successType: "text",
  errors: [NotFound]
})
