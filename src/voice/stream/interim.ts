/**
 * Searches while the visitor is speaking: one at a time, at most every 150 ms, and only when the words have changed. A
 * result is dropped if the words have changed again since its search began.
 */
import { Clock, Effect, Exit, Fiber, type Scope } from "effect"
import type { DeclaredError } from "../../http/declared.ts"
import { statusOf } from "../../http/render.ts"
import type { LiveTranscript } from "./live-transcript.ts"

const EVERY_MS = 150

/** The result of a search, as JSON texts ready to be sent. */
export interface Found {
  /** The query (`LiveTranscript.tokens`) of this search. */ readonly tokens: string
  readonly transcript: string
  readonly results: string
}
type Searching<E> = (transcript: LiveTranscript, before: Found | undefined) => Effect.Effect<Found, E>

export class InterimSearches<E extends DeclaredError> {
  readonly #search: Searching<E>
  readonly #ring: () => void
  readonly #scope: Scope.Scope
  #running: Fiber.Fiber<void> | undefined
  #ended: Exit.Exit<Found, E> | undefined
  #found: Found | undefined
  /** The query of the latest search. */ #tokens = ""
  #began_ms = -Infinity
  #isWaiting = false

  /** `ring` wakes the stream when a search has ended or one is due. */
  constructor(search: Searching<E>, ring: () => void, scope: Scope.Scope) {
    this.#search = search
    this.#ring = ring
    this.#scope = scope
  }

  /** Starts a search if one is due. Returns the result of an ended one, unless the words have changed since. */
  next(transcript: LiveTranscript): Effect.Effect<Found | undefined, E> {
    return Effect.gen(
      function* (this: InterimSearches<E>) {
        const found = yield* this.#news(transcript.tokens)
        yield* this.#begin(transcript)
        return found
      }.bind(this)
    )
  }
  /** The result for the final words; the latest result is reused if its query was the same. */
  last(transcript: LiveTranscript): Effect.Effect<Found, E> {
    return Effect.gen(
      function* (this: InterimSearches<E>) {
        if (this.#running !== undefined) yield* Fiber.await(this.#running)
        if (this.#ended !== undefined && Exit.isSuccess(this.#ended)) this.#found = this.#ended.value
        const isSame = this.#found?.tokens === transcript.tokens && !transcript.hasReadings
        return isSame ? this.#found! : yield* this.#search(transcript, this.#found)
      }.bind(this)
    )
  }

  /** Rate limits and server errors are ignored here: if one persists, the final search fails with it. */
  #news(tokens: string): Effect.Effect<Found | undefined, E> {
    const ended = this.#ended
    this.#ended = undefined
    if (ended === undefined) return Effect.succeed(undefined)
    if (Exit.isSuccess(ended)) {
      this.#found = ended.value
      return Effect.succeed(ended.value.tokens === tokens ? ended.value : undefined)
    }
    const error = ended.cause.reasons.find((reason) => reason._tag === "Fail")?.error
    const isPassing = error === undefined || statusOf(error) === 429 || statusOf(error) >= 500
    return isPassing ? Effect.succeed(undefined) : Effect.fail(error)
  }
  #begin(transcript: LiveTranscript): Effect.Effect<void> {
    return Effect.gen(
      function* (this: InterimSearches<E>) {
        const { tokens } = transcript
        if (this.#running !== undefined || tokens === "" || tokens === this.#tokens) return
        const now_ms = yield* Clock.currentTimeMillis
        const early_ms = this.#began_ms + EVERY_MS - now_ms
        if (early_ms > 0) return yield* this.#wait(early_ms)
        this.#began_ms = now_ms
        this.#tokens = tokens
        const searching = Effect.map(Effect.exit(this.#search(transcript, this.#found)), (exit) => {
          this.#running = undefined
          this.#ended = exit
          this.#ring()
        })
        this.#running = yield* Effect.forkIn(searching, this.#scope)
      }.bind(this)
    )
  }
  #wait(ms: number): Effect.Effect<void> {
    if (this.#isWaiting) return Effect.void
    this.#isWaiting = true
    const waiting = Effect.map(Effect.sleep(ms), () => {
      this.#isWaiting = false
      this.#ring()
    })
    return Effect.asVoid(Effect.forkIn(waiting, this.#scope))
  }
}
