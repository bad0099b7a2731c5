/**
 * Members of an installation over one Postgres: whatever happens to a process, its connections or its path to the
 * database, no read that began after a write was acknowledged misses it, and no write waits for a dead process.
 */
import type { RowReaders } from "../../../src/identity/row-readers.ts"
import { assert, it } from "@effect/vitest"
import { type ChildProcess, spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { Cause, Deferred, Effect, Exit, Fiber, Layer, Schedule, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { denoFlags } from "../../../scripts/runtime-flags.mjs"
import { makeRandom } from "../../../fixtures/random.ts"
import { Configuration } from "../../../src/configuration/configuration.ts"
import { makeLeasesRepository } from "../../../src/configuration/leases-repository.ts"
import { layer as layerMigrations } from "../../../src/migrations/index.ts"
import { Identifiers } from "../../../log/identifiers.ts"
import { layerSql } from "../../../src/runtime/embedded.ts"
import { startBreakableProxy } from "../../support/breakable-proxy.ts"
import { type Address, makeMember, makeRoom, makeTable } from "../../support/configuration-room.ts"
import { acquireTestPostgres } from "../../support/postgres.ts"
import { promised } from "../../support/patience.ts"

const program = fileURLToPath(new URL("../../support/configuration-process.ts", import.meta.url))
const runtimeFlags = (globalThis as { readonly Deno?: unknown }).Deno === undefined ? [] : denoFlags

interface MemberProcess {
  readonly child: ChildProcess
  readonly ask: (command: {
    readonly do: "read" | "write"
    readonly organizationId: string
    readonly id: string
  }) => Promise<{ readonly value?: number | null; readonly failed?: string }>
}
const memberProcess = (address: Address) =>
  Effect.acquireRelease(
    Effect.promise(async (): Promise<MemberProcess> => {
      const child = spawn(process.execPath, [...runtimeFlags, program, JSON.stringify(address)], {
        stdio: ["pipe", "pipe", "inherit"]
      })
      const answers: Array<(line: string) => void> = []
      const ready = new Promise<string>((settle) => answers.push(settle))
      createInterface({ input: child.stdout! }).on("line", (line) => answers.shift()?.(line))
      await ready
      return {
        child,
        ask: (command) => {
          const answer = new Promise<string>((settle) => answers.push(settle))
          child.stdin!.write(`${JSON.stringify(command)}\n`)
          return answer.then((line) => JSON.parse(line) as { readonly value?: number })
        }
      }
    }),
    ({ child }) =>
      Effect.promise(
        () =>
          new Promise<void>((settle) => {
            if (child.exitCode !== null || child.signalCode !== null) return settle()
            child.once("exit", () => settle())
            child.kill("SIGKILL")
          })
      )
  )

const leases = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(sql<{ n: number }>`SELECT count(*)::int4 AS n FROM configuration_leases`, ([row]) => row!.n)
)
const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const from = performance.now()
    return Effect.map(effect, (answer) => ({ answer, took_ms: performance.now() - from }))
  })
/** The first answer that is not a refusal: a disconnected process retries at intervals. */
const readable = <A, E>(read: Effect.Effect<A, E>) => Effect.retry(read, { times: 300, schedule: Schedule.spaced(50) })
/** A lease and a half; delays of a busy machine are not tested here. */
const WITHIN_A_LEASE_MS = 1_500

const scenario = (
  title: string,
  body: (address: Address) => Effect.Effect<void, unknown, RowReaders | SqlClient.SqlClient | Scope.Scope>,
  within_ms = 60_000
) =>
  it.live(
    title,
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const server = yield* acquireTestPostgres
          yield* Effect.provide(
            Effect.andThen(makeTable, body(server)),
            Layer.provideMerge(layerMigrations, layerSql(server))
          )
        })
      ),
    within_ms
  )

