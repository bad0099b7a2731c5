/** Bodies that the fuzz test starts from (`test/program/fuzz.test.ts`), referring to its fixtures. */
import type { Seeds } from "../room.ts"

const rule = { name: "rule", collection: "goods", facet_field: "tags", url_template: "https://shop.example/b/#SLUG#" }
export const seeds: Seeds = {
  createSeoRule: [rule, { ...rule, site_name: "Shop", templates: { title: "#VALUE# #YEAR#" }, min_products: 1 }],
  updateSeoRule: [{ ...rule, active: false }]
}
