/** Bodies that the fuzz starts from (`test/program/fuzz.test.ts`), over the things that it furnishes. */
import type { Seeds } from "../room.ts"

export const seeds: Seeds = {
  reindexCollection: [{}],
  createIngestJob: [
    { collection: "products", source: "inline", config: { documents: [{ id: "1", title: "Lamp" }] } },
    { collection: "products", source: "csv", config: { content: "id,title\n1,Lamp\n" } },
    {
      collection: "products",
      source: "yml",
      config: {
        content:
          "<yml_catalog><shop><categories><category id='1'>Light</category></categories><offers><offer id='1'><name>Lamp</name><price>5</price><categoryId>1</categoryId></offer></offers></shop></yml_catalog>"
      }
    },
    { collection: "products", source: "jsonl", config: { url: "http://127.0.0.1:1/feed" }, schedule_cron: "0 4 * * *" }
  ]
}
