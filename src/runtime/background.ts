/**
 * Work that nobody waits for gives way to requests where processors are scarce: the database that takes the figures and
 * the thread that counts them run at a lower priority than the thread that answers. They lose nothing while there is room.
 */
import { readlinkSync } from "node:fs"
import { setPriority } from "node:os"

/** Gets about a third of what an equal at 0 gets when both want the processor. */
const BACKGROUND = 5

/** Of a process and all that it starts from now on. Where priorities are not to be had, everything stays equal: that is no failure. */
export const giveWay = (pid: number): void => {
  try {
    setPriority(pid, BACKGROUND)
  } catch { /* Not allowed here, or gone already. */ }
}
/** Of the calling thread alone, on Linux, where threads have numbers of their own. */
export const giveWayHere = (): void => {
  let thread: string | undefined
  try {
    thread = readlinkSync("/proc/thread-self").split("/").at(-1)
  } catch { /* Another system. */ }
  if (thread !== undefined && Number(thread) !== process.pid) giveWay(Number(thread))
}
