/**
 * A Postgres folder that is initialized and migrated already: made once per run of the suite and copied by every test
 * that needs one. A copy takes a tenth of a second, making one two seconds, and most files make one or thirty.
 */
import { Effect, Layer } from "effect"
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, renameSync } from "node:fs"
import { dirname, join } from "node:path"
import { layer as layerMigrations } from "../../src/migrations/index.ts"
import { layerSql } from "../../src/runtime/embedded.ts"
import { startEmbeddedPostgres } from "../../src/runtime/embedded-postgres.ts"

/**
 * The copy belongs to this process: the user that the server runs as, and the owner of its files, are decided where it
 * starts.
 */
const copy = (from: string, to: string): void => {
  const { status, stderr } = spawnSync("cp", ["-R", from, to], { encoding: "utf8" })
  if (status !== 0) throw new Error(`The prepared Postgres could not be copied: ${stderr}`)
}
const copyBoth = (from: string, to: string): void => {
  copy(`${from}.password`, `${to}.password`)
  copy(from, to)
}

const make = async (folder: string): Promise<void> => {
  const making = `${folder}-making`
  mkdirSync(dirname(making), { recursive: true, mode: 0o700 })
  const server = await startEmbeddedPostgres(making)
  try {
    await Effect.runPromise(Effect.scoped(Layer.build(Layer.provide(layerMigrations, layerSql(server)))))
  } finally {
    await server.stop()
  }
  renameSync(`${making}.password`, `${folder}.password`)
  renameSync(making, folder)
}

const WAIT_MAX_MS = 30_000
/** The folder of this run, created by the first process that needs it; undefined outside a run. */
const madeOnce = async (): Promise<string | undefined> => {
  const run = process.env.DOWSER_TEST_RUN
  if (run === undefined) return undefined
  const folder = join(run, "postgres", "made")
  try {
    mkdirSync(join(run, "making-postgres"))
    await make(folder)
  } catch (error) {
    if ((error as { readonly code?: string }).code !== "EEXIST") throw error
    for (let waited_ms = 0; !existsSync(folder); waited_ms += 50) {
      if (waited_ms > WAIT_MAX_MS) return undefined
      await new Promise((settle) => setTimeout(settle, 50))
    }
  }
  return folder
}

/** Fills `folder`, which does not exist yet, with what a first start would create. */
export const preparePostgres = async (folder: string): Promise<void> => {
  const made = await madeOnce()
  if (made === undefined) return
  mkdirSync(dirname(folder), { recursive: true, mode: 0o700 })
  copyBoth(made, folder)
}
