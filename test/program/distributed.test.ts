/**
 * An installation of several processes over a real Kafka and a real Postgres: API processes with an engine and without,
 * stream processes that start, freeze, die and stop, and a broker that dies, while events arrive. Every event is
 * counted exactly once.
 */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Fiber, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { type BehaviouralEvent, EVENTS_SCHEMA_VERSION } from "../../log/event-schema.ts"
import { EventLog } from "../../log/event-log/event-log.ts"
import { layerKafka } from "../../log/event-log/kafka.ts"
import { freePort } from "../../src/runtime/free-port.ts"
import { readLeases } from "../../streams/ownership/leases.ts"
import { encodeRecord } from "../../log/record.ts"
import { partitionOfEvent } from "../../log/routing.ts"
import { BEHAVIOUR_EVENTS, deadLettersOf, topicSpecs } from "../../log/topics.ts"
import { folded } from "../support/folded.ts"
import { kafkaMissing } from "../support/kafka.ts"
import { inInstallation, type Place, type Process, run } from "../support/installation.ts"

const PARTITIONS = 4
const LEASE_MS = 2_000
/** Runs the processor whose partitions are counted here. */
const streamsProcess = (place: Place, name: string, ...more: ReadonlyArray<string>) =>
  run(place, name, ["streams", "attribution", "--lease-ms", String(LEASE_MS), ...more])

const until = <A, E, R>(what: string, within_ms: number, look: Effect.Effect<A, E, R>, holds: (found: A) => boolean) =>
  Effect.gen(function* () {
    let found = yield* look
    for (let waited = 0; waited < within_ms && !holds(found); waited += 100) {
      yield* Effect.sleep(100)
      found = yield* look
    }
    if (!holds(found)) return assert.fail(`not within ${within_ms} ms: ${what}; found ${JSON.stringify(found)}`)
    return found
  })
/** The number of partitions by owner; a lease without a living owner is ignored. */
const owned = Effect.map(readLeases, (leases) => {
  const counts: Record<string, number> = {}
  for (const { owner = "nobody" } of leases) counts[owner] = (counts[owner] ?? 0) + 1
  return counts
})
const counted = Effect.fnUntraced(function* (organizationId: string) {
  const sql = yield* SqlClient.SqlClient
  yield* folded
  const [row] = yield* sql<{
    n: number
  }>`SELECT coalesce(sum(events), 0)::float8 AS n FROM analytics_event_rollup WHERE organization_id = ${organizationId} AND grain = 3`
  return row!.n
})

