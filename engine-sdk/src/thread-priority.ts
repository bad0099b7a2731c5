/** Priorities of threads, where the system has them: on Linux each thread has its own. */
import { readlinkSync } from "node:fs"
import { getPriority, setPriority } from "node:os"

/** Added to the own niceness: a third of an equal share if another thread wants the processor, otherwise all of it. */
const NICENESS = 5,
  NICENESS_MAX = 19

/**
 * Lowers the priority of the calling worker thread, for work that quick searches must not wait for: segments, merges,
 * long searches. Otherwise a search thread may get no processor during a quantum and pass on even quick searches, which
 * then compete with it. Figures: `docs/performance-log.md`. Without effect where priorities are not available.
 */
export const yieldToQuickSearches = (): void => {
  try {
    const thread = Number(readlinkSync("/proc/thread-self").split("/").at(-1))
    if (thread !== process.pid) setPriority(thread, Math.min(NICENESS_MAX, getPriority() + NICENESS))
  } catch {
    /* Another system, or not permitted: all threads stay equal. */
  }
}
