/** Priorities of threads, where the system has them: on Linux each thread has its own. */
import { readlinkSync } from "node:fs"
import { setPriority } from "node:os"

/** A third of an equal share when a thread of priority 0 wants the same processor, and all that is left otherwise. */
const NICENESS = 5

/**
 * Lowers the priority of the calling worker thread, for work that quick searches must not wait for: segments, merges,
 * long searches. Otherwise a search thread may get no processor during a quantum and pass on even quick searches, which
 * then compete with it. Figures: `docs/performance-log.md`. Without effect where priorities are not available.
 */
export const yieldToQuickSearches = (): void => {
  try {
    const thread = Number(readlinkSync("/proc/thread-self").split("/").at(-1))
    if (thread !== process.pid) setPriority(thread, NICENESS)
  } catch {
    /* Another system, or not permitted: all threads stay equal. */
  }
}
