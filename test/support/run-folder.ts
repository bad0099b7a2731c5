/**
 * The temporary folder of one run of the suite, removed with the run. In memory if the system has a file system there
 * with room: the suite creates some hundred databases and logs, and on a disk it spends half of the time waiting for
 * the disk (`TMPDIR` overrides this).
 */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { isAlive } from "../../src/runtime/data-folder.ts"

const MEMORY = "/dev/shm",
  ROOM_MIN_BYTES = 4 * 1024 ** 3
const NAME = /^dowser-run-(\d+)-/

const memoryOf = (): string | undefined => {
  if (process.platform !== "linux" || (process.env.TMPDIR ?? "") !== "") return undefined
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize >= ROOM_MIN_BYTES ? MEMORY : undefined
  } catch {
    return undefined
  }
}
/** Left by runs that were killed: nothing else would free their memory. */
const removeLeftovers = (above: string): void => {
  for (const name of readdirSync(above)) {
    const pid = NAME.exec(name)?.[1]
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(above, name), { recursive: true, force: true })
  }
}

export default (): (() => void) => {
  const above = memoryOf() ?? tmpdir()
  removeLeftovers(above)
  const folder = mkdtempSync(join(above, `dowser-run-${process.pid}-`))
  // Servers that run as another user must pass through.
  chmodSync(folder, 0o711)
  const temporary = join(folder, "tmp")
  mkdirSync(temporary)
  chmodSync(temporary, 0o1777)
  process.env.TMPDIR = temporary
  process.env.DOWSER_TEST_RUN = folder
  return () => rmSync(folder, { recursive: true, force: true })
}
