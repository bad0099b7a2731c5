/** The body of an answer that is sent while it is written. The writer waits for the reader. */
import { Readable } from "node:stream"
import { Effect } from "effect"

/** Promised to callers. */
const PING_MS = 15_000
/** A reader that reads nothing for this long is considered disconnected. */
const UNREAD_MS = 30_000
const HELD_BYTES = 65_536

export class AnswerStream extends Readable {
  readonly #onLeft: () => void
  readonly #pinging: ReturnType<typeof setInterval>
  #drained: (() => void) | undefined

  /** `onLeft` is called when the reader disconnects. */
  constructor(onLeft: () => void) {
    super({ highWaterMark: HELD_BYTES })
    this.#onLeft = onLeft
    this.#pinging = setInterval(() => {
      if (this.readableLength === 0) this.push(": ping\n\n")
    }, PING_MS)
    this.#pinging.unref()
  }

  /** Resolves when there is room for more, or immediately if the reader has disconnected. */
  write(text: string): Effect.Effect<void> {
    return Effect.promise(async () => {
      if (text === "" || this.destroyed || this.readableEnded || this.push(text)) return
      let timer: ReturnType<typeof setTimeout> | undefined
      await new Promise<void>((resolve) => {
        this.#drained = resolve
        timer = setTimeout(() => this.destroy(), UNREAD_MS)
      })
      clearTimeout(timer)
    })
  }
  close(): Effect.Effect<void> {
    return Effect.sync(() => {
      clearInterval(this.#pinging)
      if (!this.destroyed) this.push(null)
    })
  }

  override _read(): void {
    this.#drained?.()
    this.#drained = undefined
  }
  override _destroy(error: Error | null, end: (error?: Error | null) => void): void {
    clearInterval(this.#pinging)
    this.#drained?.()
    this.#drained = undefined
    this.#onLeft()
    end(error)
  }
}
