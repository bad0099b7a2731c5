/**
 * Five processes of an installation over a real Kafka, each with an engine of its own: a click received by any of them
 * affects the next answer of every other one within two seconds, and a process that was killed catches up with the
 * others. Another organization with the same ids is not affected.
 */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { freePort } from "../../src/runtime/free-port.ts"
import { inInstallation, type Place, type Process, run } from "../support/installation.ts"
import { kafkaMissing } from "../support/kafka.ts"
import { promised } from "../support/patience.ts"

const PROCESSES = 5
const WITHIN_MS = promised(2_000)
const title = "five processes know a click within two seconds, also after a kill"

interface Reply {
  readonly status: number
  readonly body: any
}
const call = async (process: Process, key: string, method: string, path: string, body?: unknown): Promise<Reply> => {
  const response = await fetch(`${process.ready.base_url}${path}`, {
    method,
    headers: { "x-svc-api-key": key },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
  })
  const text = await response.text()
  return { status: response.status, body: text.includes("\n") ? text : JSON.parse(text) }
}
const until = async (what: string, look: () => Promise<boolean>, within_ms: number) => {
  const last = performance.now() + within_ms
  while (!(await look())) {
    if (performance.now() > last) assert.fail(`not within ${within_ms} ms: ${what}`)
    await new Promise((settle) => setTimeout(settle, 20))
  }
}
/** Each process has an engine of its own, so each gets the documents. */
const furnish = async (process: Process, key: string) => {
  const fields = [{ name: "title", type: "string" }]
  assert.strictEqual((await call(process, key, "POST", "/collections", { name: "goods", fields })).status, 201)
  const lines = Array.from({ length: 12 }, (_, i) => JSON.stringify({ id: `p${i}`, title: `Product ${i}` }))
  await call(process, key, "POST", "/collections/goods/documents/import", lines.join("\n"))
}
const started = (place: Place, name: string, port: number, key: string | undefined) =>
  run(place, name, [
    "start",
    "--mode",
    "distributed",
    "--port",
    String(port),
    ...(key === undefined ? [] : ["--operator-key", key])
  ])

const missing = kafkaMissing()
if (missing !== undefined) it(title, (ctx) => ctx.skip(missing))
else
  describe("recommendations of several processes over Kafka", () => {
    it.live(title, () =>
      inInstallation(2, (place) =>
        Effect.gen(function* () {
          const ports = yield* Effect.promise(() => Promise.all(Array.from({ length: PROCESSES }, freePort)))
          const first = yield* started(place, "p0", ports[0]!, undefined)
          const secret = (file: string) => readFileSync(join(place.folder, "p0", file), "utf8").trim()
          const operator = secret("operator.key")
          const rest = yield* Effect.forEach(ports.slice(1), (port, i) => started(place, `p${i + 1}`, port, operator))
          const all = [first, ...rest]
          const key = first.ready.full_key!
          const other = yield* Effect.promise(async () => {
            const made = await fetch(`${first.ready.base_url.replace(/\/v1$/, "")}/console/v1/organizations`, {
              method: "POST",
              headers: { authorization: `Bearer ${secret("operator.token")}` },
              body: JSON.stringify({ name: "Other", plan: "standard" })
            })
            return (await made.json()).full_key as string
          })
          for (const process of all) for (const own of [key, other]) yield* Effect.promise(() => furnish(process, own))
          const modelOf = async (own: string) => {
            const body = { name: "a", collection: "goods", type: "also_viewed" }
            return (await call(first, own, "POST", "/recommendations/models", body)).body.id as string
          }
          const [model, theirs] = yield* Effect.promise(() => Promise.all([modelOf(key), modelOf(other)]))
          const top = async (process: Process, own = key, model_id = model) => {
            const { body } = await call(process, own, "POST", "/recommendations", {
              model_id,
              document_id: "p0",
              limit: 1
            })
            return [body.hits?.[0]?.document.id, body.hits?.[0]?.reason.kind].join(" ")
          }
          const clicks = async (process: Process, document_id: string, sessions: number, from: string) => {
            const events = Array.from({ length: sessions }, (_, i) =>
              ["p0", document_id].map((id) => ({
                type: "click",
                collection: "goods",
                document_id: id,
                session_id: `${from}-${i}`
              }))
            ).flat()
            const { body } = await call(process, key, "POST", "/events", { events })
            assert.strictEqual(body.accepted, events.length, JSON.stringify(body))
          }
          const everybody = (document_id: string, among: ReadonlyArray<Process>, within_ms: number) =>
            Promise.all(
              among.map((process, i) =>
                until(
                  `${document_id} at ${i}`,
                  async () => (await top(process)) === `${document_id} also_viewed`,
                  within_ms
                )
              )
            )
          // The receiving process does not matter: each click outweighs the earlier ones.
          for (const [i, process] of all.entries())
            yield* Effect.promise(async () => {
              await clicks(process, `p${i + 1}`, 2 ** i, `s${i}`)
              await everybody(`p${i + 1}`, all, WITHIN_MS)
            })
          for (const process of all) assert.match(yield* Effect.promise(() => top(process, other, theirs)), / newest$/)
          // One process dies; it missed what happened meanwhile.
          process.kill(rest[3]!.child.pid!, "SIGKILL")
          yield* Effect.promise(() => rest[3]!.exited)
          yield* Effect.promise(() => clicks(first, "p9", 40, "late"))
          const back = yield* started(place, "p4", ports[4]!, operator)
          yield* Effect.promise(() => everybody("p9", [...all.slice(0, 4), back], 60_000))
          yield* Effect.promise(async () => {
            await clicks(back, "p10", 90, "again")
            await everybody("p10", [...all.slice(0, 4), back], WITHIN_MS)
          })
        })
      )
    )
  })
