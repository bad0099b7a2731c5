/**
 * Work that nobody waits for runs below the thread that answers, as the kernel tells it (Linux, where threads have
 * priorities of their own).
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { getPriority, tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { BACKGROUND } from "../../log/process/background.ts"
import { launch, processesNaming } from "../support/launched.ts"

it("the collector's helpers, the threads that count and seal, and Postgres give way to the thread that answers", async (context) => {
  if (process.platform !== "linux") return context.skip("priorities lane: only Linux has a priority for each thread")
  const folder = mkdtempSync(join(tmpdir(), "dowser-priorities-"))
  try {
    const program = await launch(join(folder, "data"))
    const threads = readdirSync(`/proc/${program.pid()}/task`).map((id) => ({
      name: readFileSync(`/proc/${program.pid()}/task/${id}/comm`, "utf8").trim(),
      priority: getPriority(Number(id))
    }))
    expect(getPriority(program.pid())).toBe(0)
    const helpers = threads.filter(({ name }) => name.startsWith("V8")).map(({ priority }) => priority)
    expect(new Set(helpers)).toEqual(new Set([BACKGROUND]))
    expect(threads.filter(({ name, priority }) => name.startsWith("worker") && priority === BACKGROUND).length).toBe(2)
    // Its guard, a shell that waits, is none of it.
    const postgres = processesNaming(join(folder, "data", "postgres")).filter((pid) =>
      readFileSync(`/proc/${pid}/comm`, "utf8").startsWith("postgres")
    )
    expect(postgres.length).toBeGreaterThan(0)
    for (const pid of postgres) {
      expect(getPriority(pid)).toBe(BACKGROUND)
      // A kernel may know no groups of sessions.
      if (existsSync(`/proc/${pid}/autogroup`))
        expect(readFileSync(`/proc/${pid}/autogroup`, "utf8")).toMatch(new RegExp(`nice ${BACKGROUND}$`, "m"))
    }
    program.signal("SIGTERM")
    expect(await program.exited).toBe(0)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
