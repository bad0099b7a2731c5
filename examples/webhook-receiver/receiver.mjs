// Signatures are checked over the received bytes, before anything is parsed. Plain Node, 20 or later.
import { createHmac, timingSafeEqual } from "node:crypto"
import { createServer } from "node:http"

const { PORT = "3300", WEBHOOK_SECRET } = process.env
if (!WEBHOOK_SECRET) {
  console.error("WEBHOOK_SECRET is the secret of the endpoint, whsec_ included.")
  process.exit(2)
}
const BODY_BYTES_MAX = 1_000_000
const AGE_S_MAX = 300
const REMEMBERED_MAX = 10_000

/** `t=<seconds>,v1=<hex>`; for a day after a rotation there is a `v1` for each secret. */
const isSigned = (header, body, now_s) => {
  const parts = (header ?? "").split(",").map((part) => part.split("=", 2))
  const t = parts.find(([name]) => name === "t")?.[1]
  if (t === undefined || !(Math.abs(now_s - Number(t)) <= AGE_S_MAX)) return false
  const expected = createHmac("sha256", WEBHOOK_SECRET).update(`${t}.`).update(body).digest()
  return parts.some(([name, hex = ""]) => {
    const given = Buffer.from(hex, "hex")
    return name === "v1" && given.length === expected.length && timingSafeEqual(given, expected)
  })
}

/**
 * A delivery may arrive again. Your own receiver should remember ids in its database, in the transaction that acts on
 * them.
 */
const seen = new Set()
const isNew = (id) => {
  if (seen.has(id)) return false
  seen.add(id)
  if (seen.size > REMEMBERED_MAX) seen.delete(seen.values().next().value)
  return true
}

const bodyOf = async (request) => {
  const chunks = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > BODY_BYTES_MAX) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const receive = async (request, response) => {
  try {
    const body = await bodyOf(request)
    if (body === undefined) return void response.writeHead(413, { connection: "close" }).end()
    if (!isSigned(request.headers["x-svc-signature"], body, Date.now() / 1000)) {
      console.log("refused")
      return void response.writeHead(401).end()
    }
    const id = request.headers["x-svc-delivery"]
    if (isNew(id)) console.log(`${request.headers["x-svc-event"]} ${id}`)
    // Answer immediately; longer work continues after the answer.
    response.writeHead(204).end()
  } catch (error) {
    console.error(error)
    // After a 5xx the delivery is sent again later.
    if (!response.headersSent) response.writeHead(500).end()
  }
}

const server = createServer((request, response) => void receive(request, response))
server.listen(Number(PORT), "127.0.0.1", () => console.log(`listening on ${server.address().port}`))
