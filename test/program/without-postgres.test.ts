/**
 * A running program that loses its Postgres: keys, entitlements and searches keep working for the stated time, and are
 * then refused with the reason; no request hangs, and the program recovers by itself when Postgres is back.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { SERVED_WITHOUT_POSTGRES_MS } from "../../src/configuration/configuration.ts"
import { type PostgresServer, startEmbeddedPostgres } from "../../src/runtime/embedded-postgres.ts"
import { freePort } from "../../src/runtime/free-port.ts"
import { startBreakableProxy } from "../support/breakable-proxy.ts"
import { inInstallation, type Place, run } from "../support/installation.ts"
import { kafkaMissing } from "../support/kafka.ts"
import { temporaryFolder } from "../support/postgres.ts"
import { serverPids } from "../support/server-pids.ts"

/** Leases end some seconds late, and so does a driver notice the loss. */
const SLACK_MS = 15_000
const ANSWERED_WITHIN_MS = 20_000
const missing = kafkaMissing()

interface Loss {
  /** The database URL that the program gets. */ readonly databaseUrl: string
  readonly begin: () => void
  /** Called after a third of the stated time. */ readonly worsen: () => Promise<void>
  readonly end: () => Promise<void>
}
const scenario = (told: string, acquire: (place: Place) => Effect.Effect<Loss, unknown, Scope.Scope>) => {
  if (missing !== undefined) return it(told, (ctx) => ctx.skip(missing))
  return it.live(told, () =>
    inInstallation(1, (place) => Effect.flatMap(acquire(place), (loss) => losing(place, loss)))
  )
}
const losing = (place: Place, loss: Loss) =>
  Effect.gen(function* () {
    const program = yield* run({ ...place, databaseUrl: loss.databaseUrl }, "p", [
      "start",
      "--mode",
      "distributed",
      "--port",
      String(yield* Effect.promise(freePort))
    ])
    const { base_url, full_key, gateway_url, organization_id } = program.ready as Record<string, string>
    const operatorToken = readFileSync(join(place.folder, "p", "operator.token"), "utf8").trim()
    const send = (method: string, address: string, headers: Record<string, string>, body?: unknown) =>
      Effect.promise(async () => {
        const sentAt = performance.now()
        const response = await fetch(address, {
          method,
          headers,
          signal: AbortSignal.timeout(ANSWERED_WITHIN_MS),
          ...(body === undefined ? {} : { body: JSON.stringify(body) })
        }).catch((error: unknown) => {
          throw new Error(
            `${method} ${address} after ${performance.now() - sentAt} ms: ${String(error)}; ${program.said()}`
          )
        })
        return {
          status: response.status,
          retryAfter: response.headers.get("retry-after"),
          body: (await response.json()) as any
        }
      })
    const full = { "x-svc-api-key": full_key! }
    const planned = yield* send(
      "POST",
      `${new URL(base_url!).origin}/console/v1/organizations/${organization_id}/plan`,
      { authorization: `Bearer ${operatorToken}` },
      { plan: "standard", quota: 100_000 }
    )
    assert.strictEqual(planned.status, 200, JSON.stringify(planned.body))
    yield* send("POST", `${base_url}/collections`, full, { name: "things", fields: [{ name: "name", type: "string" }] })
    yield* send("POST", `${base_url}/collections/things/documents`, full, { id: "1", name: "kettle" })
    const made = yield* send("POST", `${base_url}/keys`, full, { description: "g", scope: "search", gateway: true })
    const bearer = { authorization: `Bearer ${made.body.value}` }
    const search = () => send("POST", `${gateway_url}/indexes/things/search`, bearer, { q: "kettle", query_by: "name" })
    assert.strictEqual((yield* search()).body.found, 1)
    // A key that was never used is in memory as well, and so are the plan's limits.
    const token = yield* send("POST", `${gateway_url}/scoped-tokens`, bearer, {
      index: "things",
      scopedFilter: "name:kettle",
      expiresInSeconds: 3_600
    })
    assert.strictEqual(token.status, 201)
    const scoped = { authorization: `Bearer ${token.body.token}` }

    const from = performance.now()
    loss.begin()
    let isWorse = false
    let served_ms = 0,
      refusal: { readonly status: number; readonly retryAfter: string | null; readonly body: any } | undefined
    while (refusal === undefined) {
      const at = performance.now() - from
      const answer = yield* search()
      if (answer.status === 200) served_ms = at
      else refusal = answer
      assert.isBelow(at, SERVED_WITHOUT_POSTGRES_MS + SLACK_MS, "it has to end")
      if (answer.status === 200 && at < 5_000) {
        assert.strictEqual(
          (yield* send("POST", `${gateway_url}/indexes/things/search`, scoped, { q: "*" })).body.found,
          1
        )
        assert.strictEqual(
          (yield* send(
            "POST",
            `${gateway_url}/indexes/things/search`,
            { authorization: "Bearer ss_search_nobody" },
            {}
          )).status,
          401
        )
      }
      if (!isWorse && at > SERVED_WITHOUT_POSTGRES_MS / 3) {
        isWorse = true
        yield* Effect.promise(loss.worsen)
        assert.strictEqual(
          (yield* send("POST", `${gateway_url}/indexes/things/search`, scoped, { q: "*" })).body.found,
          1
        )
      }
      yield* Effect.sleep(500)
    }
    assert.isAtLeast(served_ms, SERVED_WITHOUT_POSTGRES_MS - SLACK_MS, `${JSON.stringify(refusal)} ${program.said()}`)
    assert.deepStrictEqual([refusal.status, refusal.body], [503, { error: "degraded" }])
    assert.isAtLeast(Number(refusal.retryAfter), 1)
    const direct = yield* send("GET", `${base_url}/collections/things/documents/search?q=*`, full)
    assert.strictEqual(direct.status, 503)
    const health = yield* send("GET", `${gateway_url}/health`, {})
    assert.deepStrictEqual([health.status, health.body.status], [200, "degraded"])

    yield* Effect.promise(loss.end)
    const healed = performance.now()
    while ((yield* search()).status !== 200) {
      assert.isBelow(performance.now() - healed, SLACK_MS)
      yield* Effect.sleep(200)
    }
    const again = yield* send("POST", `${base_url}/keys`, full, {
      description: "after",
      scope: "search",
      gateway: true
    })
    assert.strictEqual(again.status, 201)
    process.kill(program.child.pid!, "SIGTERM")
    assert.strictEqual(yield* Effect.promise(() => program.exited), 0, program.said())
  })

