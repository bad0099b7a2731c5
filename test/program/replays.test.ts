/**
 * Replays and erasure in an installation of several processes over a real Kafka and a real Postgres: partitions shared
 * by two stream processes, one of which is killed while a replay is under way, and a log that cannot be rewritten.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { freePort } from "../../src/runtime/free-port.ts"
import { folded } from "../support/folded.ts"
import { inInstallation, run } from "../support/installation.ts"
import { kafkaMissing } from "../support/kafka.ts"
import { figuresOf, jobEnd } from "../support/replays.ts"

const PARTITIONS = 3
const DAY = 86_400_000
const day = (at: number) => new Date(at).toISOString().slice(0, 10)

const missing = kafkaMissing()
if (missing !== undefined) it("replays over Kafka", (ctx) => ctx.skip(missing))
else
  describe("replays over Kafka", () => {
    it.live(
      "rebuild the counts of several processes, through the death of one, and hide a person whose records brokers keep",
      () =>
        inInstallation(PARTITIONS, (place) =>
          Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            const port = yield* Effect.promise(freePort)
            const api = yield* run(place, "api", ["start", "--mode", "distributed", "--port", String(port)])
            const streams = (name: string) => run(place, name, ["streams", "--lease-ms", "2000"])
            const [one] = [yield* streams("one"), yield* streams("two")]
            const organizationId = api.ready.organization_id!
            const call = (method: string, path: string, body?: unknown) =>
              Effect.promise(async () => {
                const response = await fetch(`${api.ready.base_url}${path}`, {
                  method,
                  headers: { "x-svc-api-key": api.ready.full_key! },
                  ...(body === undefined ? {} : { body: JSON.stringify(body) })
                })
                return { status: response.status, body: (await response.json()) as Record<string, any> }
              })
            const events = (from: number) =>
              Array.from({ length: 300 }, (_, i) => {
                const common = {
                  collection: "shop",
                  session_id: `s${i % 40}`,
                  event_id: `e${from + i}`,
                  timestamp: Date.now() - 1_000 * (300 - i),
                  ...(i % 40 === 7 && i % 3 === 0 ? { user_id: "gone" } : {})
                }
                return i % 2 === 0
                  ? { ...common, type: "search", q: `word ${i % 11}`, results_found: i % 5 }
                  : { ...common, type: "click", document_id: `p${i % 9}` }
              })
            const total = Effect.map(
              Effect.andThen(
                folded,
                sql<{
                  n: number
                }>`SELECT coalesce(sum(events), 0)::float8 AS n FROM analytics_event_rollup WHERE organization_id = ${organizationId} AND grain = 3`
              ),
              ([row]) => row!.n
            )
            const counted = Effect.fnUntraced(function* (n: number) {
              for (let waited = 0; waited < 30_000 && (yield* total) !== n; waited += 50) yield* Effect.sleep(50)
              assert.strictEqual(yield* total, n)
            })
            yield* call("POST", "/events", { events: events(0) })
            yield* counted(300)
            const before = yield* figuresOf(organizationId)
            yield* sql`UPDATE analytics_query_rollup SET searches = searches * 3 WHERE organization_id = ${organizationId}`
            yield* sql`DELETE FROM analytics_product_rollup WHERE organization_id = ${organizationId}`
            const replay = yield* call("POST", "/events/replays", {
              from: day(Date.now() - 2 * DAY),
              to: day(Date.now() + DAY),
              target: "analytics"
            })
            assert.strictEqual(replay.status, 202)
            process.kill(one.child.pid!, "SIGKILL")
            assert.strictEqual((yield* jobEnd(replay.body.id)).status, "ready")
            assert.deepStrictEqual(yield* figuresOf(organizationId), before)

            const third = yield* streams("three")
            const erasure = yield* call("DELETE", "/events/subjects/gone")
            assert.strictEqual(erasure.status, 202)
            const { error, result, status } = yield* jobEnd(erasure.body.id)
            assert.deepStrictEqual([status, error], ["ready", null])
            // A session counts as the person's if it has no other user id.
            const his = events(0).filter(({ session_id }) => session_id === "s7").length
            const topic = result!.topics.find(({ name }: { readonly name: string }) => name === "behaviour.events.v1")
            assert.deepStrictEqual([topic.entries, topic.records_rewritten], [his, undefined])
            assert.isAbove(topic.hidden_until, Date.now())
            yield* counted(300 - his)
            // From here on, a process that takes over a partition reads all of it again, without the erased person.
            process.kill(third.child.pid!, "SIGKILL")
            yield* call("POST", "/events", { events: events(1_000).filter(({ session_id }) => session_id !== "s7") })
            yield* counted(2 * (300 - his))
            const jobs = yield* call("GET", "/jobs?status=ready")
            assert.deepStrictEqual(
              jobs.body.data.map(({ type }: { readonly type: string }) => type),
              ["subject_erasure", "event_replay"]
            )
          })
        )
    )
  })
