/** Bodies that the fuzz test (`test/program/fuzz.test.ts`) starts from; they refer to resources that it creates. */
import type { Seeds } from "../room.ts"

export const seeds: Seeds = {
  createCollection: [
    {
      name: "fresh",
      fields: [
        { name: "title", type: "string", facet: true },
        { name: "n", type: "int32", optional: true }
      ]
    },
    { name: "fresh2", fields: [{ name: ".*", type: "auto" }], enable_nested_fields: true, token_separators: ["-"] }
  ],
  updateCollection: [
    { metadata: { touched: true } },
    { fields: [{ name: "more", type: "string", optional: true }] },
    { fields: [{ name: "more", drop: true }] }
  ],
  indexDocument: [
    {
      id: "n1",
      title: "One",
      stock: 1,
      price: 1.5,
      tags: ["a"],
      place: [1, 2],
      is_new: true,
      maker: "m1",
      detail: { size: 1 },
      vector: [1, 2, 3, 4]
    },
    { code: "m9", name: "Nine" }
  ],
  updateDocument: [{ title: "Changed", stock: 5 }, { name: "Changed" }],
  updateDocuments: [{ title: "Changed" }],
  upsertAlias: [{ collection_name: "goods" }],
  upsertPreset: [{ value: { q: "title" } }, { value: { searches: [{ q: "a" }] } }],
  upsertSynonymSet: [
    {
      items: [
        { id: "two", synonyms: ["a", "b"] },
        { id: "three", root: "c", synonyms: ["a"] }
      ]
    }
  ],
  upsertSynonymItem: [{ synonyms: ["a", "b"] }],
  upsertCurationSet: [
    {
      items: [
        {
          id: "two",
          rule: { query: "x", match: "exact" },
          excludes: [{ id: "d1" }],
          filter_by: "stock:>1",
          sort_by: "stock:desc"
        }
      ]
    }
  ],
  upsertCurationItem: [
    { rule: { query: "x {tags}", match: "contains" }, includes: [{ id: "d1", position: 1 }], replace_query: "title" }
  ],
  upsertStopwords: [{ stopwords: ["of", "the"], locale: "en" }]
}
