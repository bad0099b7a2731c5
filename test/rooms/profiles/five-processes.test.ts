/** Profiles over five processes: the next search in every process sees whatever one of them wrote. */
import { type ChildProcess, spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { denoFlags } from "../../../scripts/runtime-flags.mjs"
import { layer as layerMigrations } from "../../../src/migrations/index.ts"
import { layerSql } from "../../../src/runtime/embedded.ts"
import type { Address } from "../../support/configuration-room.ts"
import { acquireTestPostgres } from "../../support/postgres.ts"
import type { Command, Seen } from "../../support/profiles-process.ts"

const ORGANIZATION = "org_profiles"
const program = fileURLToPath(new URL("../../support/profiles-process.ts", import.meta.url))
const runtimeFlags = (globalThis as { readonly Deno?: unknown }).Deno === undefined ? [] : denoFlags

interface Member {
  readonly child: ChildProcess
  readonly ask: (command: Command) => Promise<{ readonly value?: Seen; readonly failed?: string }>
}
const member = (address: Address) =>
  Effect.acquireRelease(
    Effect.promise(async (): Promise<Member> => {
      const child = spawn(process.execPath, [...runtimeFlags, program, JSON.stringify(address), ORGANIZATION], {
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
          return answer.then((line) => JSON.parse(line) as { readonly value?: Seen })
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

it.live(
  "a draft, a publication and its release are seen by the next read of all five; one of two publications succeeds",
  () =>
    Effect.scoped(
      Effect.gen(function* () {
        const server = yield* acquireTestPostgres
        yield* Effect.provide(
          Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            yield* sql`INSERT INTO organizations (id, name, status, plan, created_at) VALUES (${ORGANIZATION}, 'Profiles', 'active', 'standard', 0)`
            const members = yield* Effect.all(
              [1, 2, 3, 4, 5].map(() => member(server)),
              { concurrency: "unbounded" }
            )
            const ask = (i: number, command: Command) => Effect.promise(() => members[i % 5]!.ask(command))
            const seenByAll = (seen: Seen) =>
              Effect.forEach(members, (_, i) =>
                Effect.map(ask(i, { do: "read" }), (answer) => assert.deepEqual(answer.value, seen, `process ${i}`))
              )
            assert.isUndefined((yield* ask(0, { do: "create", label: "1" })).failed)
            yield* seenByAll({ revision: 1, label: "1", version: null, active: null })
            for (let round = 1; round <= 3; round++) {
              const label = String(round + 1)
              assert.isUndefined((yield* ask(round, { do: "replace", label })).failed)
              const before = { version: round === 1 ? null : round - 1, active: round === 1 ? null : String(round) }
              yield* seenByAll({ revision: round + 1, label, ...before })
              // Two at once: the later one finds nothing changed.
              const both = yield* Effect.all(
                [round + 1, round + 2].map((i) => ask(i, { do: "publish", expected_revision: round + 1 })),
                { concurrency: "unbounded" }
              )
              for (const { failed } of both) assert.isUndefined(failed)
              yield* seenByAll({ revision: round + 1, label, version: round, active: label })
            }
            assert.include((yield* ask(3, { do: "publish", expected_revision: 1 })).failed, "RevisionMismatch")
          }),
          Layer.provideMerge(layerMigrations, layerSql(server))
        )
      })
    )
)
