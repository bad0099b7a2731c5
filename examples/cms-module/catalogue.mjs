// A shop with one store whose products and changes are in a file, as JSON lines such as
//   {"at": 7, "id": "lamp-1", "title": "Lamp", "price": 35}   or   {"at": 8, "id": "lamp-1", "deleted": true}
// Replace it by your CMS: `at` is any number that increases with each change, such as the id of an outbox row.
import { createReadStream, existsSync } from "node:fs"
import { createInterface } from "node:readline"

const path = process.env.SHOP_FILE ?? "./products.jsonl"

export const describe = () => ({
  cms_version: "example 1.0",
  capabilities: ["native_search"],
  stores: [{ local_id: "main", name: "Main store", locale: "en", currency: "EUR", source_ids: ["catalogue"] }]
})

export async function* changes(store, source, since = 0) {
  if (store !== "main" || source !== "catalogue" || !existsSync(path)) return
  for await (const line of createInterface({ input: createReadStream(path) })) {
    if (line.trim() === "") continue
    const { at, deleted = false, id, ...document } = JSON.parse(line)
    if (at <= since) continue
    const event = deleted
      ? { event: "delete", external_id: id, version: at }
      : { event: "upsert", external_id: id, version: at, document }
    yield { cursor: at, event }
  }
}
