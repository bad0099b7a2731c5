/** Bodies that the fuzz test starts from (`test/program/fuzz.test.ts`), referring to its fixtures. */
import type { Seeds } from "../room.ts"

export const seeds: Seeds = {
  multiSearch: [
    {
      searches: [
        { collection: "goods", q: "title", query_by: "title", facet_by: "tags", include_fields: "*,$makers(*)" },
        {
          collection: "shop",
          q: "*",
          filter_by: "$makers(code:=m1)",
          sort_by: "_eval(stock:>1):desc",
          group_by: "tags"
        }
      ]
    },
    {
      union: true,
      searches: [
        { collection: "goods", q: "title", query_by: "title" },
        { collection: "spare", q: "*" }
      ]
    },
    {
      searches: [
        { collection: "goods", q: "*", vector_query: "vector:([1,2,3,4], k: 5)" },
        { preset: "one", collection: "goods", query_by: "title" }
      ]
    }
  ]
}
