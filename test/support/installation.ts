/** Processes of one installation over a real Postgres and a real Kafka, as an operator starts them. */
import { type ChildProcess, spawn } from "node:child_process"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Redacted, type Scope } from "effect"
import type { SqlClient } from "effect/sql"
import { denoFlags } from "../../scripts/runtime-flags.mjs"
import { layer as layerMigrations } from "../../src/migrations/index.ts"
import { startTestBroker, type TestBroker } from "./kafka.ts"
import { acquireTestPostgres, temporaryFolder } from "./postgres.ts"

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url))
const runtimeFlags = (globalThis as { readonly Deno?: unknown }).Deno === undefined ? [] : denoFlags

export interface Process {
  readonly child: ChildProcess
  readonly ready: Readonly<Record<string, string>>
  readonly exited: Promise<number | null>
  readonly said: () => string
}
export interface Place {
  readonly databaseUrl: string
  readonly broker: TestBroker
  readonly folder: string
  readonly visitorPartitions: number
}

/** One of the repository's commands in a separate process, ended with the scope; resolves with its ready line. */
export const run = (
  place: Place,
  name: string,
  args: ReadonlyArray<string>,
  variables: Readonly<Record<string, string>> = {}
) =>
  Effect.acquireRelease(
    Effect.promise(async (): Promise<Process> => {
      const environment = Object.fromEntries(Object.entries(process.env).filter(([key]) => !key.startsWith("DOWSER_")))
      const child = spawn(
        process.execPath,
        [
          ...runtimeFlags,
          main,
          ...args,
          "--json",
          "--data-dir",
          join(place.folder, name),
          "--visitor-partitions",
          String(place.visitorPartitions)
        ],
        {
          stdio: ["ignore", "pipe", "pipe"],
          env: {
            ...environment,
            DOWSER_MODELS: "off",
            KAFKA_BROKERS: place.broker.address(),
            DATABASE_URL: place.databaseUrl,
            ...variables
          }
        }
      )
      let errors = ""
      child.stderr!.on("data", (chunk: Buffer) => {
        errors = (errors + chunk.toString()).slice(-6_000)
      })
      const exited = new Promise<number | null>((settle) => child.once("exit", (code) => settle(code)))
      const ready = await new Promise<Record<string, string>>((settle, reject) => {
        let text = ""
        child.stdout!.on("data", (chunk: Buffer) => {
          text += chunk.toString()
          if (text.includes("\n")) settle(JSON.parse(text.slice(0, text.indexOf("\n"))) as Record<string, string>)
        })
        void exited.then((code) => reject(new Error(`${name} ended while starting (exit code ${code}): ${errors}`)))
      })
      return { child, ready, exited, said: () => errors }
    }),
    ({ child, exited }) =>
      Effect.promise(() => {
        if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL")
        return exited
      })
  )

/** Separate servers for the body, and a connection to the migrated database. */
export const inInstallation = (
  visitorPartitions: number,
  body: (place: Place) => Effect.Effect<void, unknown, SqlClient.SqlClient | Scope.Scope>
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const server = yield* acquireTestPostgres
      const broker = yield* Effect.acquireRelease(Effect.promise(startTestBroker), (started) =>
        Effect.promise(started.stop)
      )
      const databaseUrl = `postgres://${server.username}:${server.password}@${server.host}:${server.port}/${server.database}`
      const place = { databaseUrl, broker, folder: yield* temporaryFolder("installation"), visitorPartitions }
      yield* Effect.provide(
        body(place),
        Layer.provideMerge(layerMigrations, PgClient.layer({ url: Redacted.make(databaseUrl), maxConnections: 2 }))
      )
    })
  )
