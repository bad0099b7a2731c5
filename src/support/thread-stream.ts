/** A thread as server-sent events: repeatedly sends what is stored after the last number sent. */
import { Clock, Effect } from "effect"
import { Readable } from "node:stream"
import { Throttled } from "../http/errors.ts"
import { OpenPlaces } from "../http/open-places.ts"
import { makeLiveThreads } from "./live.ts"
import { messageOf, type makeSupportRepository, type Side, threadOf } from "./support-repository.ts"

/** Interval of comment lines, which keep proxies from closing a silent stream. */
const PING_MS = 15_000
const KEY_LOOKED_AT_MS = 30_000
const LIFE_MS = 3_600_000
const AT_ONCE_MAX = 500,
  /** Limit for visitors: one that opens many sessions leaves room for agents. */ OF_VISITORS_MAX = 400,
  OF_SESSION_MAX = 5
const PAGE = 100
const RETRY_MS = 2_000

interface StreamAsked {
  readonly organizationId: string
  readonly threadId: string
  /** Set for a search key. */ readonly sessionId: string | undefined
  readonly side: Side
  readonly after: number
  /** Whether the key is still valid. */ readonly isAllowed: Effect.Effect<boolean>
}
const frame = (event: string, data: unknown, id?: number): string =>
  `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`

/** `wait` resolves when `ring` is called or the time is over; a ring before `wait` is not lost. */
class Bell {
  #isRung = false
  #wake: (() => void) | undefined
  readonly ring = (): void => {
    this.#isRung = true
    this.#wake?.()
  }
  async wait(ms: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined
    if (!this.#isRung)
      await new Promise<void>((resolve) => {
        timer = setTimeout(resolve, ms)
        this.#wake = resolve
      })
    clearTimeout(timer)
    this.#isRung = false
    this.#wake = undefined
  }
}

export const makeThreadStreams = Effect.fnUntraced(function* (
  repository: Effect.Success<typeof makeSupportRepository>
) {
  const live = yield* makeLiveThreads
  const open = new OpenPlaces()
  const clock = yield* Clock.Clock

  async function* frames(asked: StreamAsked, bell: Bell, isClosed: () => boolean): AsyncGenerator<string, void> {
    const { organizationId, side, threadId } = asked
    const began = clock.currentTimeMillisUnsafe()
    let lookedAt = began
    let sent = asked.after
    let known = ""
    yield `retry: ${RETRY_MS}\n\n`
    while (!isClosed() && clock.currentTimeMillisUnsafe() - began < LIFE_MS) {
      const thread = await Effect.runPromise(Effect.orDie(repository.get(organizationId, threadId, side)))
      // The thread was deleted, so reconnecting would be pointless.
      if (thread === undefined) return
      const messages = await Effect.runPromise(Effect.orDie(repository.messages(organizationId, threadId, sent, PAGE)))
      for (const message of messages) {
        yield frame("message", messageOf(message), message.seq)
        sent = message.seq
      }
      if (messages.length === PAGE) continue
      const { last_message_at: _at, unread: _unread, updated_at: _updated, ...shown } = threadOf(thread)
      const now = JSON.stringify(shown)
      if (known !== "" && now !== known) yield frame("thread", threadOf(thread))
      known = now
      await bell.wait(PING_MS)
      if (isClosed()) return
      if (clock.currentTimeMillisUnsafe() - lookedAt >= KEY_LOOKED_AT_MS) {
        lookedAt = clock.currentTimeMillisUnsafe()
        if (!(await Effect.runPromise(asked.isAllowed))) return
      }
      yield ": ping\n\n"
    }
  }

  return Effect.fnUntraced(function* (asked: StreamAsked) {
    const { organizationId, sessionId, threadId } = asked
    const keys = [
      [organizationId, AT_ONCE_MAX] as const,
      ...(sessionId === undefined
        ? []
        : ([
            [`${organizationId} visitors`, OF_VISITORS_MAX],
            [`${organizationId} of ${sessionId}`, OF_SESSION_MAX]
          ] as const))
    ]
    if (!open.take(keys))
      return yield* new Throttled({ message: "Too many streams are open.", kind: "backpressure", retry_after_s: 5 })
    const bell = new Bell()
    let isClosed = false
    const unwatch = yield* live.watch(organizationId, threadId, bell.ring)
    const pieces = frames(asked, bell, () => isClosed)
    // `Readable.from` would close at the next frame; this closes immediately.
    return new Readable({
      read() {
        pieces.next().then(
          ({ done, value }) => this.push(done === true ? null : value),
          (error: unknown) => this.destroy(error instanceof Error ? error : new Error(String(error)))
        )
      },
      destroy(error, end) {
        isClosed = true
        unwatch()
        open.give(keys)
        bell.ring()
        end(error)
      }
    })
  })
})
