/**
 * Three API processes over one engine, as an operator starts them: the next request at any process sees what another
 * wrote, and a process that dies, even the one with the engine, delays the others only briefly.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { freePort } from "../../src/runtime/free-port.ts"
import { inInstallation, type Process, run } from "../support/installation.ts"
import { kafkaMissing } from "../support/kafka.ts"

interface Answer {
  readonly status: number
  readonly text: string
  readonly body: any
}
const caller =
  (key: string) =>
  async (process: Process, method: string, path: string, body?: unknown): Promise<Answer> => {
    const response = await fetch(`${process.ready.base_url}${path}`, {
      method,
      headers: { "x-svc-api-key": key },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
    })
    const text = await response.text()
    return {
      status: response.status,
      text,
      body: text.startsWith("{") && !text.includes("\n") ? JSON.parse(text) : text
    }
  }
const within = async (what: string, within_ms: number, holds: () => Promise<boolean>): Promise<number> => {
  const began = performance.now()
  while (!(await holds())) {
    if (performance.now() - began > within_ms) throw new Error(`not within ${within_ms} ms: ${what}`)
    await new Promise((settle) => setTimeout(settle, 50))
  }
  return performance.now() - began
}

const missing = kafkaMissing()
if (missing !== undefined) it("several processes over one engine", (ctx) => ctx.skip(missing))
else
  describe("several processes over one engine", () => {
    it.live("see each other's writes with the next request, and survive each other", () =>
      inInstallation(1, (place) =>
        Effect.gen(function* () {
          const [enginePort, ...ports] = yield* Effect.promise(() =>
            Promise.all([freePort(), freePort(), freePort(), freePort()])
          )
          const start = (name: string, port: number, ...args: ReadonlyArray<string>) =>
            run(place, name, ["start", "--mode", "distributed", "--port", String(port), ...args])
          const owning = ["--engine-port", String(enginePort)]
          const owner = yield* start("owner", ports[0]!, ...owning)
          const key = readFileSync(join(place.folder, "owner", "operator.key"), "utf8").trim()
          const sharing = ["--engine", "remote", "--engine-address", `127.0.0.1:${enginePort}`, "--operator-key", key]
          const b = yield* start("b", ports[1]!, ...sharing)
          const c = yield* start("c", ports[2]!, ...sharing)
          const call = caller(owner.ready.full_key!)
          const search = (process: Process, q: string, more = "") =>
            call(process, "GET", `/collections/goods/documents/search?q=${q}&query_by=title&facet_by=brand${more}`)
          const plain = ({ text }: Answer) => text.replace(/"search_time_ms":\d+/, "").replace(/"query_id":"[^"]*"/, "")

          yield* Effect.promise(async () => {
            const fields = [
              { name: "title", type: "string" },
              { name: "brand", type: "string", facet: true }
            ]
            assert.strictEqual((await call(b, "POST", "/collections", { name: "goods", fields })).status, 201)
            const lines = Array.from({ length: 2_000 }, (_, i) =>
              JSON.stringify({ id: String(i), title: `cup number ${i}`, brand: `brand ${i % 40}` })
            ).join("\n")
            const imported = await call(c, "POST", "/collections/goods/documents/import", lines)
            assert.strictEqual(imported.text.split("\n").filter((line) => line === '{"success":true}').length, 2_000)
            const [first, ...others] = await Promise.all([owner, b, c].map((each) => search(each, "cup")))
            assert.strictEqual(first!.body.found, 2_000)
            for (const other of others) assert.strictEqual(plain(other), plain(first!))
            for (let i = 0; i < 20; i++) {
              const [writing, reading] = [[owner, b, c][i % 3]!, [b, c, owner][i % 3]!]
              const put = { id: `new${i}`, title: `vase ${i}`, brand: "new" }
              assert.strictEqual((await call(writing, "POST", "/collections/goods/documents", put)).status, 201)
              assert.strictEqual((await search(reading, `vase ${i}`)).body.hits[0].document.id, `new${i}`)
              const { body } = await call(reading, "GET", "/collections/goods")
              assert.strictEqual(body.num_documents, 2_001 + i)
            }
            // A cached answer is outdated as soon as one of its documents is deleted, at whichever process.
            const kept = () => search(b, "vase 3", "&use_cache=true&cache_ttl=600")
            assert.strictEqual((await kept()).body.hits[0].document.id, "new3")
            assert.strictEqual((await kept()).body.hits[0].document.id, "new3")
            assert.strictEqual((await call(c, "DELETE", "/collections/goods/documents/new3")).status, 200)
            assert.notStrictEqual((await kept()).body.hits[0]?.document.id, "new3")
          })

          yield* Effect.promise(async () => {
            process.kill(c.child.pid!, "SIGKILL")
            await c.exited
            const began = performance.now()
            const put = { id: "after", title: "after", brand: "new" }
            assert.strictEqual((await call(b, "POST", "/collections/goods/documents", put)).status, 201)
            // At most the lease of the dead process (2 s) may pass.
            assert.isBelow(performance.now() - began, 4_000)
            process.kill(owner.child.pid!, "SIGKILL")
            await owner.exited
            await within("b says that the engine is away", 5_000, async () => {
              const { body, status } = await search(b, "cup")
              return status === 502 && String(body.message).includes("cannot be reached")
            })
            assert.strictEqual((await call(b, "GET", "/keys")).status, 200)
          })
          const again = yield* start("owner", ports[0]!, ...owning)
          yield* Effect.promise(async () => {
            await within("b finds the engine again", 10_000, async () => (await search(b, "cup")).status === 200)
            assert.strictEqual((await search(b, "after")).body.hits[0].document.id, "after")
            for (const { child } of [again, b]) process.kill(child.pid!, "SIGTERM")
            assert.deepStrictEqual(await Promise.all([again.exited, b.exited]), [0, 0], b.said())
          })
        })
      )
    )
  })
