/** The OpenAPI documents, the page that shows them, and the guide. */
import { Schema } from "effect"
import { operation } from "../http/operation.ts"
import { NotFound } from "../http/errors.ts"
import { described } from "./examples.ts"
import { QUERY_CHARACTERS_MAX } from "./guide/search-bounds.ts"

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

const guideAt = {
  ...at,
  plane: "control",
  successType: "html",
  successMedia: ["text/html", "image/png", "image/svg+xml"],
  errors: [NotFound]
} as const
export const getGuide = operation({
  ...guideAt,
  ...described.getGuide,
  id: "getGuide",
  summary: "The guide",
  path: "/docs/guide"
})
export const getGuidePage = operation({
  ...guideAt,
  ...described.getGuidePage,
  id: "getGuidePage",
  summary: "A page of the guide, or a picture of one",
  path: "/docs/guide/:page"
})
export const getGuideSubpage = operation({
  ...guideAt,
  ...described.getGuideSubpage,
  id: "getGuideSubpage",
  summary: "A page of a part of the guide",
  path: "/docs/guide/:folder/:page"
})
export const searchGuide = operation({
  ...at,
  ...described.searchGuide,
  id: "searchGuide",
  summary: "Search the guide",
  path: "/docs/guide/search.json",
  plane: "control",
  query: Schema.Struct({
    q: Schema.String.check(Schema.isMaxLength(QUERY_CHARACTERS_MAX)).annotate({ description: "Words to look for." })
  }),
  success: Schema.Struct({
    found: Schema.Int,
    hits: Schema.Array(
      Schema.Struct({
        title: Schema.String,
        heading: Schema.String,
        url: Schema.String,
        excerpt: Schema.String
      }).annotate({ identifier: "GuideHit" })
    )
  }).annotate({ identifier: "GuideHits" })
})
