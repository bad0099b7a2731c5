/**
 * Background work runs at a lower priority than the thread that answers, as the kernel reports it (Linux, where threads
 * have priorities of their own).
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { getPriority, tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { BACKGROUND } from "../../log/process/background.ts"
import { launchPrepared } from "../support/launched.ts"

/** Undefined if the process is gone: Postgres starts and ends a server for each connection. */
const priorityIfThere = (pid: string): number | undefined => {
  try {
    return getPriority(Number(pid))
  } catch {
    return undefined
  }
}

it("the collector's helpers, the threads that count and seal, and Postgres give way to the thread that answers", async (context) => {
  if (process.platform !== "linux") return context.skip("priorities lane: only Linux has a priority for each thread")
  const folder = mkdtempSync(join(tmpdir(), "dowser-priorities-"))
  try {
    const program = await launchPrepared(join(folder, "data"))
    const threads = readdirSync(`/proc/${program.pid()}/task`).map((id) => ({
      name: readFileSync(`/proc/${program.pid()}/task/${id}/comm`, "utf8").trim(),
      priority: getPriority(Number(id))
    }))
    expect(getPriority(program.pid())).toBe(0)
    const helpers = threads.filter(({ name }) => name.startsWith("V8")).map(({ priority }) => priority)
    expect(new Set(helpers)).toEqual(new Set([BACKGROUND]))
    expect(threads.filter(({ name, priority }) => name.startsWith("worker") && priority === BACKGROUND).length).toBe(2)
    const [postmaster] = readFileSync(join(folder, "data", "postgres", "postmaster.pid"), "utf8").split("\n")
    const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, "utf8").trim().split(" ")
    expect(getPriority(Number(postmaster))).toBe(BACKGROUND)
    const priorities = children.map(priorityIfThere).filter((priority) => priority !== undefined)
    expect(priorities.length).toBeGreaterThan(5)
    expect(new Set(priorities)).toEqual(new Set([BACKGROUND]))
    program.signal("SIGTERM")
    expect(await program.exited).toBe(0)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
