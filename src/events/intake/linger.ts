/**
 * Group commit: commits have a fixed cost (pages of five trees, a sync, a message to each reader), so a commit may wait
 * for more requests to share it. At 300 requests of 100 events a second there were 226 commits; an event cost the
 * accepting thread 12 µs instead of the 8.5 of full groups, and 1.1 kB of writes. So it waits if waiting recently
 * brought company.
 */
export const LINGER_MS = 5
/**
 * The mean number of requests that a wait must bring to pay off. Of two senders that each wait for their answers at
 * most one can come: such senders, and single ones, wait for nobody.
 */
const PAYS_FROM = 1.1
/** The newest wait's part in that mean. */
const NEWEST_SHARE = 0.25
/** While waiting does not pay, one commit in this many waits anyway, to see whether it would by now. */
const TRIED_EVERY = 16

export class Linger {
  #mean = 0
  #since = 0

  /**
   * Before a commit: whether to wait `LINGER_MS`; afterwards, record what that brought. `waited_ms` is how long the
   * oldest request has already waited: one that came during a long commit has its company and does not wait again.
   * O(1).
   */
  isDue(waited_ms: number): boolean {
    if (waited_ms >= LINGER_MS) return false
    if (this.#mean < PAYS_FROM && ++this.#since < TRIED_EVERY) return false
    this.#since = 0
    return true
  }
  brought(requests: number): void {
    this.#mean += NEWEST_SHARE * (requests - this.#mean)
  }
}
