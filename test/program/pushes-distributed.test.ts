/**
 * Pushes over Kafka and two processes, of which one has the engine: both accept pushes, a creation gets the same answer
 * from either, and when the one with the engine is killed with SIGKILL, the other continues to accept pushes, which are
 * applied in order when it is back.
 */
import { assert, describe, it } from "@effect/vitest"
import { createHmac } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { freePort } from "../../src/runtime/free-port.ts"
import { kafkaMissing } from "../support/kafka.ts"
import { inInstallation, run } from "../support/installation.ts"
import { eventually } from "../support/receiver.ts"

const PARTITIONS = 3
const DOCUMENTS = 8,
  ROUNDS = 24
const connector = { name: "Shop", collection: "products", provider: "generic", sync_mode: "push" }
const collection = {
  name: "products",
  fields: [
    { name: "title", type: "string" },
    { name: "n", type: "int32" }
  ]
}

const missing = kafkaMissing()
if (missing !== undefined) it("pushes over Kafka", (ctx) => ctx.skip(missing))
else
  describe("pushes over Kafka", () => {
    it.live("are accepted by every process and applied in order by the one with the engine, through a kill of it", () =>
      inInstallation(PARTITIONS, (place) =>
        Effect.gen(function* () {
          const ports = yield* Effect.promise(() => Promise.all([freePort(), freePort()]))
          const startFirst = run(place, "first", ["start", "--mode", "distributed", "--port", String(ports[0])])
          const first = yield* startFirst
          const operatorKey = readFileSync(join(place.folder, "first", "operator.key"), "utf8").trim()
          const none = ["start", "--mode", "distributed", "--engine", "none", "--port", String(ports[1])]
          const second = yield* run(place, "second", [...none, "--operator-key", operatorKey])
          const key = first.ready.full_key!
          const bases = [first.ready.base_url!, second.ready.base_url!]
          const send = async (at: number, method: string, path: string, body?: unknown, more: object = {}) => {
            const response = await fetch(`${bases[at]}${path}`, {
              method,
              headers: { "x-svc-api-key": key, ...more },
              ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
            })
            return { status: response.status, body: (await response.json()) as any }
          }
          yield* Effect.promise(async () => {
            assert.strictEqual((await send(0, "POST", "/collections", collection)).status, 201)
            const once = { "idempotency-key": "one" }
            const made = await Promise.all([0, 1].map((at) => send(at, "POST", "/connectors", connector, once)))
            assert.deepStrictEqual([made[0]!.status, made[0]!.body], [201, made[1]!.body])
            const { id, secret } = made[0]!.body
            const push = async (at: number, n: number) => {
              const events = Array.from({ length: DOCUMENTS }, (_, i) => ({
                external_id: `d${i}`,
                version: n,
                document: { title: `Number ${n}`, n }
              }))
              const text = JSON.stringify({ events })
              const time = String(Math.floor(Date.now() / 1_000))
              const signature = createHmac("sha256", secret).update(`${time}.${text}`).digest("hex")
              const headers = { "x-signature-timestamp": time, "x-signature": signature }
              const answer = await send(at, "POST", `/connectors/${id}/webhook`, text, headers)
              assert.strictEqual(answer.status, 202, JSON.stringify(answer.body))
              return answer.body.job_id as string
            }
            const jobs: Array<string> = []
            for (let n = 0; n < ROUNDS / 2; n++) jobs.push(await push(n % 2, n))
            process.kill(first.child.pid!, "SIGKILL")
            await first.exited
            for (let n = ROUNDS / 2; n < ROUNDS; n++) jobs.push(await push(1, n))
            return { id, jobs }
          }).pipe(
            Effect.tap(() => startFirst),
            Effect.flatMap(({ id, jobs }) =>
              Effect.promise(async () => {
                for (const job of jobs)
                  await eventually(`the job ${job}`, async () =>
                    (await send(0, "GET", `/jobs/${job}`)).body.status === "ready" ? true : undefined
                  )
                for (let i = 0; i < DOCUMENTS; i++) {
                  const { body } = await send(0, "GET", `/collections/products/documents/d${i}`)
                  assert.strictEqual(body.n, ROUNDS - 1)
                  const lines = (await send(1, "GET", `/connectors/${id}/journal?external_id=d${i}&limit=250`)).body
                    .data
                  const versions = lines.map(({ version }: any) => version).reverse()
                  assert.deepStrictEqual(
                    versions,
                    Array.from({ length: ROUNDS }, (_, n) => n)
                  )
                  assert.isTrue(lines.every(({ status }: any) => status === "applied"))
                }
              })
            )
          )
        })
      )
    )
  })
