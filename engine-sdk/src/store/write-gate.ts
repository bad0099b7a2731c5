/**
 * Controls who may change a collection: many concurrent writes, or one exclusive task. Passing an open gate takes no
 * turn of the event loop.
 */
export class WriteGate {
  private writes = 0
  private shut: Promise<void> | undefined
  private waiters: Array<() => void> = []

  /** Undefined if a write may begin; else the caller checks again when the promise resolves. */
  get isShut(): Promise<void> | undefined {
    return this.shut
  }
  get hasWrites(): boolean {
    return this.writes > 0
  }
  enter(): void {
    this.writes++
  }
  leave(): void {
    this.writes--
    if (this.writes === 0) for (const wake of this.waiters.splice(0)) wake()
  }
  /** Resolves when no write is in progress. */
  async idle(): Promise<void> {
    while (this.writes > 0)
      await new Promise<void>((resolve) => {
        this.waiters.push(resolve)
      })
  }
  /** Runs `work` exclusively: it starts when current writes have ended, and no write starts while it runs. */
  async alone<A>(work: () => Promise<A>): Promise<A> {
    while (this.shut !== undefined) await this.shut
    let open: () => void = () => {}
    this.shut = new Promise((resolve) => {
      open = resolve
    })
    try {
      await this.idle()
      return await work()
    } finally {
      this.shut = undefined
      open()
    }
  }
}
