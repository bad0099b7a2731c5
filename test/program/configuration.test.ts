/**
 * Five processes of one installation: the next request at every process sees what one of them has acknowledged as
 * written. The operations need no engine, which only one of the five has; refusals come before the engine is needed.
 */
import { assert, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { freePort } from "../../src/runtime/free-port.ts"
import { inInstallation, type Process, run } from "../support/installation.ts"
import { kafkaMissing } from "../support/kafka.ts"

const PROCESSES = 5
const title = "keys, presets, dictionaries and organizations are seen by the next request of each of five processes"

const missing = kafkaMissing()
if (missing !== undefined) it(title, (ctx) => ctx.skip(missing))
else
  it.live(title, () =>
    inInstallation(1, (place) =>
      Effect.gen(function* () {
        const ports = yield* Effect.promise(() => Promise.all(Array.from({ length: PROCESSES }, freePort)))
        const first = yield* run(place, "p0", ["start", "--mode", "distributed", "--port", String(ports[0])])
        const secret = (name: string) => readFileSync(join(place.folder, "p0", `operator.${name}`), "utf8").trim()
        const others = yield* Effect.forEach(
          [1, 2, 3, 4],
          (i) =>
            run(place, `p${i}`, [
              "start",
              "--mode",
              "distributed",
              "--engine",
              "none",
              "--port",
              String(ports[i]),
              "--operator-key",
              secret("key"),
              "--operator-token",
              secret("token")
            ]),
          { concurrency: 2 }
        )
        const all = [first, ...others]

        const call = (process: Process, method: string, path: string, key: string, body?: unknown) =>
          Effect.promise(async () => {
            const isConsole = path.startsWith("/console")
            const response = await fetch(
              `${isConsole ? process.ready.base_url!.replace(/\/v1$/, "") : process.ready.base_url}${path}`,
              {
                method,
                headers: isConsole ? { authorization: `Bearer ${key}` } : { "x-svc-api-key": key },
                ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
              }
            )
            const text = await response.text()
            return { status: response.status, body: (text.startsWith("{") ? JSON.parse(text) : text) as any }
          })
        /** The next request at every process, all at the same time. */
        const everywhere = (method: string, path: string, key: string) =>
          Effect.forEach(all, (process) => call(process, method, path, key), { concurrency: "unbounded" })
        const statuses = (method: string, path: string, key: string) =>
          Effect.map(everywhere(method, path, key), (answers) => answers.map(({ status }) => status))
        const same = (status: number) => all.map(() => status)
        const sql = yield* SqlClient.SqlClient
        const full = first.ready.full_key!

        // A second organization, created at a process that did not create the first: it works everywhere and stays
        // unchanged.
        const made = yield* call(all[4]!, "POST", "/console/v1/organizations", secret("token"), { name: "Other" })
        assert.strictEqual(made.status, 201)
        const foreign: string = made.body.full_key
        assert.deepStrictEqual(yield* statuses("GET", "/keys", foreign), same(200))

        for (const [i, writer] of all.entries()) {
          const revoker = all[(i + 2) % PROCESSES]!
          const created = yield* call(writer, "POST", "/keys", full, {
            description: `by ${i}`,
            scope: "full",
            rate_limit_per_minute: 0
          })
          const { id, value } = created.body as { readonly id: string; readonly value: string }
          assert.deepStrictEqual(yield* statuses("GET", `/keys/${id}`, value), same(200))
          assert.strictEqual(
            (yield* call(revoker, "POST", "/keys", full, { description: "again", scope: "full", value })).status,
            409
          )
          assert.strictEqual((yield* call(revoker, "DELETE", `/keys/${id}`, foreign)).status, 404)
          assert.strictEqual((yield* call(revoker, "DELETE", `/keys/${id}`, full)).status, 200)
          assert.deepStrictEqual(yield* statuses("GET", "/keys", value), same(401))
          assert.deepStrictEqual(yield* statuses("GET", `/keys/${id}`, full), same(404))
          const audit = yield* sql<{
            hash: number
            revoked: boolean
          }>`SELECT length(lookup_hash)::int4 AS hash, revoked_at IS NOT NULL AS revoked FROM api_keys WHERE id = ${id}`
          assert.deepStrictEqual(audit, [{ hash: 64, revoked: true }])

          for (const per_page of [i + 1, i + 101]) {
            assert.strictEqual(
              (yield* call(writer, "PUT", "/presets/front", full, { value: { per_page } })).status,
              200
            )
            assert.deepStrictEqual(
              (yield* everywhere("GET", "/presets/front", full)).map(({ body }) => body.value),
              all.map(() => ({ per_page }))
            )
            assert.deepStrictEqual(yield* statuses("GET", "/presets/front", foreign), same(404))
          }
          assert.strictEqual((yield* call(revoker, "DELETE", "/presets/front", full)).status, 200)
          assert.deepStrictEqual(yield* statuses("GET", "/presets/front", full), same(404))

          // A refusal of the organization comes before that of an absent engine, so searches are refused alike
          // everywhere.
          const pause = `/console/v1/organizations/${first.ready.organization_id}`
          assert.strictEqual(
            (yield* call(writer, "POST", `${pause}/pause`, secret("token"), { reason: "payment" })).status,
            200
          )
          for (const path of ["/keys", "/presets", "/collections/shoes/documents/search?q=x&query_by=title"])
            assert.deepStrictEqual(yield* statuses("GET", path, full), same(402))
          assert.deepStrictEqual(yield* statuses("GET", "/keys", foreign), same(200))
          assert.strictEqual((yield* call(revoker, "POST", `${pause}/resume`, secret("token"))).status, 200)
          assert.deepStrictEqual(yield* statuses("GET", "/keys", full), same(200))
        }

        // A dictionary received by a process without an engine is passed to another process's engine.
        assert.strictEqual(
          (yield* call(
            all[3]!,
            "POST",
            "/stemming/dictionaries/import?id=plurals",
            full,
            '{"word":"mice","root":"mouse"}'
          )).status,
          200
        )
        assert.strictEqual(
          (yield* call(first, "POST", "/collections", full, {
            name: "animals",
            fields: [{ name: "title", type: "string", stem_dictionary: "plurals" }]
          })).status,
          201
        )
        assert.strictEqual(
          (yield* call(first, "POST", "/collections/animals/documents", full, { id: "1", title: "three mice" })).status,
          201
        )
        assert.strictEqual(
          (yield* call(
            first,
            "GET",
            "/collections/animals/documents/search?q=mouse&query_by=title&num_typos=0&drop_tokens_threshold=0",
            full
          )).body.found,
          1
        )

        // One process is killed and one frozen: neither delays the acknowledgement of a revocation, nor accepts the key
        // afterwards.
        const doomed = yield* call(first, "POST", "/keys", full, {
          description: "doomed",
          scope: "full",
          rate_limit_per_minute: 0
        })
        const { id, value } = doomed.body as { readonly id: string; readonly value: string }
        assert.deepStrictEqual(yield* statuses("GET", "/keys", value), same(200))
        process.kill(all[3]!.child.pid!, "SIGKILL")
        process.kill(all[4]!.child.pid!, "SIGSTOP")
        assert.strictEqual((yield* call(first, "DELETE", `/keys/${id}`, full)).status, 200)
        for (const living of all.slice(0, 3))
          assert.strictEqual((yield* call(living, "GET", "/keys", value)).status, 401)
        // Sent while the process is frozen; this will be its first answer afterwards.
        const late = Effect.runPromise(call(all[4]!, "GET", "/keys", value))
        process.kill(all[4]!.child.pid!, "SIGCONT")
        assert.strictEqual((yield* Effect.promise(() => late)).status, 401)
        const living = all.filter((_, i) => i !== 3)
        for (const { child } of living) process.kill(child.pid!, "SIGTERM")
        assert.deepStrictEqual(
          yield* Effect.promise(() => Promise.all(living.map(({ exited }) => exited))),
          living.map(() => 0),
          first.said()
        )
        assert.deepStrictEqual(yield* sql`SELECT process FROM configuration_leases`, [])
      })
    )
  )
