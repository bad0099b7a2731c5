/** Requests to a search cluster, against servers that answer as faulty nodes do. */
import { createServer, type RequestListener, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, expect, it } from "vitest"
import { ClusterClient } from "../../engine-sdk/src/opensearch/client.ts"
import type { OpensearchOptions } from "../../engine-sdk/src/opensearch/mod.ts"
import { createEngine } from "../../engine-sdk/src/memory/mod.ts"
import { guardEngine } from "../../src/ports/engine/guarded-engine.ts"
import { freePort } from "../../src/runtime/free-port.ts"

/** An address on which nothing listens. */
const deadNode = async () => `http://127.0.0.1:${await freePort()}`
const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})
/** The server's address, and how often it was called. */
const serve = async (answer: RequestListener): Promise<{ readonly node: string; readonly asked: () => number }> => {
  let asked = 0
  const server = createServer((request, response) => {
    asked++
    answer(request, response)
  })
  servers.push(server)
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle))
  return { node: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked: () => asked }
}
const replying =
  (status: number, body: unknown): RequestListener =>
  (_request, response) => {
    response.writeHead(status, { "content-type": "application/json" })
    response.end(typeof body === "string" ? body : JSON.stringify(body))
  }
const ask = (nodes: ReadonlyArray<string>, isRepeatable: boolean, more: Partial<OpensearchOptions> = {}) =>
  new ClusterClient({ nodes, ...more }).ask({ method: "POST", path: "/x/_search", body: {}, isRepeatable })
const errorOf = async (answer: ReturnType<typeof ask>) => {
  const result = await answer
  return result.ok ? undefined : result.error
}

it("failures are returned by their meaning", async () => {
  const kinds: Array<[number, string]> = []
  for (const status of [400, 401, 404, 408, 409, 429, 500]) {
    const { node } = await serve(replying(status, { error: { type: "some", reason: "for a reason" } }))
    kinds.push([status, (await errorOf(ask([node], true)))?.kind ?? "ok"])
  }
  expect(kinds).toEqual([
    [400, "Invalid"],
    [401, "Unavailable"],
    [404, "NotFound"],
    [408, "TimedOut"],
    [409, "Conflict"],
    [429, "Overloaded"],
    [500, "Unavailable"]
  ])
  const full = { error: { type: "cluster_block_exception", reason: "index is read-only: disk usage exceeded" } }
  const { node } = await serve(replying(429, full))
  expect(await errorOf(ask([node], true))).toEqual({
    kind: "Overloaded",
    message: "The search cluster takes no writes: index is read-only: disk usage exceeded",
    retryAfterSeconds: 10
  })
  // A block keeps its meaning, though the status 403 is the one of missing credentials.
  const closed = { error: { type: "index_create_block_exception", reason: "cluster create-index blocked" } }
  const other = await serve(replying(403, closed))
  expect((await errorOf(ask([other.node], true)))?.kind).toBe("Overloaded")
})
it("another node is tried when one cannot answer, and for a write only if it was not sent", async () => {
  const busy = await serve(replying(503, {}))
  const well = await serve(replying(200, { took: 1 }))
  for (let i = 0; i < 4; i++) expect((await ask([busy.node, well.node], true)).ok).toBe(true)
  expect(well.asked()).toBe(4)
  expect((await errorOf(ask([busy.node, well.node], false)))?.kind).toBe("Unavailable")
  // The additional request only checks whether the other node is reachable.
  expect(well.asked()).toBe(5)
  expect((await ask([await deadNode(), well.node], false)).ok).toBe(true)
  expect(well.asked()).toBe(6)
  // A request refused by one node would be refused by the next.
  const wrong = await serve(replying(400, {}))
  expect((await errorOf(ask([wrong.node, well.node], true)))?.kind).toBe("Invalid")
  expect(well.asked()).toBe(6)
})
it("a write whose answer was lost says whether other nodes are up, and opens no circuit while they are", async () => {
  const busy = await serve(replying(503, {}))
  const well = await serve(replying(200, {}))
  const writesTo = (nodes: ReadonlyArray<string>) => {
    const client = new ClusterClient({ nodes, timeout_ms: 5_000 })
    const write = () => client.ask<never>({ method: "POST", path: "/x/_bulk", body: {}, isRepeatable: false })
    const guarded = guardEngine(Object.assign(createEngine(), { write }))
    return async () => {
      for (let i = 0; i < 12; i++) await guarded.write("a", "things", [])
      return guarded.circuits().writes
    }
  }
  expect(await writesTo([busy.node, well.node])()).toBe("closed")
  expect(await writesTo([busy.node, await deadNode()])()).toBe("open")
  const lost = await errorOf(ask([busy.node, well.node], false))
  expect(lost).toMatchObject({ kind: "Unavailable", isThere: true })
})
it("a node that did not answer is tried last for a while", async () => {
  const busy = await serve(replying(503, {}))
  const well = await serve(replying(200, {}))
  const client = new ClusterClient({ nodes: [busy.node, well.node] })
  for (let i = 0; i < 6; i++) await client.ask({ method: "GET", path: "/", isRepeatable: true })
  expect([busy.asked(), well.asked()]).toEqual([1, 6])
})
it("an answer that takes too long, is too large or not JSON is a failure", async () => {
  const silent = await serve(() => {})
  expect((await errorOf(ask([silent.node], true, { timeout_ms: 50 })))?.kind).toBe("TimedOut")
  const long = await serve(replying(200, { text: "x".repeat(2_000) }))
  expect(await errorOf(ask([long.node], true, { answerBytes_max: 1_000 }))).toEqual({
    kind: "Invalid",
    message: "The search cluster answers with more than 1000 bytes; ask for less."
  })
  const broken = await serve(replying(200, "{"))
  expect((await errorOf(ask([broken.node], true)))?.kind).toBe("Unavailable")
})
it("credentials are sent in the scheme that they need", async () => {
  const seen: Array<string | undefined> = []
  const { node } = await serve((request, response) => {
    seen.push(request.headers.authorization)
    replying(200, {})(request, response)
  })
  await ask([node], true)
  await ask([node], true, { credentials: { username: "dowser", password: "pä:ss" } })
  await ask([node], true, { credentials: { apiKey: "key" } })
  expect(seen).toEqual([undefined, `Basic ${Buffer.from("dowser:pä:ss").toString("base64")}`, "ApiKey key"])
})