scenario(
  "a read after an acknowledged write sees it, at every member, for two organizations, while members join and leave",
  (address) =>
    Effect.gen(function* () {
      const random = makeRandom("interleavings")
      const members = yield* Effect.forEach([1, 2, 3, 4], () => makeMember(address), { concurrency: 4 })
      const subjects = ["a", "b"].flatMap((organizationId) => ["x", "y", "z"].map((id) => ({ organizationId, id })))
      let written = 0,
        reads = 0
      const client = (name: string) =>
        Effect.gen(function* () {
          const own = random.fork(name)
          for (let i = 0; i < 40; i++) {
            const { id, organizationId } = own.pick(subjects)
            const sum = yield* own.pick(members).write(organizationId, id)
            written++
            for (const member of members) {
              const seen = yield* member.read(organizationId, id)
              assert.isTrue((seen ?? 0) >= sum, `${name} wrote ${sum} and then read ${seen}`)
              reads++
            }
          }
        })
      const visitors = yield* Effect.forkChild(
        Effect.gen(function* () {
          for (let i = 0; i < 6; i++)
            yield* Effect.scoped(
              Effect.gen(function* () {
                const visitor = yield* makeMember(address)
                const sum = yield* visitor.write("a", "x")
                for (const member of members) assert.isTrue((yield* member.read("a", "x"))! >= sum)
              })
            )
        })
      )
      yield* Effect.forEach(["one", "two", "three", "four", "five"], client, { concurrency: "unbounded" })
      yield* Fiber.join(visitors)
      assert.deepStrictEqual([written, reads], [200, 800])
      yield* members[0]!.remove("b", "y")
      for (const member of members) assert.isUndefined(yield* member.read("b", "y"))
      // A process that stopped took its lease with it.
      assert.strictEqual(yield* leases, 4)
    })
)

scenario("a write that fails has written nothing anywhere, and uses up no version", (address) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [one, other] = yield* Effect.all([makeMember(address), makeMember(address)])
    yield* one.write("a", "x")
    assert.deepStrictEqual(yield* Effect.exit(other.writeAndFail("a", "x")), Exit.fail("refused" as const))
    for (const member of [one, other]) assert.strictEqual(yield* member.read("a", "x"), 1)
    assert.deepStrictEqual(yield* sql`SELECT value FROM test_settings`, [{ value: 1 }])
    assert.deepStrictEqual(yield* sql`SELECT version::int4 AS version FROM configuration_version`, [{ version: 1 }])
  })
)

scenario("a row is read once for a change, and nothing is read while nothing changes", (address) =>
  Effect.gen(function* () {
    const [one, other] = yield* Effect.all([makeMember(address), makeMember(address)])
    yield* one.write("a", "x")
    yield* other.read("a", "x")
    const before = [one.loads(), other.loads()]
    yield* Effect.sleep(1_200)
    assert.isTrue(one.configuration.isCurrent() && other.configuration.isCurrent())
    yield* other.read("a", "x")
    assert.deepStrictEqual([one.loads(), other.loads()], before)
  })
)

