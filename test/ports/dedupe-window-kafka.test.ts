/** Two windows in two processes over one topic of a real broker: each recognises what the other has stored. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, type Scope } from "effect"
import { readdirSync } from "node:fs"
import { RUN_SUFFIX } from "../../src/ports/dedupe/run-format.ts"
import { DedupeWindow } from "../../src/ports/dedupe/dedupe-window.ts"
import { EventLog } from "../../log/event-log/event-log.ts"
import { layerKafka } from "../../log/event-log/kafka.ts"
import { kafkaMissing, kafkaVersion, startTestBroker, type TestBroker } from "../support/kafka.ts"
import { temporaryFolder } from "../support/postgres.ts"
import { admitAndStore, HOUR, request, TOPIC } from "./dedupe-window.suite.ts"

const reason = kafkaMissing()
let broker: TestBroker

describe(`dedupe windows over Kafka ${kafkaVersion}${reason === undefined ? "" : ` (skipped: ${reason})`}`, () => {
  beforeAll(async () => {
    if (reason === undefined) broker = await startTestBroker()
  })
  afterAll(async () => {
    if (reason === undefined) await broker.stop()
  })

  /** A process with a log and a window of its own, which ends with the scope. */
  const startProcess = (
    folder: string
  ): Effect.Effect<
    { readonly window: DedupeWindow["Service"]; readonly log: EventLog["Service"] },
    unknown,
    Scope.Scope
  > =>
    Effect.map(
      Layer.build(
        Layer.fresh(
          Layer.provideMerge(
            DedupeWindow.layerSealed({
              key: [1, 2, 3, 4],
              topic: TOPIC,
              folder,
              sealIds: 256,
              fanout: 2,
              runIdsMax: 4_000
            }),
            layerKafka({
              brokers: [broker.address()],
              clientId: "test",
              topics: [{ name: TOPIC, partitions: 1, retention_ms: 720 * HOUR, compaction: false }]
            })
          )
        )
      ),
      (services) => ({ window: Context.get(services, DedupeWindow), log: Context.get(services, EventLog) })
    )
  const untilKnown = (
    { window }: { readonly window: DedupeWindow["Service"] },
    organizationId: string,
    ids: ReadonlyArray<string>
  ) =>
    Effect.gen(function* () {
      for (let waited = 0; waited < 60_000; waited += 5) {
        const admission = yield* window.admit([request(organizationId, ...ids)])
        yield* window.forget(admission)
        if (!admission.seen[0]!.includes(0)) return
        yield* Effect.sleep(5)
      }
      assert.fail("the other process's ids never came")
    })
  const ids = (prefix: string) => Array.from({ length: 200 }, (_, i) => `${prefix}-${i}`)

  it.live("recognise what the other stored, through seals, and after a restart with and without their runs", (ctx) => {
    if (reason !== undefined) return ctx.skip(reason)
    return Effect.scoped(
      Effect.gen(function* () {
        const [left, right, late] = [
          yield* temporaryFolder("dedupe"),
          yield* temporaryFolder("dedupe"),
          yield* temporaryFolder("dedupe")
        ]
        yield* Effect.scoped(
          Effect.gen(function* () {
            const a = yield* startProcess(left)
            const b = yield* startProcess(right)
            for (let round = 0; round < 6; round++) {
              yield* Effect.provideService(
                admitAndStore(a.window, [request("one", ...ids(`a${round}`))]),
                EventLog,
                a.log
              )
              yield* Effect.provideService(
                admitAndStore(b.window, [request("one", ...ids(`b${round}`))]),
                EventLog,
                b.log
              )
              yield* untilKnown(b, "one", ids(`a${round}`))
              yield* untilKnown(a, "one", ids(`b${round}`))
              const other = yield* a.window.admit([request("two", ...ids(`b${round}`))])
              yield* a.window.forget(other)
              assert.strictEqual(other.seen[0]!.includes(1), false)
            }
          })
        )
        assert.isTrue(
          [left, right].every((folder) => readdirSync(folder).some((name) => name.endsWith(RUN_SUFFIX))),
          "nothing was sealed"
        )
        for (const folder of [left, late]) {
          const again = yield* startProcess(folder)
          for (let round = 0; round < 6; round++) {
            yield* untilKnown(again, "one", ids(`a${round}`))
            yield* untilKnown(again, "one", ids(`b${round}`))
          }
        }
      })
    )
  })
})
