/**
 * Postgres under a user of its own, started by the launcher, which runs as root (`scripts/kept-postgres.mjs`).
 * Requested here, once the data folder is known to be ours and in order. Rejects with a sentence that a person can act
 * on.
 */
import { chmodSync } from "node:fs"
import { dirname } from "node:path"
import { ownPassword, type PostgresServer, startEmbeddedPostgres } from "./embedded-postgres.ts"

type FromLauncher =
  | { readonly kind: "started"; readonly port: number }
  | { readonly kind: "refused"; readonly message: string }
  | { readonly kind: "stopped" }
/** Members of a process that was started with an IPC channel; missing in Deno's types. */
interface Channelled {
  readonly connected?: boolean
  readonly send?: (message: unknown) => boolean
  readonly channel?: { readonly ref?: () => void; readonly unref?: () => void }
  readonly once: (event: "message" | "disconnect", listener: (message: FromLauncher) => void) => void
  readonly off: (event: "message" | "disconnect", listener: (message: FromLauncher) => void) => void
}
const launcher = process as unknown as Channelled

/** Undefined if the launcher, and therefore Postgres, has ended. */
const ask = (message: unknown): Promise<FromLauncher | undefined> =>
  new Promise((settle) => {
    if (launcher.connected !== true) return settle(undefined)
    const done = (answer?: FromLauncher): void => {
      launcher.off("message", done)
      launcher.off("disconnect", gone)
      // While no answer is pending, the channel must not keep the program alive.
      launcher.channel?.unref?.()
      settle(answer)
    }
    const gone = (): void => done()
    launcher.channel?.ref?.()
    launcher.once("message", done)
    launcher.once("disconnect", gone)
    launcher.send!(message)
  })

const startKeptPostgres = async (folder: string): Promise<PostgresServer> => {
  const password = ownPassword(folder)
  // The user of Postgres may traverse the folder, through the group that the launcher gave it, but not list it.
  chmodSync(dirname(folder), 0o710)
  const answer = await ask({ kind: "postgres", password })
  if (answer?.kind !== "started")
    throw new Error(answer?.kind === "refused" ? answer.message : "The launcher did not start Postgres.")
  const stop = async (): Promise<void> => {
    await ask({ kind: "stop" })
  }
  return {
    host: "127.0.0.1",
    port: answer.port,
    username: "dowser",
    password,
    database: "postgres",
    stop,
    died: new Promise(() => {})
  }
}

/** Lets the launcher start Postgres if it supports that; otherwise this process does. */
export const startPostgres: (folder: string) => Promise<PostgresServer> =
  process.env.DOWSER_POSTGRES === "kept" && launcher.send !== undefined ? startKeptPostgres : startEmbeddedPostgres