const missing = kafkaMissing()
if (missing !== undefined) it("several processes over Kafka", (ctx) => ctx.skip(missing))
else
  describe("several processes over Kafka", () => {
    const scenario = (
      title: string,
      within_ms: number,
      body: (place: Place) => Effect.Effect<void, unknown, EventLog | SqlClient.SqlClient | Scope.Scope>
    ) =>
      it.live(
        title,
        () =>
          inInstallation(PARTITIONS, (place) =>
            Effect.provide(
              body(place),
              layerKafka({ brokers: [place.broker.address()], clientId: "test", topics: topicSpecs(PARTITIONS) })
            )
          ),
        within_ms
      )

    scenario(
      "counts every event once while stream processes join, freeze, die and leave, and the broker is killed",
      240_000,
      (place) =>
        Effect.gen(function* () {
          const log = yield* EventLog
          const adminPort = yield* Effect.promise(freePort)
          const a = yield* streamsProcess(place, "a", "--admin-port", String(adminPort))
          /** The number of partitions that process a reports. */
          const shown = Effect.promise(async () => {
            const told = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text()
            return [...told.matchAll(/^dowser_stream_entries_total\{/gm)].length
          })
          yield* until("a owns everything", 60_000, owned, (counts) => counts[a.ready.member!] === PARTITIONS)
          const b = yield* streamsProcess(place, "b")
          const isShared = (one: Process, other: Process) => (counts: Record<string, number>) =>
            counts[one.ready.member!] === 2 && counts[other.ready.member!] === 2
          let appended = 0
          let isOver = false
          const load = yield* Effect.forkChild(
            Effect.gen(function* () {
              for (let i = 0; !isOver; i++) {
                const parts = new Map<number, Array<BehaviouralEvent>>()
                for (let j = 0; j < 20; j++) {
                  const event = {
                    type: "click",
                    collection: "products",
                    document_id: `p${j}`,
                    q: "shoes",
                    session_id: `s${i}-${j % 5}`,
                    event_id: `e${i}-${j}`,
                    timestamp: Date.now()
                  } as unknown as BehaviouralEvent
                  const partition = partitionOfEvent("org_x", event, PARTITIONS)
                  parts.set(partition, [...(parts.get(partition) ?? []), event])
                }
                const records = [...parts].map(([partition, events]) => ({
                  topic: BEHAVIOUR_EVENTS.name,
                  partition,
                  key: "org_x",
                  value: encodeRecord({
                    schema_version: EVENTS_SCHEMA_VERSION,
                    organization_id: "org_x",
                    occurred_at: Date.now(),
                    payload: { events }
                  })
                }))
                yield* log.append(records)
                // As a sender does that received no answer.
                if (i % 7 === 0) yield* log.append(records)
                appended += 20
                yield* Effect.sleep(15)
              }
            })
          )
          yield* until("a and b share", 60_000, owned, isShared(a, b))
          yield* until("a shows what it runs, and not what it let go of", 60_000, shown, (n) => n === 2)
          // Frozen for longer than its session in the middle of its work: b takes over, and a returns with entries that
          // it had not flushed.
          process.kill(a.child.pid!, "SIGSTOP")
          yield* until("b owns everything", 60_000, owned, (counts) => counts[b.ready.member!] === PARTITIONS)
          yield* Effect.sleep(2_000)
          process.kill(a.child.pid!, "SIGCONT")
          yield* until("a and b share again", 60_000, owned, isShared(a, b))
          process.kill(b.child.pid!, "SIGKILL")
          yield* until("a owns everything again", 60_000, owned, (counts) => counts[a.ready.member!] === PARTITIONS)
          const c = yield* streamsProcess(place, "c")
          yield* until("a and c share", 60_000, owned, isShared(a, c))
          // Then the broker itself, on which all processes depend.
          yield* Effect.promise(place.broker.kill)
          yield* Effect.sleep(1_000)
          yield* Effect.promise(place.broker.restart)
          yield* Effect.sleep(1_500)
          isOver = true
          yield* Fiber.join(load)
          yield* until(`all ${appended} are counted`, 240_000, counted("org_x"), (n) => n >= appended)
          yield* Effect.sleep(1_500)
          assert.strictEqual(yield* counted("org_x"), appended)
          assert.isTrue(appended > 5_000, `only ${appended} events were appended`)
          assert.deepStrictEqual(yield* log.bounds(deadLettersOf(BEHAVIOUR_EVENTS).name, 0), {
            startOffset: 0,
            endOffset: 0
          })
          for (const { child } of [a, c]) process.kill(child.pid!, "SIGTERM")
          assert.deepStrictEqual(yield* Effect.promise(() => Promise.all([a.exited, c.exited])), [0, 0], a.said())
          assert.deepStrictEqual(yield* owned, { nobody: PARTITIONS })
        })
    )

    scenario("accepts at one process what another counts, and reports where the engine is missing", 120_000, (place) =>
      Effect.gen(function* () {
        const ports = yield* Effect.promise(() => Promise.all([freePort(), freePort()]))
        const first = yield* run(place, "first", ["start", "--mode", "distributed", "--port", String(ports[0])])
        const key = readFileSync(join(place.folder, "first", "operator.key"), "utf8").trim()
        const refused = yield* Effect.exit(
          Effect.scoped(
            run(place, "stranger", ["start", "--mode", "distributed", "--engine", "none", "--port", String(ports[1])])
          )
        )
        assert.match(String(refused), /sealed with another operator's key; give its content as DOWSER_OPERATOR_KEY/)
        const second = yield* run(place, "second", [
          "start",
          "--mode",
          "distributed",
          "--engine",
          "none",
          "--port",
          String(ports[1]),
          "--operator-key",
          key
        ])
        const adminPort = yield* Effect.promise(freePort)
        yield* streamsProcess(place, "streams", "--admin-port", String(adminPort))
        const call = (process: Process, method: string, path: string, body?: unknown) =>
          Effect.promise(async () => {
            const response = await fetch(`${process.ready.base_url}${path}`, {
              method,
              headers: { "x-svc-api-key": first.ready.full_key! },
              ...(body === undefined ? {} : { body: JSON.stringify(body) })
            })
            return { status: response.status, body: (await response.json()) as Record<string, unknown> }
          })
        assert.strictEqual(
          (yield* call(first, "POST", "/collections", { name: "shoes", fields: [{ name: "title", type: "string" }] }))
            .status,
          201
        )
        for (const [method, path, body] of [
          ["GET", "/collections", undefined],
          ["GET", "/collections/shoes/documents/search?q=x&query_by=title", undefined],
          ["POST", "/collections/shoes/documents", { id: "1", title: "x" }]
        ] as const) {
          assert.deepStrictEqual(yield* call(second, method, path, body), {
            status: 502,
            body: {
              message:
                "This process runs without a search engine (--engine none); send the request to the process that has it."
            }
          })
        }
        const made = yield* call(first, "POST", "/keys", { description: "gateway", scope: "search", gateway: true })
        const connector = yield* call(first, "POST", "/keys", { description: "connector", scope: "connector_write" })
        // Every operation of both documents that uses an engine, with a 502 in its document's shape; every other
        // operation answers.
        const asked = yield* Effect.promise(async () => {
          const found: Record<string, number> = {}
          for (const base of ["/v1", "/api/v1"]) {
            const { paths } = (await (
              await fetch(`${second.ready.base_url.replace(/\/v1$/, "")}${base}/openapi.json`)
            ).json()) as { paths: Record<string, Record<string, { tags: ReadonlyArray<string>; operationId: string }>> }
            for (const [path, methods] of Object.entries(paths))
              for (const [
                method,
                {
                  operationId,
                  tags: [group]
                }
              ] of Object.entries(methods)) {
                const isEngines = [
                  "collections",
                  "documents",
                  "search",
                  "search rules",
                  "suggestions",
                  "analytics rules",
                  "gateway search",
                  "gateway documents"
                ].includes(group!)
                if (!isEngines) continue
                const url = `${second.ready.base_url.replace(/\/v1$/, "")}${path.startsWith(base) ? "" : base}${path.replace(/\{[^}]+\}/g, "shoes")}`
                const headers: Record<string, string> =
                  base === "/v1"
                    ? { "x-svc-api-key": first.ready.full_key! }
                    : {
                        authorization: `Bearer ${String((group === "gateway documents" ? connector : made).body.value)}`
                      }
                const response = await fetch(url, {
                  method: method.toUpperCase(),
                  headers,
                  ...(["get", "head"].includes(method) ? {} : { body: "{}" })
                })
                const body = (await response.json()) as Record<string, unknown>
                const text = base === "/v1" ? body.message : body.error
                assert.deepStrictEqual(
                  [operationId, response.status, typeof text],
                  [operationId, 502, "string"],
                  JSON.stringify(body)
                )
                found[group!] = (found[group!] ?? 0) + 1
              }
          }
          return found
        })
        assert.isAtLeast(asked["gateway search"] ?? 0, 6)
        assert.strictEqual(asked["gateway documents"], 2)
        assert.isAtLeast(Object.keys(asked).length, 8)
        for (const path of ["/api/v1/health", "/api/v1/capabilities"])
          assert.strictEqual(
            (yield* Effect.promise(() => fetch(`${second.ready.base_url.replace(/\/v1$/, "")}${path}`))).status,
            200
          )
        const events = Array.from({ length: 100 }, (_, i) => ({
          type: "click",
          collection: "shoes",
          document_id: "1",
          q: "boots",
          session_id: `s${i}`,
          event_id: `e${i}`
        }))
        assert.deepStrictEqual((yield* call(second, "POST", "/events", { events })).body, {
          accepted: 100,
          deduplicated: 0,
          rejected: []
        })
        yield* call(first, "POST", "/events", { events })
        const organization = first.ready.organization_id!
        yield* until("everything is counted", 60_000, counted(organization), (n) => n >= 100)
        yield* Effect.sleep(1_500)
        assert.strictEqual(yield* counted(organization), 100)
        const told = yield* Effect.promise(async () => (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text())
        const entries = [
          ...told.matchAll(/^dowser_stream_entries_total\{group="attribution",partition="\d"\} (\d+)$/gm)
        ]
        assert.strictEqual(entries.length, PARTITIONS)
        // Both processes accepted the batch, or the second recognised its events: there are a hundred in any case.
        assert.isAtLeast(
          entries.reduce((sum, [, n]) => sum + Number(n), 0),
          100
        )
        assert.match(told, /^dowser_log_call_seconds_count\{call="read"\} [1-9]/m)
        assert.match(told, /^dowser_process_resident_bytes [1-9]/m)
        const today = new Date().toISOString().slice(0, 10)
        const metrics = yield* call(second, "GET", `/analytics/metrics/queries?from=${today}&to=${today}`)
        assert.deepStrictEqual([metrics.status, metrics.body.events], [200, 100])
        for (const { child } of [first, second]) process.kill(child.pid!, "SIGTERM")
        assert.deepStrictEqual(
          yield* Effect.promise(() => Promise.all([first.exited, second.exited])),
          [0, 0],
          second.said()
        )
      })
    )
  })
