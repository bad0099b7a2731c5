/**
 * Reads changes into memory, one read at a time, and resumes waiters once a read that began after their arrival is
 * complete. A failed read is retried until it succeeds.
 */
import { Cause, Deferred, Effect, Queue, Semaphore } from "effect"
import type { ConfigurationKind } from "../change.ts"
import type { makeLeasesRepository } from "../leases-repository.ts"
import type { Load, makeRooms } from "../rooms.ts"
import type { OwnStatements } from "./own-statements.ts"

/** Pause between attempts to read, doubling. */
const AGAIN_MS = 50
const AGAIN_MAX_MS = 400

interface ReadWaiter {
  readonly arrivedAt: number
  readonly done: Deferred.Deferred<void>
}
interface ReaderParts {
  readonly repository: ReturnType<typeof makeLeasesRepository>
  readonly rooms: ReturnType<typeof makeRooms>
  readonly statements: OwnStatements
  /** Milliseconds of the monotonic clock. */ readonly now: () => number
  /** Called when memory has a newer version. */ readonly onNews: (version: number) => Effect.Effect<void>
}

export class ChangeReader {
  readonly #parts: ReaderParts
  readonly #wanted: Queue.Queue<void>
  readonly #reading: Semaphore.Semaphore
  /** Requests and writes that wait for a read; each gives up after its time limit. */
  readonly #waiting = new Set<ReadWaiter>()
  #applied: number
  #readAt: number
  #behindSince: number | undefined
  #isUnreadLogged = false

  constructor(parts: ReaderParts, applied: number, wanted: Queue.Queue<void>, reading: Semaphore.Semaphore) {
    this.#parts = parts
    this.#applied = applied
    this.#wanted = wanted
    this.#reading = reading
    this.#readAt = parts.now()
  }

  /** Memory has every change up to this version. */
  get applied(): number {
    return this.#applied
  }
  /** Memory has every change that was committed before this moment. */
  get readAt(): number {
    return this.#readAt
  }
  /** Since when a change has been unread. */
  get behindSince(): number | undefined {
    return this.#behindSince
  }

  want(): void {
    Queue.offerUnsafe(this.#wanted, undefined)
  }
  /** Records that something changed at that moment, or earlier. */
  fellBehind(at: number): void {
    this.#behindSince ??= at
    this.want()
  }

  /** Registers how a room reads its rows, now and whenever they change. */
  readonly keep = (kind: ConfigurationKind, load: Load): Effect.Effect<void> =>
    this.#reading.withPermits(1)(Effect.orDie(this.#parts.rooms.keep(kind, load)))

  /** Resolves once a read that began after the call is complete. */
  readonly freshly: Effect.Effect<void> = Effect.suspend(() => {
    const one: ReadWaiter = { arrivedAt: this.#parts.now(), done: Deferred.makeUnsafe() }
    this.#waiting.add(one)
    this.want()
    return Effect.ensuring(
      Deferred.await(one.done),
      Effect.sync(() => {
        this.#waiting.delete(one)
      })
    )
  })

  /** Reads whenever requested. */
  readonly loop: Effect.Effect<never> = Effect.suspend(() =>
    Effect.forever(
      Effect.andThen(
        Queue.take(this.#wanted),
        Effect.suspend(() => this.#attempt(AGAIN_MS))
      )
    )
  )

  #attempt(again_ms: number): Effect.Effect<void> {
    return Effect.catchCause(this.#reading.withPermits(1)(this.#read()), (cause) => {
      if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
      this.#behindSince ??= this.#parts.now()
      return Effect.andThen(
        Effect.sleep(again_ms),
        Effect.suspend(() => this.#attempt(Math.min(2 * again_ms, AGAIN_MAX_MS)))
      )
    })
  }

  readonly #read = Effect.fnUntraced({ self: this }, function* () {
    const { now, onNews, repository, rooms, statements } = this.#parts
    const startedAt = now()
    const { changes, version } = yield* statements.run(repository.changesSince(this.#applied))
    if (changes === "all" || changes.length > 0)
      yield* Effect.tapCause(rooms.load(changes), (cause) => this.#unread(cause))
    const isNews = version > this.#applied
    this.#applied = version
    this.#readAt = startedAt
    this.#behindSince = undefined
    this.#isUnreadLogged = false
    this.#settle(startedAt)
    if (isNews) yield* onNews(version)
  })

  /** A read serves the waiters that arrived before it began. */
  #settle(startedAt: number): void {
    for (const one of this.#waiting) {
      if (one.arrivedAt > startedAt) continue
      this.#waiting.delete(one)
      Deferred.doneUnsafe(one.done, Effect.void)
    }
    if (this.#waiting.size > 0) this.want()
  }

  #unread(cause: Cause.Cause<unknown>): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.#isUnreadLogged || Cause.hasInterruptsOnly(cause)) return Effect.void
      this.#isUnreadLogged = true
      return Effect.logError("Configuration: changes cannot be read; trying again", cause)
    })
  }
}
