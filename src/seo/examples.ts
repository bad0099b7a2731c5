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
      "Creates a rule: which facet field gets pages, their addresses, and their texts. `url_template` contains `#SLUG#` once; an unknown placeholder, or a field that is no facet of the collection, is a 400 that names it. A placeholder without a value removes its sentence. A plan without room for another rule answers 403.",
    example: { body: rule }
  },
  getSeoRule: {
    description: "Shows a rule. An unknown id, or another organization's, is a 404.",
    example: { params }
  },
  updateSeoRule: {
    description:
      "Replaces a rule as a whole; omitted fields return to their defaults. Existing pages stay as they are until they are generated again.",
    example: { params, body: { ...rule, name: "Brands of spring" } }
  },
  deleteSeoRule: {
    description:
      "Deletes a rule with its pages and their addresses, and returns its id; a job in progress ends without pages. An unknown id is a 404.",
    example: { params: { ruleId: sampleIds.oldSeoRule } }
  },
  generateSeoPages: {
    description:
      "Queues a job that generates a page for each value that visitors can find now, up to 50,000, those with the most documents first. Slugs are kept for ever; a renamed value redirects from its old address to the new one, and a value without documents waits 14 days before its page is gone. The result counts pages by status and the values without one. An organization has one such job at a time; an inactive rule, or too many waiting jobs, is a 409.",
    example: { params }
  },
  auditSeoPages: {
    description:
      "Queues a job that compares the pages with the collection as it is now and with what visitors search for. `result.findings` has up to 100 of each code, `result.counts` the totals. It changes nothing.",
    example: { params }
  },
  listSeoPages: {
    description:
      "Lists pages by slug, with one `status` if given. A page of the list has at most 250, 50 by default. Texts are escaped for HTML.",
    example: { params, query: { status: "index", limit: "20" } }
  },
  getSeoPage: {
    description:
      "Shows a page. With `.html` after the slug it is a whole document with linked data, ready to be served by a site, and answers like one: 301 from the address of a renamed value, 404 with `data.links` while a value has no documents, 410 when its page is gone. An unknown slug is a 404.",
    example: { params: { ...params, slug: "hearth" } }
  },
  exportSeoSitemap: {
    description:
      "Lists the addresses of pages with status `index`, each with the time of its last change. Beyond 50,000 addresses or 45 MB it is an index of parts, which `part` answers. An inactive rule has an empty one; a `url_template` without a host is a 409.",
    example: { params }
  }
} as const satisfies Readonly<Record<string, Described>>
