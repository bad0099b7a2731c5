/**
 * Work that nobody waits for yields to requests when CPUs are scarce. The following run at a lower priority than the
 * thread that answers: the database that stores figures, the threads that count and that seal ids, and the garbage
 * collector's helpers, which mark for whichever thread's heap is due. They lose nothing while there is capacity.
 *
 * Measured on two cores that also generated the load, at 70 % of the peak rate of `POST /events`: with helpers at equal
 * priority, marking the counting thread's heap took 150-290 ms at a time on both cores, and p99 was 124-224 ms; at
 * priority 5 37-180 ms, at 12 43-105 ms, because the kernel also distributes threads over CPUs by these weights.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs"
import { setPriority } from "node:os"
import { BACKGROUND } from "../../scripts/postgres-server.mjs"

/** Gets a fifteenth of what a thread at 0 gets when both want one CPU, and everything that is left over. */
export { BACKGROUND }

/** Where priorities are not available, everything stays equal, which is not an error. */
const giveWay = (pid: number, priority: number = BACKGROUND): void => {
  try {
    setPriority(pid, priority)
  } catch {
    /* Not permitted here, or the thread has ended. */
  }
}
/** A third of an equal share: for a thread whose work is mostly, but not always, work that nobody waits for. */
export const HALF_BACKGROUND = 5

/** Sets the priority of the calling thread alone; on Linux threads have their own. */
export const giveWayHere = (priority: number = BACKGROUND): void => {
  let thread: string | undefined
  try {
    thread = readlinkSync("/proc/thread-self").split("/").at(-1)
  } catch {
    /* Another operating system. */
  }
  if (thread !== undefined && Number(thread) !== process.pid) giveWay(Number(thread), priority)
}
/** Lowers the priority of the engine's helper threads, which have its name on Linux and exist from the start. */
export const collectorGivesWay = (): void => {
  let threads: ReadonlyArray<string> = []
  try {
    threads = readdirSync("/proc/self/task").filter((thread) =>
      readFileSync(`/proc/self/task/${thread}/comm`, "utf8").startsWith("V8")
    )
  } catch {
    /* Another operating system, or a thread that ended meanwhile. */
  }
  for (const thread of threads) giveWay(Number(thread))
}
