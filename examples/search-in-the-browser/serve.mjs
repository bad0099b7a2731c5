// Serves this folder and the two widgets' bundles; your own site serves them in its own way. Plain Node, 20 or later.
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import { createRequire } from "node:module"

const { COLLECTION = "products", DOWSER_URL = "http://127.0.0.1:3100", PORT = "3200", SEARCH_KEY } = process.env
if (!SEARCH_KEY) {
  console.error("SEARCH_KEY is the search key that `npm start` printed.")
  process.exit(2)
}
const { resolve } = createRequire(import.meta.url)
const own = (name) => readFileSync(new URL(name, import.meta.url))
const script = "text/javascript; charset=utf-8"
const files = new Map([
  ["/", ["text/html; charset=utf-8", own("index.html")]],
  ["/page.js", [script, own("page.js")]],
  ["/instantsearch.js", [script, readFileSync(resolve("instantsearch.js/dist/instantsearch.production.min.js"))]],
  [
    "/adapter.js",
    [script, readFileSync(resolve("typesense-instantsearch-adapter/dist/typesense-instantsearch-adapter.min.js"))]
  ],
  ["/config.json", ["application/json", JSON.stringify({ url: DOWSER_URL, key: SEARCH_KEY, collection: COLLECTION })]]
])
const server = createServer((request, response) => {
  const [type, body] = files.get(new URL(request.url, "http://localhost").pathname) ?? []
  if (type === undefined) response.writeHead(404).end()
  else response.writeHead(200, { "content-type": type }).end(body)
})
server.listen(Number(PORT), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`))
