/**
 * One live voice search, from `start` to `final`: audio is transcribed, and the words are sent back and searched for.
 * It runs as one loop that takes one frame at a time, so that a client that sends faster than the transcriber works has
 * to wait. New words, results and a timer wake the loop as well.
 */
import { Clock, Effect, Queue, type Scope } from "effect"
import type { DeclaredError } from "../../http/declared.ts"
import { inputInvalid } from "../../http/errors.ts"
import type { Frame, FrameSocket } from "../../http/frame-socket.ts"
import type { KeyRefusal } from "../../http/refusals.ts"
import { render, statusOf } from "../../http/render.ts"
import type { Caller } from "../../identity/caller.ts"
import type { Meter } from "../../metering/ai-spending.ts"
import { SECONDS_MAX } from "../../ports/audio-decoder/audio-decoder.ts"
import type { LiveHeard } from "../../ports/transcriber/transcriber.ts"
import { endedBy, StreamEnded, tooMuch } from "./ended.ts"
import { CLOSES, readFrame, type Start } from "./frames.ts"
import { Hearing, type HearingParts, SILENCE_S } from "./hearing.ts"
import { type Found, InterimSearches } from "./interim.ts"
import { LiveTranscript } from "./live-transcript.ts"

const LOOK_MS = 500
const KEY_LOOKED_AT_MS = 5_000
const IDLE_MS = 15_000
const LIFE_MS = SECONDS_MAX * 1_000
/** Frames beyond these wait for the next second. */
const FRAMES_PER_SECOND = 200
/** Statuses of a key check that are temporary and do not end the stream. */
const PASSING = new Set([429, 503])

/** What a stream needs from the rest of the program. */
interface StreamParts extends HearingParts {
  /** Takes one AI unit of the session; credits are reserved as audio arrives. */
  readonly meter: Effect.Effect<Meter, DeclaredError, Scope.Scope>
  readonly search: (caller: Caller, start: Start, transcript: LiveTranscript) => Effect.Effect<Found, DeclaredError>
  readonly again: Effect.Effect<Caller, KeyRefusal>
}
/** State that exists once the frame `start` has arrived. */
interface Started {
  readonly transcript: LiveTranscript
  readonly hearing: Hearing
  readonly searches: InterimSearches<DeclaredError>
}
const ending = (error: DeclaredError): StreamEnded => endedBy(error)

class VoiceStream {
  readonly #parts: StreamParts
  readonly #socket: FrameSocket
  readonly #scope: Scope.Scope
  readonly #bell: Queue.Queue<void>
  #caller: Caller
  #started: Started | undefined
  #heard: LiveHeard | undefined
  #sentTranscript = ""
  /** When the client last sent words as final. */ #settled_ms: number | undefined
  readonly #began_ms: number
  #frame_ms: number
  #key_ms: number
  #second = 0
  #inSecond = 0

  constructor(
    parts: StreamParts,
    caller: Caller,
    socket: FrameSocket,
    scope: Scope.Scope,
    bell: Queue.Queue<void>,
    now_ms: number
  ) {
    this.#parts = parts
    this.#caller = caller
    this.#socket = socket
    this.#scope = scope
    this.#bell = bell
    this.#began_ms = this.#frame_ms = this.#key_ms = now_ms
  }
  #ring(): void {
    Queue.offerUnsafe(this.#bell, undefined)
  }

