/** Hosts shared by two processes of one database: one request at a time over both, and one copy of robots.txt. */
import { expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Hosts } from "../../../src/ingest/crawl/hosts.ts"
import { crawlExpiries } from "../../../src/ingest/crawl/crawl-repository.ts"
import { layer as layerHttp } from "../../../src/ports/outbound-http/node.ts"
import { layerProcesses } from "../../support/ingest-worker.ts"
import { startSite } from "../../support/site.ts"

const process = Layer.fresh(Hosts.layer.pipe(Layer.provide(layerHttp({ allowPrivateAddresses: true }))))
const hosts = Effect.map(Layer.build(process), (context) => context.pipe((all) => Effect.provideContext(Hosts, all)))

layer(layerProcesses, { excludeTestServices: true })("hosts", (it) => {
  it.effect("are called by one process at a time, and both get their turns", () =>
    Effect.gen(function* () {
      const both = [yield* yield* hosts, yield* yield* hosts]
      let atOnce = 0,
        most = 0
      const order: Array<number> = []
      const turn = (which: number) =>
        both[which]!.turn(
          "org_a",
          "one.example",
          { asked_ms: 0 },
          Effect.gen(function* () {
            most = Math.max(most, ++atOnce)
            order.push(which)
            yield* Effect.sleep(20)
            atOnce--
            return [undefined, { isFailure: false }] as const
          })
        )
      const runs = [0, 1].map((which) => Effect.forEach([1, 2, 3, 4], () => turn(which)))
      yield* Effect.all(runs, { concurrency: 2 })
      expect(most).toBe(1)
      expect([...order].sort()).toEqual([0, 0, 0, 0, 1, 1, 1, 1])
      // The claim of a dead process expires by itself, and housekeeping removes its row.
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE crawl_hosts SET claimed_by = 'gone', claimed_until = clock_timestamp() + interval '300 ms'`
      const began = performance.now()
      yield* turn(0)
      expect(performance.now() - began).toBeGreaterThan(250)
      yield* sql`UPDATE crawl_hosts SET claimed_until = clock_timestamp() - interval '2 days'`
      expect(yield* crawlExpiries(0, 100)).toBe(1)
    }).pipe(Effect.scoped)
  )
  it.effect("are asked once a day by a process for their robots.txt", () =>
    Effect.gen(function* () {
      const site = yield* Effect.acquireRelease(
        Effect.promise(() => startSite({ "/robots.txt": "User-agent: *\nDisallow: /private" })),
        ({ stop }) => Effect.promise(stop)
      )
      const one = yield* yield* hosts
      const asked = yield* Effect.forEach([1, 2, 3], () => one.robots("org_a", site.origin, { asked_ms: 0 }), {
        concurrency: 3
      })
      expect(asked.map((robots) => robots.isAllowed(`${site.origin}/private`))).toEqual([false, false, false])
      expect(site.paths()).toEqual(["/robots.txt"])
    }).pipe(Effect.scoped)
  )
})
