/** Bodies that the fuzz test (`test/program/fuzz.test.ts`) starts from; they refer to resources that it creates. */
import type { Seeds } from "../room.ts"

export const seeds: Seeds = {
  reindexCollection: [{}],
  createIngestJob: [
    { collection: "goods", source: "inline", config: { documents: [{ id: "1", title: "Lamp" }] } },
    { collection: "goods", source: "csv", config: { content: "id,title\n1,Lamp\n" } },
    {
      collection: "goods",
      source: "yml",
      config: {
        content:
          "<yml_catalog><shop><categories><category id='1'>Light</category></categories><offers><offer id='1'><name>Lamp</name><price>5</price><categoryId>1</categoryId></offer></offers></shop></yml_catalog>"
      }
    },
    {
      collection: "goods",
      source: "url",
      config: { start_urls: ["http://127.0.0.1:1/"], max_pages: 5, max_depth: 1, include: ["/a/**"], delay_ms: 0 }
    },
    {
      collection: "goods",
      source: "sitemap",
      config: { url: "http://127.0.0.1:1/sitemap.xml", exclude: ["/*"], delay_ms: 0 }
    },
    {
      collection: "goods",
      source: "youtube",
      config: {
        captions: [{ video_id: "a", title: "Film", format: "srt", content: "00:00:01,000 --> 00:00:02,000\nLamps\n" }]
      }
    },
    { collection: "goods", source: "jsonl", config: { url: "http://127.0.0.1:1/feed" }, schedule_cron: "0 4 * * *" }
  ]
}
