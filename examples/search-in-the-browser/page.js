// The entire storefront: what is searched, what is shown, and what is reported.
/* global instantsearch, TypesenseInstantSearchAdapter */
const { url, key, collection } = await (await fetch("/config.json")).json()
const { hostname, port, protocol } = new URL(url)
const session = crypto.randomUUID()

const adapter = new TypesenseInstantSearchAdapter({
  server: {
    apiKey: key,
    nodes: [
      {
        host: hostname,
        port: Number(port || (protocol === "https:" ? 443 : 80)),
        protocol: protocol.slice(0, -1),
        path: "/v1"
      }
    ],
    // A visit is a session: a search and the click that follows it belong together.
    additionalHeaders: { "X-SVC-SESSION-ID": session }
  },
  additionalSearchParameters: { query_by: "title,brand" }
})

const search = instantsearch({ indexName: collection, searchClient: adapter.searchClient })
const { hits, refinementList, searchBox, stats } = instantsearch.widgets
search.addWidgets([
  searchBox({ container: "#searchbox", placeholder: "Search products" }),
  stats({ container: "#stats" }),
  refinementList({ container: "#brand", attribute: "brand" }),
  hits({
    container: "#hits",
    templates: {
      item: (hit, { html, components }) =>
        html`<button type="button" data-id=${hit.id}>${components.Highlight({ hit, attribute: "title" })}</button>
          <span>${hit.brand}, ${hit.price}</span>`
    }
  })
])
search.start()

document.querySelector("#hits").addEventListener("click", (event) => {
  const id = event.target.closest("[data-id]")?.dataset.id
  if (id === undefined) return
  const click = { type: "click", collection, document_id: id, q: search.helper.state.query, session_id: session }
  void fetch(`${url}/v1/events?x-svc-api-key=${encodeURIComponent(key)}`, {
    method: "POST",
    body: JSON.stringify({ events: [click] }),
    // The report survives leaving the page.
    keepalive: true
  })
})
