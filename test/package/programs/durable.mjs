// A program that keeps its documents: opens a folder, closes it, opens it again, then again with the writer in a
// thread.
import { createSearch, openEngine } from "@dowser/engine-sdk"

const path = process.argv[2]
const first = createSearch({ path, fields: { title: "string", price: "float" } })
await first.add([
  { id: "a", title: "Copper kettle", price: 40 },
  { id: "b", title: "Steel kettle", price: 25.5 }
])
await first.close()
const engine = await openEngine({ path, worker: true })
const second = createSearch({ engine, fields: { title: "string", price: "float" } })
await second.add({ id: "c", title: "Tin kettle", price: 9 })
const { found, hits } = await second.search("ketle", { sort: "price:asc" })
await engine.close()
process.stdout.write(JSON.stringify({ found, ids: hits.map(({ document }) => document.id) }))
