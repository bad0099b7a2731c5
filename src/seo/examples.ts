/** Descriptions of the operations of landing pages, each with an example request that succeeds. */
import { sampleIds } from "../api/sample-ids.ts"
import type { Described } from "../http/operation.ts"

const params = { ruleId: sampleIds.seoRule }
const rule = {
  name: "Brands",
  collection: "products",
  facet_field: "brand",
  url_template: "https://shop.example/brands/#SLUG#",
  site_name: "Example shop",
  templates: {
    title: "#VALUE# from #MIN_PRICE# #CURRENCY# | #SITE_NAME#",
    text: "#COUNT# products of #VALUE#. From #MIN_PRICE# to #MAX_PRICE# #CURRENCY#."
  }
}
export const described = {
  listSeoRules: {
    description: "Lists rules by id. A page has at most 250, 50 by default. It changes nothing.",
    example: { query: { limit: "20" } }
  },
  createSeoRule: {
    description:
      "Keeps a rule: which facet field of text gets pages, where they stand, and what they say. `url_template` has `#SLUG#` once; an unknown placeholder, or a field that the collection does not count, is a 400 that names it. A placeholder without a value takes its sentence with it. A plan without room for one more refuses it with 403.",
    example: { body: rule }
  },
  getSeoRule: {
    description: "Shows a rule. An unknown id, or another organization's, is a 404.",
    example: { params }
  },
  updateSeoRule: {
    description:
      "Replaces all of a rule; what is left out is as by default. Pages that there are stay as they are until they are generated again.",
    example: { params, body: { ...rule, name: "Brands of spring" } }
  },
  deleteSeoRule: {
    description:
      "Deletes a rule with its pages and their addresses; a job that is under way ends without pages. It answers the id, and 404 when there is nothing.",
    example: { params: { ruleId: sampleIds.oldSeoRule } }
  },
  generateSeoPages: {
    description:
      "Queues a job that makes a page of each value that visitors can find now, up to 50,000, those of most documents first. Slugs are kept for ever; a value that was renamed leads from its old address to the new one, one without documents waits 14 days and is gone then. The result counts pages by status and the values that got none. One job of an organization is done at a time; a rule that is not active, or too many that wait, is a 409.",
    example: { params }
  },
  auditSeoPages: {
    description:
      "Queues a job that compares the pages with the collection as it is now and with what visitors ask. `result.findings` has up to 100 of each code, `result.counts` how many there are. It changes nothing.",
    example: { params }
  },
  listSeoPages: {
    description:
      "Lists pages by slug, of one `status` where it is given. A page has at most 250, 50 by default. Texts are escaped for HTML.",
    example: { params, query: { status: "index", limit: "20" } }
  },
  getSeoPage: {
    description:
      "Shows a page. With `.html` behind the slug it is a whole document with linked data, as a site may serve it, and answers as that: 301 from the address of a value that was renamed, 404 with `data.links` while a value has no documents, 410 when its page is gone. An unknown slug is a 404.",
    example: { params: { ...params, slug: "hearth" } }
  },
  exportSeoSitemap: {
    description:
      "The addresses of pages with status `index`, each with the time when it last changed. Beyond 50,000 addresses or 45 MB it is an index of parts, which `part` answers. A rule that is not active has an empty one; a `url_template` without a host is a 409.",
    example: { params }
  }
} as const satisfies Readonly<Record<string, Described>>
