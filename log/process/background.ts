/**
 * Work that nobody waits for gives way to requests where processors are scarce: the database that takes the figures,
 * the threads that count them and seal ids, and the garbage collector's helpers, which mark for whichever thread's heap
 * is due, run at a lower priority than the thread that answers. They lose nothing while there is room.
 *
 * Measured (two cores, the load on them too, 70 % of the peak rate of `POST /events`): helpers at an equal priority
 * marked the counting thread's heap for 150-290 ms at a time, on both cores, and p99 was 124-224 ms; at 5 37-180, at 12
 * 43-105, since the kernel spreads threads over processors by these weights as well.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs"
import { setPriority } from "node:os"
import { BACKGROUND } from "../../scripts/postgres-server.mjs"

/** Gets a fifteenth of what an equal at 0 gets when both want one processor, and all of what is left. */
export { BACKGROUND }

/** Where priorities are not to be had, everything stays equal: that is no failure. */
const giveWay = (pid: number, priority: number = BACKGROUND): void => {
  try {
    setPriority(pid, priority)
  } catch {
    /* Not allowed here, or gone already. */
  }
}
/** A third of what an equal gets: for a thread whose work is mostly, and not always, work that nobody waits for. */
export const HALF_BACKGROUND = 5

/** Of the calling thread alone, on Linux, where threads have numbers of their own. */
export const giveWayHere = (priority: number = BACKGROUND): void => {
  let thread: string | undefined
  try {
    thread = readlinkSync("/proc/thread-self").split("/").at(-1)
  } catch {
    /* Another system. */
  }
  if (thread !== undefined && Number(thread) !== process.pid) giveWay(Number(thread), priority)
}
/** Of the engine's helper threads: on Linux they carry its name. They are there from the process' start. */
export const collectorGivesWay = (): void => {
  let threads: ReadonlyArray<string> = []
  try {
    threads = readdirSync("/proc/self/task").filter((thread) =>
      readFileSync(`/proc/self/task/${thread}/comm`, "utf8").startsWith("V8")
    )
  } catch {
    /* Another system, or a thread that ended meanwhile. */
  }
  for (const thread of threads) giveWay(Number(thread))
}
