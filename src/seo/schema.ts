/** Rules of pages and the pages themselves as the API returns them, and their limits. */
import { Schema } from "effect"

/** Values of a rule that get a page: those with the most documents. */
export const VALUES_MAX = 50_000
/** Decision: addresses are permanent, so a rule keeps those of gone values; beyond this number it gets no new one. */
export const ROWS_MAX = 100_000
/** Limit of a value, in bytes of UTF-8. A longer one cannot name a page. */
export const VALUE_BYTES_MAX = 512
export const MIN_PRODUCTS = 3
/** How long the page of a value without documents is kept before it is gone. */
export const EMPTY_DAYS = 14
export const TITLE_MAX = 60,
  DESCRIPTION_MAX = 155
/** Addresses in a sitemap must be shorter. */
export const URL_MAX = 2_048
export const TEMPLATE_MAX = { title: 300, description: 1_000, h1: 300, text: 10_000 } as const

const templateFields = {
  title: Schema.String,
  description: Schema.String,
  h1: Schema.String,
  text: Schema.String
}
const TemplatesShown = Schema.Struct(templateFields).annotate({ identifier: "SeoTemplates" })
export type Templates = typeof TemplatesShown.Type
export const templatesByDefault: Templates = {
  title: "#VALUE# | #SITE_NAME#",
  description: "#COUNT# products: #VALUE#. From #MIN_PRICE# to #MAX_PRICE# #CURRENCY#. Brands: #TOP_BRANDS#.",
  h1: "#VALUE#",
  text: "There are #COUNT# products of #VALUE#. They cost from #MIN_PRICE# to #MAX_PRICE# #CURRENCY#. Most are of #TOP_BRANDS#. Among them: #TOP_PRODUCTS#."
}

export const SeoRule = Schema.Struct({
  id: Schema.String,
  collection: Schema.String,
  name: Schema.String,
  facet_field: Schema.String,
  url_template: Schema.String,
  site_name: Schema.String,
  active: Schema.Boolean,
  min_products: Schema.Int,
  templates: TemplatesShown,
  created_at: Schema.Int,
  updated_at: Schema.Int
}).annotate({ identifier: "SeoRule" })
export type SeoRule = typeof SeoRule.Type
export const SeoRuleList = Schema.Struct({
  data: Schema.Array(SeoRule),
  next_cursor: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "SeoRuleList", description: "By id." })
/** For the API document; `rule-input.ts` reads the body, and names every invalid field. */
export const SeoRuleBody = Schema.Struct({
  collection: Schema.String,
  name: Schema.String,
  facet_field: Schema.String,
  url_template: Schema.optionalKey(Schema.String),
  site_name: Schema.optionalKey(Schema.String),
  active: Schema.optionalKey(Schema.Boolean),
  min_products: Schema.optionalKey(Schema.Int),
  templates: Schema.optionalKey(
    Schema.Struct({
      title: Schema.optionalKey(Schema.String),
      description: Schema.optionalKey(Schema.String),
      h1: Schema.optionalKey(Schema.String),
      text: Schema.optionalKey(Schema.String)
    }).annotate({ identifier: "SeoTemplatesBody" })
  )
}).annotate({
  identifier: "SeoRuleBody",
  description: "`url_template` contains `#SLUG#` once, in its path or query; omitted fields have their defaults."
})

export const STATUSES = ["index", "noindex", "canonical", "gone"] as const
export type Status = (typeof STATUSES)[number]
export const SeoPage = Schema.Struct({
  id: Schema.String,
  rule_id: Schema.String,
  value: Schema.String,
  slug: Schema.String,
  url: Schema.String,
  status: Schema.Literals(STATUSES),
  /** URL of the page that replaces it, or to which it moved. */ canonical_url: Schema.optionalKey(Schema.String),
  title: Schema.String,
  description: Schema.String,
  h1: Schema.String,
  text: Schema.String,
  count: Schema.Int,
  document_ids: Schema.Array(Schema.String),
  hash: Schema.String,
  generated_at: Schema.Int,
  /** The last time that any of its content changed. */ changed_at: Schema.Int
}).annotate({
  identifier: "SeoPage",
  description: "`title`, `description`, `h1` and `text` are escaped for HTML; `value` is as the documents have it."
})
export type SeoPage = typeof SeoPage.Type
export const SeoPageList = Schema.Struct({
  data: Schema.Array(SeoPage),
  next_cursor: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "SeoPageList", description: "By slug." })
