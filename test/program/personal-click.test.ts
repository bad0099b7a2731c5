/**
 * A click in an installation of several processes over a real Kafka and a real Postgres: one API process receives it, a
 * stream process counts it, and within two seconds it affects the next personal answer of the process with the engine.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { freePort } from "../../src/runtime/free-port.ts"
import { inInstallation, type Process, run } from "../support/installation.ts"
import { kafkaMissing } from "../support/kafka.ts"
import { promised } from "../support/patience.ts"

const PARTITIONS = 3
const WITHIN_MS = promised(2_000)
/** The time in which all processes find each other. */
const WARM_WITHIN_MS = 30_000
const BRANDS = ["acme", "zoom", "nova", "peak"]
const SCHEMA = {
  name: "goods",
  fields: [
    { name: "title", type: "string" },
    { name: "brand", type: "string", facet: true }
  ]
}
const goods = Array.from({ length: 40 }, (_, i) => ({ id: `d${i}`, title: "lamp", brand: BRANDS[i % BRANDS.length] }))

const missing = kafkaMissing()
if (missing !== undefined) it("a click over Kafka", (ctx) => ctx.skip(missing))
else
  describe("a click over Kafka", () => {
    it.live("at one process affects the next personal answer of another within two seconds, for its user alone", () =>
      inInstallation(PARTITIONS, (place) =>
        Effect.gen(function* () {
          const [one, two] = yield* Effect.promise(() => Promise.all([freePort(), freePort()]))
          const start = ["start", "--mode", "distributed", "--port"]
          const first = yield* run(place, "first", [...start, String(one)])
          const operatorKey = readFileSync(join(place.folder, "first", "operator.key"), "utf8").trim()
          const without = ["--engine", "none", "--operator-key", operatorKey]
          const second = yield* run(place, "second", [...start, String(two), ...without])
          yield* run(place, "streams", ["streams", "--lease-ms", "2000"])
          const call = (process: Process, method: string, path: string, body?: unknown) =>
            Effect.promise(async () => {
              const response = await fetch(`${process.ready.base_url}${path}`, {
                method,
                headers: { "x-svc-api-key": first.ready.full_key! },
                ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
              })
              const text = await response.text()
              return { status: response.status, text }
            })
          assert.strictEqual((yield* call(first, "POST", "/collections", SCHEMA)).status, 201)
          const lines = goods.map((one) => JSON.stringify(one)).join("\n")
          yield* call(first, "POST", "/collections/goods/documents/import", lines)
          const idsFor = (user: string) => {
            const asked = {
              q: "lamp",
              query_by: "title",
              per_page: "40",
              x_user_id: user,
              x_personalization_strength: "0.6"
            }
            const path = `/collections/goods/documents/search?${new URLSearchParams(asked)}`
            return Effect.map(call(first, "GET", path), ({ text }) =>
              (JSON.parse(text) as { hits: ReadonlyArray<{ document: { id: string } }> }).hits
                .map(({ document }) => document.id)
                .join(" ")
            )
          }
          /** How long it took until the user's answer changed after the click, in milliseconds. */
          const clicked = Effect.fnUntraced(function* (user: string, document_id: string, within_ms: number) {
            const before = yield* idsFor(user)
            const event = { type: "click", collection: "goods", user_id: user, document_id }
            const { status } = yield* call(second, "POST", "/events", { events: [event] })
            assert.strictEqual(status, 200)
            const began = performance.now()
            for (;;) {
              const isOther = (yield* idsFor(user)) !== before
              const ms = performance.now() - began
              if (isOther) return ms
              if (ms > within_ms) return assert.fail(`A click is not in an answer within ${within_ms} ms.`)
              yield* Effect.sleep(50)
            }
          })
          const plain = yield* idsFor("nobody")
          yield* clicked("warm", "d2", WARM_WITHIN_MS)
          for (const [user, document] of [
            ["ada", "d2"],
            ["bob", "d1"]
          ] as const)
            assert.isAtMost(yield* clicked(user, document, WITHIN_MS), WITHIN_MS)
          assert.notStrictEqual(yield* idsFor("ada"), yield* idsFor("bob"))
          assert.strictEqual(yield* idsFor("nobody"), plain)
        })
      )
    )
  })