  run(): Effect.Effect<never, StreamEnded, Scope.Scope> {
    return Effect.gen(
      function* (this: VoiceStream) {
        this.#socket.listen(() => this.#ring())
        for (;;) {
          yield* Queue.take(this.#bell)
          for (let frame = this.#socket.take(); frame !== undefined; frame = this.#socket.take()) {
            yield* this.#paced()
            yield* this.#take(frame)
            yield* this.#sendNews()
          }
          yield* this.#sendNews()
          yield* this.#look()
        }
      }.bind(this)
    )
  }
  #paced(): Effect.Effect<void> {
    return Effect.flatMap(Clock.currentTimeMillis, (now_ms) => {
      this.#frame_ms = now_ms
      const second = Math.floor(now_ms / 1_000)
      this.#inSecond = second === this.#second ? this.#inSecond + 1 : 1
      this.#second = second
      return this.#inSecond > FRAMES_PER_SECOND ? Effect.sleep((second + 1) * 1_000 - now_ms) : Effect.void
    })
  }
  #take(frame: Frame): Effect.Effect<void, StreamEnded, Scope.Scope> {
    if (frame.kind === "bytes") return this.#hear(frame.bytes)
    const read = readFrame(frame.text)
    if (!("type" in read)) {
      const [issue] = read
      return Effect.fail(endedBy(inputInvalid(issue!.path, issue!.message)))
    }
    switch (read.type) {
      case "start":
        return this.#start(read)
      case "stop":
        return this.#finish()
      case "ping":
        return Effect.sync(() => this.#socket.send({ type: "pong" }))
      case "text":
        return this.#read(read.text, read.isFinal)
    }
  }
  #opened(): Effect.Effect<Started, StreamEnded> {
    return this.#started === undefined
      ? Effect.fail(endedBy(inputInvalid("type", "A stream begins with a frame `start`")))
      : Effect.succeed(this.#started)
  }
  #start(start: Start): Effect.Effect<void, StreamEnded, Scope.Scope> {
    if (this.#started !== undefined) return Effect.fail(endedBy(inputInvalid("type", "A stream is started once")))
    return Effect.map(Effect.mapError(this.#parts.meter, ending), (meter) => {
      const heard = (each: LiveHeard) => {
        this.#heard = each
        this.#ring()
      }
      this.#started = {
        transcript: new LiveTranscript(start.language),
        hearing: new Hearing({ parts: this.#parts, start, meter, heard, refuse: (error) => this.#refuse(error) }),
        searches: new InterimSearches<DeclaredError>(
          (transcript) => this.#parts.search(this.#caller, start, transcript),
          () => this.#ring(),
          this.#scope
        )
      }
    })
  }
  #read(text: string, isFinal: boolean): Effect.Effect<void, StreamEnded> {
    return Effect.gen(
      function* (this: VoiceStream) {
        const { transcript } = yield* this.#opened()
        transcript.send(text, isFinal)
        this.#settled_ms = isFinal && transcript.tokens !== "" ? yield* Clock.currentTimeMillis : undefined
      }.bind(this)
    )
  }
  #hear(bytes: Uint8Array): Effect.Effect<void, StreamEnded, Scope.Scope> {
    return Effect.gen(
      function* (this: VoiceStream) {
        const { hearing, transcript } = yield* this.#opened()
        if (yield* hearing.push(bytes, !transcript.isSent)) yield* this.#finish()
      }.bind(this)
    )
  }
  #refuse(error: DeclaredError): void {
    this.#socket.send({ type: "error", ...render(error, "control").body, status: statusOf(error) })
  }

  /** Sends the words and results that are new. */
  #sendNews(): Effect.Effect<void, StreamEnded> {
    return Effect.gen(
      function* (this: VoiceStream) {
        if (this.#started === undefined) return
        const { transcript, searches } = this.#started
        if (this.#heard !== undefined) transcript.hear(this.#heard)
        this.#heard = undefined
        this.#transcribe(transcript, false)
        const found = yield* Effect.mapError(searches.next(transcript), ending)
        if (found !== undefined)
          this.#socket.send(`{"type":"results","transcript":${found.transcript},"results":${found.results}}`, true)
      }.bind(this)
    )
  }
  /** `is_final`: none of these words will change. */
  #transcribe(transcript: LiveTranscript, isLast: boolean): void {
    const { isSettled, text } = transcript
    const frame = JSON.stringify({ type: "transcript", text, is_final: isSettled || isLast })
    if (frame === this.#sentTranscript || (text === "" && !isLast)) return
    this.#sentTranscript = frame
    this.#socket.send(frame)
  }
  #finish(): Effect.Effect<never, StreamEnded> {
    return Effect.gen(
      function* (this: VoiceStream) {
        const { hearing, transcript, searches } = yield* this.#opened()
        const heard = transcript.isSent ? undefined : yield* hearing.close()
        if (heard !== undefined) transcript.hear(heard)
        this.#transcribe(transcript, true)
        const found = yield* Effect.mapError(searches.last(transcript), ending)
        this.#socket.send(`{"type":"final","transcript":${found.transcript},"results":${found.results}}`)
        return yield* new StreamEnded({ code: CLOSES.done, reason: "final" })
      }.bind(this)
    )
  }

  /** Checks what depends on time: lifetime, idleness, silence and the key. */
  #look(): Effect.Effect<void, StreamEnded> {
    return Effect.gen(
      function* (this: VoiceStream) {
        const now_ms = yield* Clock.currentTimeMillis
        if (now_ms - this.#began_ms > LIFE_MS) return yield* tooMuch()
        if (now_ms - this.#frame_ms > IDLE_MS)
          return yield* new StreamEnded({ code: CLOSES.idle, reason: "Nothing came for 15 seconds." })
        if (this.#settled_ms !== undefined && now_ms - this.#settled_ms >= SILENCE_S * 1_000) yield* this.#finish()
        if (now_ms - this.#key_ms < KEY_LOOKED_AT_MS) return
        this.#key_ms = now_ms
        const caller = yield* Effect.catch(this.#parts.again, (error) =>
          PASSING.has(statusOf(error)) ? Effect.succeed(this.#caller) : Effect.fail(endedBy(error, CLOSES.key))
        )
        this.#caller = { ...caller, rate: this.#caller.rate }
      }.bind(this)
    )
  }

  /** Sends the error, if there is one, and closes the connection. */
  end({ code, error, reason }: StreamEnded): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (error !== undefined) this.#refuse(error)
      return this.#socket.close(code, reason)
    })
  }
}

/** Runs a stream until it ends or its client disconnects. */
export const runVoiceStream = Effect.fnUntraced(function* (parts: StreamParts, caller: Caller, socket: FrameSocket) {
  const scope = yield* Effect.scope
  const bell = yield* Queue.sliding<void>(1)
  const stream = new VoiceStream(parts, caller, socket, scope, bell, yield* Clock.currentTimeMillis)
  const ring = Effect.sync(() => Queue.offerUnsafe(bell, undefined))
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(LOOK_MS), ring)))
  const running = Effect.catch(stream.run(), (ended) => stream.end(ended))
  yield* Effect.raceFirst(running, socket.closed)
})
