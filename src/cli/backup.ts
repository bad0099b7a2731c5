/** `dowser backup` and `dowser restore`: the state of an embedded program at one log position, to a folder and back. */
import { Effect } from "effect"
import { resolve } from "node:path"
import { makeProgress } from "./progress.ts"

/** One progress bar for each part of the work. */
const reporter = () => {
  const bars = new Map<string, ReturnType<typeof makeProgress>>()
  return {
    step: (label: string, done: number, total?: number) => {
      const bar = bars.get(label) ?? makeProgress(label.padEnd(20))
      bars.set(label, bar)
      bar.step(done, total)
    }
  }
}
const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`

export const backupFolder = Effect.fn("cli.backup")(function* (flags: {
  readonly dataDir: string
  readonly destination: string
  readonly json: boolean
}) {
  const { backup } = yield* Effect.promise(() => import("../runtime/backup/backup.ts"))
  const { created_at, data_version, log_position, parts, tables } = yield* backup(
    flags.dataDir,
    flags.destination,
    reporter()
  )
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0)
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  process.stdout.write(
    flags.json
      ? `${JSON.stringify({ path: resolve(flags.destination), bytes, rows, created_at, data_version, log_position })}\n`
      : `Backup in ${resolve(flags.destination)}: ${megabytes(bytes)}, ${rows.toLocaleString("en")} rows, log at ${
          Object.entries(log_position)
            .filter(([, end]) => end > 0)
            .map(([name, end]) => `${name} ${end}`)
            .join(", ") || "its beginning"
        }.\nIt holds the operator's secrets: whoever has it can read and sign everything.\n`
  )
})

export const restoreFolder = Effect.fn("cli.restore")(function* (flags: {
  readonly source: string
  readonly dataDir: string
  readonly json: boolean
}) {
  const { restore } = yield* Effect.promise(() => import("../runtime/backup/restore.ts"))
  const { created_at, log_position } = yield* restore(flags.source, flags.dataDir, reporter())
  process.stdout.write(
    flags.json
      ? `${JSON.stringify({ data_dir: resolve(flags.dataDir), created_at, log_position })}\n`
      : `Restored to ${resolve(flags.dataDir)} as of ${new Date(created_at).toISOString()}. Start it with: dowser start --data-dir ${resolve(flags.dataDir)}\n`
  )
})