scenario("keys and entitlements work for the stated time without Postgres, then 503, then everything again", (place) =>
  Effect.gen(function* () {
    const database = new URL(place.databaseUrl)
    const proxy = yield* Effect.acquireRelease(
      Effect.promise(() => startBreakableProxy(database.hostname, Number(database.port))),
      ({ heal, stop }) =>
        Effect.promise(() => {
          heal()
          return stop()
        })
    )
    database.host = `127.0.0.1:${proxy.port}`
    return {
      databaseUrl: database.href,
      begin: () => proxy.cut(),
      worsen: async () => {},
      end: async () => {
        proxy.heal()
      }
    }
  })
)
scenario("the same when the server itself freezes, is killed, and returns with its data", () =>
  Effect.gen(function* () {
    const folder = join(yield* temporaryFolder("frozen"), "postgres")
    let server: PostgresServer = yield* Effect.promise(() => startEmbeddedPostgres(folder))
    const { database, host, password, port, username } = server
    const pids = () => serverPids(Number(readFileSync(join(folder, "postmaster.pid"), "utf8").split("\n", 1)[0]))
    // A stopped process would not react to the signal to end.
    let frozen: ReadonlyArray<number> = []
    yield* Effect.addFinalizer(() =>
      Effect.promise(() => {
        for (const pid of frozen) process.kill(pid, "SIGCONT")
        return server.stop()
      })
    )
    return {
      databaseUrl: `postgres://${username}:${password}@${host}:${port}/${database}`,
      begin: () => {
        frozen = pids()
        for (const pid of frozen) process.kill(pid, "SIGSTOP")
      },
      worsen: async () => {
        for (const pid of pids()) process.kill(pid, "SIGKILL")
        frozen = []
        await server.died
      },
      end: async () => {
        server = await startEmbeddedPostgres(folder, port)
      }
    }
  })
)
