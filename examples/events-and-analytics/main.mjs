// Import, search, events, figures. Plain Node, 20 or later.
const { COLLECTION = "example_products", DOWSER_URL = "http://127.0.0.1:3100", FULL_KEY } = process.env
if (!FULL_KEY) {
  console.error("FULL_KEY is the full key that `npm start` printed.")
  process.exit(2)
}
const dowser = async (method, path, body, headers = {}) => {
  const response = await fetch(`${DOWSER_URL}/v1${path}`, {
    method,
    headers: { "x-svc-api-key": FULL_KEY, ...headers },
    ...(body === undefined ? {} : { body })
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`)
  return text
}
const lines = (values) => values.map((value) => JSON.stringify(value)).join("\n")

// 1. A collection, and its documents as JSON Lines. Each line of the answer reports the result for one document.
const fields = [
  { name: "title", type: "string" },
  { name: "price", type: "float" }
]
await dowser("POST", "/collections", JSON.stringify({ name: COLLECTION, fields }))
const products = [
  { id: "1", title: "Trail running shoe", price: 89.5 },
  { id: "2", title: "Road running shoe", price: 129 },
  { id: "3", title: "Waterproof spray", price: 12 }
]
const imported = await dowser("POST", `/collections/${COLLECTION}/documents/import?action=upsert`, lines(products))
const failed = imported.split("\n").filter((line) => line !== "" && !JSON.parse(line).success)
if (failed.length > 0) throw new Error(`not imported: ${failed.join("\n")}`)

// 2. A search within a visit. Later events refer to it by the answer's `query_id`.
const session_id = `visit-${process.pid}`
const q = "runing shoe"
const found = JSON.parse(
  await dowser(
    "GET",
    `/collections/${COLLECTION}/documents/search?q=${encodeURIComponent(q)}&query_by=title`,
    undefined,
    { "x-svc-session-id": session_id }
  )
)
console.log(`found ${found.found}: ${found.hits.map(({ document }) => document.title).join(", ")}`)

// 3. What the visitor did. With your own `event_id`, sending again is harmless.
const visit = { collection: COLLECTION, session_id, query_id: found.query_id, q }
const [{ document }] = found.hits
const events = [
  { ...visit, type: "click", event_id: `${session_id}-1`, document_id: document.id, position: 1 },
  { ...visit, type: "purchase", event_id: `${session_id}-2`, document_id: document.id, revenue: document.price }
]
const send = () => dowser("POST", "/events", lines(events), { "content-type": "application/x-ndjson" })
const verdict = JSON.parse(await send())
const again = JSON.parse(await send())
console.log(`accepted ${verdict.accepted}, duplicates when sent again ${again.deduplicated}`)

// 4. The report. Events are counted within a second or two.
const today = new Date().toISOString().slice(0, 10)
for (let attempt = 0; ; attempt++) {
  const report = `/analytics/metrics/overview?from=${today}&to=${today}&collection=${COLLECTION}`
  const { totals } = JSON.parse(await dowser("GET", report))
  if (totals.purchases === 1) {
    console.log(
      `searches ${totals.searches}, clicks ${totals.clicks}, purchases ${totals.purchases}, revenue ${totals.revenue}`
    )
    break
  }
  if (attempt === 600) throw new Error("the purchase is not counted yet")
  await new Promise((settle) => setTimeout(settle, 100))
}
