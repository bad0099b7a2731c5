/** Joins concurrent requests for the same work: one run serves everyone who requested it before it began. */

interface Running<A> {
  readonly done: Promise<A>
  /** The run shared by callers that arrived after the current one began. */ next: Promise<A> | undefined
}
export class Joined<A> {
  /** At most one entry per key, as long as a run for it is in progress. */
  readonly #running = new Map<string, Running<A>>()
  /** Resolves with work that began after the call. */
  run(key: string, work: () => Promise<A>): Promise<A> {
    const running = this.#running.get(key)
    if (running === undefined) return this.#begin(key, work)
    return (running.next ??= running.done.then(() => this.#begin(key, work)))
  }
  #begin(key: string, work: () => Promise<A>): Promise<A> {
    const done = work()
    const own: Running<A> = { done, next: undefined }
    this.#running.set(key, own)
    const end = () => {
      if (this.#running.get(key) === own && own.next === undefined) this.#running.delete(key)
    }
    void done.then(end, end)
    return done
  }
}
