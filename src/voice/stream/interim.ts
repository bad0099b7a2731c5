/**
 * Searches while somebody speaks: when the words are others, at most every 150 ms, one at a time. An answer to words
 * that are others by now is not shown.
 */
import { Clock, Effect, Exit, Fiber, type Scope } from "effect"
import type { DeclaredError } from "../../http/declared.ts"
import { statusOf } from "../../http/render.ts"
import type { LiveTranscript } from "./live-transcript.ts"

const EVERY_MS = 150

/** What a search found, as it is told. */
export interface Found {
  /** Of the `LiveTranscript` that was searched for. */ readonly tokens: string
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
  /** Asked for last. */ #tokens = ""
  #began_ms = -Infinity
  #isWaiting = false

  /** `ring`: that there is news. */
  constructor(search: Searching<E>, ring: () => void, scope: Scope.Scope) {
    this.#search = search
    this.#ring = ring
    this.#scope = scope
  }

  /** Begins a search where one is due; answers what has been found since it was last asked, if that still counts. */
  next(transcript: LiveTranscript): Effect.Effect<Found | undefined, E> {
    return Effect.gen(
      function* (this: InterimSearches<E>) {
        const found = yield* this.#news(transcript.tokens)
        yield* this.#begin(transcript)
        return found
      }.bind(this)
    )
  }
  /** Of everything that was said; the latest answer is returned again if it was for the same words. */
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

  /** A limit, or trouble of ours, passes; the last search tells of it where it does not. */
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
