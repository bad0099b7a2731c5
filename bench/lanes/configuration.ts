/**
 * Question: what does it cost that every process sees a configuration write: the write, the read, and the idle state?
 * Workload: one row is written again and again, one write at a time: alone (embedded), as the only process of an
 * installation, and as one of several; each result is read at every member. All members share this thread and one
 * Postgres on this machine, so a write among many includes the work of all members. Excluded: HTTP, the network to
 * Postgres.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Configuration } from "../../src/configuration/configuration.ts"
import { layer as layerMigrations } from "../../src/migrations/index.ts"
import { Identifiers } from "../../log/identifiers.ts"
import { layerSql } from "../../src/runtime/embedded.ts"
import { startEmbeddedPostgres } from "../../src/runtime/embedded-postgres.ts"
import { makeMember, makeRoom, makeTable, type Room } from "../../test/support/configuration-room.ts"
import { machine, percentiles, report, round } from "../harness/harness.ts"

export interface ConfigurationOptions {
  readonly processes: number
  readonly writes: number
  readonly seconds: number
  readonly out: string | undefined
}

const READS = 2_000_000

const writesOf = (writer: Room, members: ReadonlyArray<Room>, organizationId: string, writes: number) =>
  Effect.gen(function* () {
    const took: Array<number> = []
    for (let i = 0; i < writes + 20; i++) {
      const from = performance.now()
      const sum = yield* writer.write(organizationId, "x")
      // The first writes prepare statements.
      if (i >= 20) took.push(performance.now() - from)
      for (const member of members)
        if ((yield* member.read(organizationId, "x")) !== sum)
          return yield* Effect.die(new Error("a read missed the write before it"))
    }
    return percentiles(took)
  })
/** Nanoseconds of one read, which is the check before every request. */
const readCost_ns = ({ configuration }: Room) =>
  Effect.sync(() => {
    let current = 0
    const from = performance.now()
    for (let i = 0; i < READS; i++) if (configuration.isCurrent()) current++
    if (current !== READS) throw new Error("the lease ended while reading")
    return round(((performance.now() - from) * 1e6) / READS, 1)
  })

export const benchConfiguration = async ({ out, processes, seconds, writes }: ConfigurationOptions): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-bench-configuration-"))
  const server = await startEmbeddedPostgres(join(folder, "postgres"))
  try {
    const program = Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* makeTable
      const embedded = yield* Effect.provide(makeRoom, Layer.provide(Configuration.layerEmbedded, Identifiers.layer))
      const alone = yield* writesOf(embedded, [embedded], "embedded", writes)
      const first = yield* makeMember(server)
      const single = yield* writesOf(first, [first], "single", writes)
      const members = [
        first,
        ...(yield* Effect.forEach(Array.from({ length: processes - 1 }), () => makeMember(server)))
      ]
      const several = yield* writesOf(first, members, "several", writes)
      const transactions = Effect.map(
        sql<{ n: number }>`SELECT xact_commit::float8 AS n FROM pg_stat_database WHERE datname = ${server.database}`,
        ([row]) => row!.n
      )
      // Idle sessions report their transactions only ten seconds later.
      yield* Effect.sleep(12_000)
      const before = yield* transactions
      yield* Effect.sleep(seconds * 1_000)
      const idle = ((yield* transactions) - before - 1) / seconds / processes
      report(
        "configuration",
        {
          machine: machine(),
          processes,
          embedded_write: alone,
          single_write: single,
          several_write: several,
          embedded_read_ns: yield* readCost_ns(embedded),
          read_ns: yield* readCost_ns(first),
          idle_statements_per_s_and_process: round(idle, 1)
        },
        out
      )
    })
    await Effect.runPromise(
      Effect.scoped(Effect.provide(program, Layer.provideMerge(layerMigrations, layerSql(server))))
    )
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
