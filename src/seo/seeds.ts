/** Bodies that the fuzz starts from (`test/program/fuzz.test.ts`), over the things that it furnishes. */
import type { Seeds } from "../room.ts"

const rule = { name: "rule", collection: "goods", facet_field: "tags", url_template: "https://shop.example/b/#SLUG#" }
export const seeds: Seeds = {
  createSeoRule: [rule, { ...rule, site_name: "Shop", templates: { title: "#VALUE# #YEAR#" }, min_products: 1 }],
  updateSeoRule: [{ ...rule, active: false }]
}
