/**
 * The collection that a job creates for its documents: product fields if its source yields products, and other fields
 * with the types of their values. Pure.
 */
const text = (name: string, more: object = {}) => ({ name, type: "string", optional: true, ...more })
const PRODUCT_FIELDS = [
  text("title"),
  text("description"),
  text("brand", { facet: true }),
  { name: "price", type: "float", facet: true, optional: true },
  { name: "old_price", type: "float", optional: true },
  text("currency", { facet: true }),
  { name: "categories", type: "string[]", facet: true, optional: true },
  text("url", { index: false }),
  text("image", { index: false }),
  { name: "images", type: "string[]", index: false, optional: true },
  { name: "in_stock", type: "bool", facet: true, optional: true },
  text("sku")
]
const PRODUCT_SOURCES: ReadonlySet<string> = new Set(["yml", "google_xml"])

export const inferredSchema = (name: string, source: string) => ({
  name,
  enable_nested_fields: true,
  fields: [...(PRODUCT_SOURCES.has(source) ? PRODUCT_FIELDS : []), { name: ".*", type: "auto" }]
})
