// A search over three products in this process: no server, no other package.
import { createSearch } from "@dowser/engine-sdk"

const products = createSearch({
  fields: { title: "string", brand: { type: "string", facet: true }, price: "float" },
  // A search for "shoe" shows the spray in second place.
  rules: { pins: [{ query: "shoe", match: "partial", doc_id: "3", position: 2 }] }
})
await products.add([
  { id: "1", title: "Trail running shoe", brand: "Peak", price: 89.5 },
  { id: "2", title: "Road running shoe", brand: "Swift", price: 129 },
  { id: "3", title: "Waterproof spray", brand: "Balm", price: 12 }
])

const q = process.argv[2] ?? "runing shoe"
const { facets, found, hits } = await products.search(q, { filter: "price:<150", facets: ["brand"] })
console.log(`${found} for ${q}`)
for (const { document } of hits) console.log(`${document.title}, ${document.price}`)
console.log(facets.brand.map(({ count, value }) => `${value} ${count}`).join(", "))
await products.close()
