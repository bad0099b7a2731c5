/** Bodies that the fuzz test (`test/program/fuzz.test.ts`) starts from; they refer to resources that it creates. */
import type { Seeds } from "../room.ts"

export const seeds: Seeds = {
  createKey: [
    {
      description: "k",
      scope: "search",
      collections: ["goods", "sp.*"],
      filter_by: { goods: "stock:>1" },
      fields: ["title"],
      cidrs: ["127.0.0.0/8"],
      origins: ["https://*.shop.example"],
      rate_limit_per_minute: 5
    },
    { description: "k", actions: ["documents:search"], collections: ["*"] }
  ],
  createBrowserKey: [
    { ttl_seconds: 60, collections: ["goods"], filter_by: { goods: "stock:>1" }, origins: ["https://shop.example"] },
    {}
  ]
}
