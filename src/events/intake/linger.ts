/**
 * Whether a commit waits for more requests to share it. A commit has a price of its own: pages of five trees, a sync, a
 * message to each reader. At 300 requests of 100 events a second there were 226 commits; an event cost the accepting
 * thread 12 µs instead of the 8.5 it took in full groups, and 1.1 kB of writes. So it waits where that lately brought
 * somebody.
 */
export const LINGER_MS = 5
/**
 * Requests that a wait brings, in the mean of the last ones, from which it pays. Of two senders that each wait for
 * their answers one can come at most: those, and whoever is alone, wait for nobody.
 */
const PAYS_FROM = 1.1
/** The newest wait's part in that mean. */
const NEWEST_SHARE = 0.25
/** While it does not pay, one commit in so many waits nevertheless, to see whether it would by now. */
const TRIED_EVERY = 16

export class Linger {
  #mean = 0
  #since = 0

  /**
   * Before a commit: whether to wait `LINGER_MS`, and to say then what that brought. `waited_ms` is what the oldest
   * request has waited already: one that came while a commit took its time does not wait again, and has its company.
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
