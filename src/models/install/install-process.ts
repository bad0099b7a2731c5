/**
 * The process that installs models while another process serves: it reports progress and result as lines of JSON. It
 * ends with the process that started it, which holds the other end of its input.
 */
import { setPriority } from "node:os"
import { BACKGROUND } from "@dowser/log/process/background"
import { install } from "./install.ts"
import { readableByAll, writablePlace } from "./places.ts"
import { readPinned } from "./pinned.ts"
import type { InstallerLine } from "./installer-line.ts"

/** With `code` the process exits after the line is written. */
const write = (line: InstallerLine, code?: number) =>
  process.stdout.write(`${JSON.stringify(line)}\n`, () => {
    if (code !== undefined) process.exit(code)
  })
process.stdin.on("end", () => process.exit(1)).resume()
try {
  setPriority(BACKGROUND)
} catch {
  /* Not permitted on this system; continue with the normal priority. */
}
readableByAll()
try {
  const places = process.argv.slice(2)
  const folder = await install({
    place: writablePlace(places),
    pinned: readPinned(),
    report: ({ done, step }) => write({ kind: "progress", step, done })
  })
  write({ kind: "installed", folder }, 0)
} catch (error) {
  write({ kind: "failed", message: error instanceof Error ? error.message : String(error) }, 1)
}