scenario("connections that Postgres ends, of listeners, leases and rooms, lose nothing", (address) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [one, other] = yield* Effect.all([makeMember(address), makeMember(address)])
    for (let i = 0; i < 12; i++) {
      yield* sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = ANY(${i % 3 === 0 ? ["configuration"] : i % 3 === 1 ? ["configuration", "room"] : ["room"]}::text[])`
      const outcome = yield* Effect.exit(one.write("a", "x"))
      const seen = yield* other.read("a", "x")
      const [stored] = yield* sql<{
        value: number
      }>`SELECT value FROM test_settings WHERE organization_id = 'a' AND id = 'x'`
      // The write itself may hit the broken connection; a later read is current either way.
      if (Exit.isSuccess(outcome)) assert.strictEqual(seen, outcome.value)
      assert.strictEqual(seen ?? 0, stored?.value ?? 0)
    }
    assert.isTrue((yield* one.write("a", "x")) > 1)
  })
)

scenario(
  "a frozen process delays a write for a lease, then none; thawed, its first read sees what it missed",
  (address) =>
    Effect.gen(function* () {
      const one = yield* makeMember(address)
      const frozen = yield* memberProcess(address)
      const sum = yield* one.write("a", "x")
      assert.deepStrictEqual(yield* Effect.promise(() => frozen.ask({ do: "read", organizationId: "a", id: "x" })), {
        value: sum
      })
      for (let i = 0; i < 3; i++) {
        process.kill(frozen.child.pid!, "SIGSTOP")
        const held = yield* timed(one.write("a", "x"))
        assert.isTrue(held.took_ms < WITHIN_A_LEASE_MS, `held for ${held.took_ms} ms`)
        assert.strictEqual(yield* leases, 1)
        const later = yield* one.write("a", "x")
        // The request waits in the process's pipe, so it is the first thing that the process handles.
        const first = frozen.ask({ do: "read", organizationId: "a", id: "x" })
        process.kill(frozen.child.pid!, "SIGCONT")
        assert.deepStrictEqual(yield* Effect.promise(() => first), { value: later })
        assert.deepStrictEqual(yield* Effect.promise(() => frozen.ask({ do: "write", organizationId: "a", id: "x" })), {
          value: later + 1
        })
        assert.strictEqual(yield* one.read("a", "x"), later + 1)
      }
    })
)

scenario("a killed process delays a write for at most a lease, and the next one not at all", (address) =>
  Effect.gen(function* () {
    const one = yield* makeMember(address)
    const killed = yield* memberProcess(address)
    yield* one.write("a", "x")
    killed.child.kill("SIGKILL")
    const held = yield* timed(one.write("a", "x"))
    assert.isTrue(held.took_ms < WITHIN_A_LEASE_MS, `held for ${held.took_ms} ms`)
    assert.strictEqual(yield* leases, 1)
  })
)

scenario("a process that is frozen while it holds the next version lets others write", (address) =>
  Effect.gen(function* () {
    const one = yield* makeMember(address)
    const sql = yield* SqlClient.SqlClient
    const taken = yield* Deferred.make<void>()
    const change = { kind: "engine_resource", organizationId: "a", id: "y" } as const
    // A process frozen between the last statement of its write and the commit.
    const standing = yield* Effect.forkChild(
      Effect.exit(
        sql.withTransaction(
          makeLeasesRepository(sql)
            .nextVersion(change)
            .pipe(Effect.andThen(Deferred.succeed(taken, undefined)), Effect.andThen(Effect.sleep(120_000)))
        )
      )
    )
    yield* Deferred.await(taken)
    const held = yield* timed(one.write("a", "x"))
    assert.isTrue(held.took_ms < promised(2 * WITHIN_A_LEASE_MS), `held for ${held.took_ms} ms`)
    assert.strictEqual(yield* one.read("a", "x"), held.answer)
    // Its version was not lost, because nobody had it.
    assert.deepStrictEqual(yield* sql`SELECT version::int4 AS version FROM configuration_version`, [{ version: 1 }])
    yield* Fiber.interrupt(standing)
  })
)

scenario(
  "a member that cannot read its rows gives up its lease: a write waits two leases at most, and its reads are refused",
  (address) =>
    Effect.gen(function* () {
      const one = yield* makeMember(address)
      const broken = yield* makeMember(address)
      yield* one.write("a", "x")
      broken.breakWith("a row that nobody can decode")
      const held = yield* timed(one.write("a", "x"))
      assert.isTrue(held.took_ms < promised(2 * WITHIN_A_LEASE_MS), `held for ${held.took_ms} ms`)
      const refused = yield* Effect.exit(broken.read("a", "x"))
      assert.isTrue(
        Exit.isFailure(refused) &&
          Cause.squash(refused.cause) instanceof Error &&
          String(refused.cause).includes("ConfigurationUnavailable"),
        String(refused)
      )
      broken.breakWith(undefined)
      assert.strictEqual(yield* readable(broken.read("a", "x")), held.answer)
      const next = yield* broken.write("a", "x")
      assert.strictEqual(yield* one.read("a", "x"), next)
    })
)

scenario("a lost lease is not held again before everything written meanwhile is read", (address) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [one, other] = yield* Effect.all([makeMember(address), makeMember(address)])
    yield* one.write("a", "x")
    while (!one.configuration.isCurrent() || !other.configuration.isCurrent()) yield* Effect.sleep(10)
    const lost = (yield* sql<{ process: string }>`SELECT process FROM configuration_leases`).map(
      ({ process }) => process
    )
    assert.strictEqual(lost.length, 2)
    const gate = yield* Deferred.make<void>()
    for (const member of [one, other]) member.slowDown(Deferred.await(gate))
    // As if both had been frozen until another member gave them up and wrote.
    const third = yield* makeMember(address)
    yield* sql`DELETE FROM configuration_leases WHERE process = ANY(${lost}::text[])`
    yield* third.write("a", "x")
    yield* Effect.sleep(1_200)
    assert.deepStrictEqual(
      [one.configuration.isCurrent(), other.configuration.isCurrent(), third.configuration.isCurrent()],
      [false, false, true]
    )
    yield* Deferred.succeed(gate, undefined)
    for (const member of [one, other]) assert.strictEqual(yield* member.read("a", "x"), 2)
  })
)

scenario("a member that missed more changes than are kept reads everything", (address) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const one = yield* makeMember(address)
    yield* one.write("a", "kept")
    yield* one.write("a", "removed")
    // What ten thousand writes elsewhere leave: versions without their changes.
    yield* sql.withTransaction(
      Effect.gen(function* () {
        yield* sql`INSERT INTO test_settings VALUES ('b', 'new', 7)`
        yield* sql`DELETE FROM test_settings WHERE id = 'removed'`
        yield* sql`UPDATE configuration_version SET version = version + 10000`
        yield* sql`DELETE FROM configuration_changes`
        yield* sql`SELECT pg_notify('dowser_configuration', '')`
      })
    )
    // Its next write is acknowledged only when everything has been read.
    yield* one.write("a", "kept")
    assert.deepStrictEqual(
      [yield* one.read("a", "kept"), yield* one.read("a", "removed"), yield* one.read("b", "new")],
      [2, undefined, 7]
    )
    const [{ n }] = yield* sql<{ n: number }>`SELECT count(*)::int4 AS n FROM configuration_changes`
    assert.strictEqual(n, 1)
  })
)

for (const way of ["cut", "block"] as const) {
  scenario(
    `a member whose way to Postgres is ${way === "cut" ? "cut" : "blocked"} serves what it has for the stated time, then refuses, and holds no write longer than a lease`,
    (address) =>
      Effect.gen(function* () {
        const proxy = yield* Effect.acquireRelease(
          Effect.promise(() => startBreakableProxy(address.host, address.port)),
          ({ heal, stop }) =>
            Effect.promise(() => {
              heal()
              return stop()
            })
        )
        const one = yield* makeMember(address)
        const away = yield* makeMember(
          { ...address, host: "127.0.0.1", port: proxy.port },
          { servedWithoutPostgres_ms: 5_000 }
        )
        const before = yield* one.write("a", "x")
        assert.strictEqual(yield* away.read("a", "x"), before)
        const from = performance.now()
        proxy[way]()
        const held = yield* timed(one.write("a", "x"))
        assert.isTrue(held.took_ms < WITHIN_A_LEASE_MS, `held for ${held.took_ms} ms`)
        assert.isFalse(away.configuration.isCurrent())
        // For a while, the process intentionally continues with what it has.
        assert.strictEqual(yield* away.read("a", "x"), before)
        assert.isTrue(performance.now() - from < promised(5_000))
        // Counted from the end of its lease.
        yield* Effect.sleep(6_200 - (performance.now() - from))
        const refused = yield* Effect.exit(away.read("a", "x"))
        assert.isTrue(
          Exit.isFailure(refused) && String(refused.cause).includes("ConfigurationUnavailable"),
          String(refused)
        )
        proxy.heal()
        assert.strictEqual(yield* readable(away.read("a", "x")), held.answer)
        const next = yield* away.write("a", "x")
        assert.strictEqual(yield* one.read("a", "x"), next)
      })
  )
}

scenario("a member that stops removes a lease even if its joining was never answered, and no other's", (address) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const names = Effect.map(
      sql<{ process: string }>`SELECT process FROM configuration_leases ORDER BY process`,
      (rows) => rows.map(({ process }) => process)
    )
    const scope = yield* Scope.make()
    const leaving = yield* Effect.provideService(makeMember(address), Scope.Scope, scope)
    yield* leaving.write("a", "x")
    const [held] = yield* names
    yield* sql`INSERT INTO configuration_leases (process, confirmed, renewals) VALUES (${held!.replace(/\.\d+$/, ".99")}, 0, 0), ('cfg_other.1', 0, 0)`
    yield* Scope.close(scope, Exit.void)
    assert.deepStrictEqual(yield* names, ["cfg_other.1"])
  })
)

scenario("in a single process a write is read at once, also with concurrent writes, and leaves no version behind", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const room = yield* Effect.provide(makeRoom, Layer.provide(Configuration.layerEmbedded, Identifiers.layer))
    yield* Effect.forEach(
      Array.from({ length: 40 }),
      (_, i) =>
        Effect.gen(function* () {
          const organizationId = i % 2 === 0 ? "a" : "b"
          const sum = yield* room.write(organizationId, "x")
          assert.isTrue((yield* room.read(organizationId, "x"))! >= sum)
        }),
      { concurrency: "unbounded" }
    )
    assert.deepStrictEqual([yield* room.read("a", "x"), yield* room.read("b", "x")], [20, 20])
    yield* room.remove("a", "x")
    assert.isUndefined(yield* room.read("a", "x"))
    const [{ version }] = yield* sql<{ version: number }>`SELECT version::int4 AS version FROM configuration_version`
    assert.deepStrictEqual([version, yield* leases], [0, 0])
  })
)
