/** Landing pages of facet values. Full key. */
import { Schema } from "effect"
import { optionalText } from "../http/checks.ts"
import { Conflict, NotFound } from "../http/errors.ts"
import { operation } from "../http/operation.ts"
import { pageFields } from "../http/page.ts"
import { Job } from "../jobs/schema.ts"
import { FeatureNotInPlan } from "../metering/errors.ts"
import { PageEmpty, PageGone } from "./errors.ts"
import { described } from "./examples.ts"
import { SeoPage, SeoPageList, SeoRule, SeoRuleBody, SeoRuleList, STATUSES } from "./schema.ts"

const at = { group: "seo", plane: "control", scope: "full" } as const
const ruleId = Schema.String.annotate({ description: "The id of a rule, `seo_…`." })
const one = { ...at, params: { ruleId } } as const
const path = "/v1/seo/rules/:ruleId"
const paging = pageFields({ max: 250, byDefault: 50 })

export const listSeoRules = operation({
  ...at,
  ...described.listSeoRules,
  id: "listSeoRules",
  summary: "List landing-page rules",
  method: "GET",
  path: "/v1/seo/rules",
  query: Schema.Struct(paging),
  success: SeoRuleList
})
export const createSeoRule = operation({
  ...at,
  ...described.createSeoRule,
  id: "createSeoRule",
  summary: "Create a rule for landing pages of a facet field",
  method: "POST",
  path: "/v1/seo/rules",
  payload: SeoRuleBody,
  payloadIsChecked: false,
  success: SeoRule,
  status: 201,
  errors: [FeatureNotInPlan]
})
export const getSeoRule = operation({
  ...one,
  ...described.getSeoRule,
  id: "getSeoRule",
  summary: "Get a rule",
  method: "GET",
  path,
  success: SeoRule,
  errors: [NotFound]
})
export const updateSeoRule = operation({
  ...one,
  ...described.updateSeoRule,
  id: "updateSeoRule",
  summary: "Replace a rule; its pages stay as they are",
  method: "PUT",
  path,
  payload: SeoRuleBody,
  payloadIsChecked: false,
  success: SeoRule,
  errors: [NotFound]
})
export const deleteSeoRule = operation({
  ...one,
  ...described.deleteSeoRule,
  id: "deleteSeoRule",
  summary: "Delete a rule with its pages",
  method: "DELETE",
  path,
  success: Schema.Struct({ id: Schema.String }).annotate({ identifier: "DeletedSeoRule" }),
  errors: [NotFound]
})
export const generateSeoPages = operation({
  ...one,
  ...described.generateSeoPages,
  id: "generateSeoPages",
  summary: "Generate a page for every value in the collection",
  method: "POST",
  path: `${path}/pages/generate`,
  success: Job,
  status: 202,
  errors: [Conflict, NotFound]
})
export const auditSeoPages = operation({
  ...one,
  ...described.auditSeoPages,
  id: "auditSeoPages",
  summary: "Audit the pages of a rule",
  method: "POST",
  path: `${path}/pages/audit`,
  success: Job,
  status: 202,
  errors: [Conflict, NotFound]
})
export const listSeoPages = operation({
  ...one,
  ...described.listSeoPages,
  id: "listSeoPages",
  summary: "List the pages of a rule",
  method: "GET",
  path: `${path}/pages`,
  query: Schema.Struct({
    ...paging,
    status: optionalText((text) =>
      (STATUSES as ReadonlyArray<string>).includes(text) ? undefined : `One of ${STATUSES.join(", ")}`
    )
  }),
  success: SeoPageList,
  errors: [NotFound]
})
export const getSeoPage = operation({
  ...one,
  ...described.getSeoPage,
  id: "getSeoPage",
  summary: "Get a page as JSON, or with `.html` behind its slug as a whole HTML document",
  method: "GET",
  path: `${path}/pages/:slug`,
  params: {
    ruleId,
    slug: Schema.String.annotate({ description: "The slug of a page; `slug.html` for the document." })
  },
  success: SeoPage,
  successMedia: ["application/json", "text/html"],
  errors: [NotFound, PageEmpty, PageGone]
})
export const exportSeoSitemap = operation({
  ...one,
  ...described.exportSeoSitemap,
  id: "exportSeoSitemap",
  summary: "The sitemap of a rule's pages",
  method: "GET",
  path: `${path}/sitemap.xml`,
  query: Schema.Struct({
    part: optionalText((text) => (/^[1-9]\d{0,3}$/.test(text) ? undefined : "A whole number from 1"))
  }),
  successType: "text",
  successMedia: ["application/xml"],
  errors: [Conflict, NotFound]
})
