/**
 * One live voice search, from `start` to `final`: what arrives is decoded, heard, told and searched for. It runs as one
 * loop that takes frames one by one, so that who sends faster than is heard waits, and that is woken by whatever else
 * happens: words, results, time.
 */
import { Clock, Effect, Queue, type Scope } from "effect"
import type { DeclaredError } from "../../http/declared.ts"
import { inputInvalid } from "../../http/errors.ts"
import type { Frame, FrameSocket } from "../../http/frame-socket.ts"
import type { KeyRefusal } from "../../http/refusals.ts"
import { render, statusOf } from "../../http/render.ts"
import type { Caller } from "../../identity/caller.ts"
import type { Meter } from "../../metering/ai-spending.ts"
import { AUDIO_BYTES_MAX, type LiveOpusFormat, RATE, SECONDS_MAX } from "../../ports/audio-decoder/audio-decoder.ts"
import { AudioRefused } from "../../ports/audio-decoder/format.ts"
import { VoiceActivity } from "../../ports/transcriber/live/voice-activity.ts"
import type { LiveHeard } from "../../ports/transcriber/transcriber.ts"
import type { OpenedSpeech } from "../speech.ts"
import { endedBy, StreamEnded } from "./ended.ts"
import { CLOSES, readFrame, soundOfStream, type Start } from "./frames.ts"
import { type Found, InterimSearches } from "./interim.ts"
import { Said } from "./said.ts"

const LOOK_MS = 500
const KEY_LOOKED_AT_MS = 5_000
const IDLE_MS = 15_000
const LIFE_MS = SECONDS_MAX * 1_000
/** Behind what was said; a pause between two sentences is shorter. */
const SILENCE_S = 1.5
/** More are taken in the next second. */
const FRAMES_PER_SECOND = 200
/** Refusals of the key's check that are the moment's. */
const PASSING = new Set([429, 503])

/** What a stream asks of the rest of the program. */
export interface StreamParts {
  /** A unit of the session; what it uses is reserved as it is used. */
  readonly meter: Effect.Effect<Meter, DeclaredError, Scope.Scope>
  readonly listen: (
    language: string | undefined,
    heard: (heard: LiveHeard) => void
  ) => Effect.Effect<OpenedSpeech, DeclaredError, Scope.Scope>
  readonly decoder: (format: LiveOpusFormat) => Effect.Effect<OpenedSound, DeclaredError, Scope.Scope>
  readonly search: (caller: Caller, start: Start, said: Said) => Effect.Effect<Found, DeclaredError>
  readonly again: Effect.Effect<Caller, KeyRefusal>
}
type OpenedSound = { readonly push: (bytes: Uint8Array) => Effect.Effect<Float32Array, DeclaredError> }
/** What is there from `start` on. */
interface Started {
  readonly start: Start
  readonly said: Said
  readonly meter: Meter
  readonly searches: InterimSearches<DeclaredError>
}

class VoiceStream {
  readonly #parts: StreamParts
  readonly #socket: FrameSocket
  readonly #scope: Scope.Scope
  readonly #bell: Queue.Queue<void>
  #caller: Caller
  #started: Started | undefined
  #sound: OpenedSound | undefined
  /** Nobody can: what is heard is dropped. */ #speech: OpenedSpeech | "nobody" | undefined
  readonly #activity = new VoiceActivity()
  #heard: LiveHeard | undefined
  #told = ""
  #bytes = 0
  #samples = 0
  /** Where somebody paused, in samples. */ #quietFrom: number | undefined
  /** When words were settled that the client sent. */ #settled_ms: number | undefined
  #began_ms = 0
  #frame_ms = 0
  #key_ms = 0
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

  readonly run: Effect.Effect<never, StreamEnded, Scope.Scope> = Effect.gen(
    function* (this: VoiceStream) {
      this.#socket.listen(() => this.#ring())
      for (;;) {
        yield* Queue.take(this.#bell)
        for (let frame = this.#socket.take(); frame !== undefined; frame = this.#socket.take()) {
          yield* this.#paced
          yield* this.#take(frame)
          yield* this.#tell
        }
        yield* this.#tell
        yield* this.#look
      }
    }.bind(this)
  )

  readonly #paced: Effect.Effect<void> = Effect.gen(
    function* (this: VoiceStream) {
      const now_ms = yield* Clock.currentTimeMillis
      this.#frame_ms = now_ms
      const second = Math.floor(now_ms / 1_000)
      this.#inSecond = second === this.#second ? this.#inSecond + 1 : 1
      this.#second = second
      if (this.#inSecond > FRAMES_PER_SECOND) yield* Effect.sleep((second + 1) * 1_000 - now_ms)
    }.bind(this)
  )
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
        return this.#finish
      case "ping":
        return Effect.sync(() => this.#socket.send({ type: "pong" }))
      case "text":
        return this.#read(read.text, read.isFinal)
    }
  }
  readonly #opened: Effect.Effect<Started, StreamEnded> = Effect.suspend(() =>
    this.#started === undefined
      ? Effect.fail(endedBy(inputInvalid("type", "A stream begins with a frame `start`")))
      : Effect.succeed(this.#started)
  )
  #start(start: Start): Effect.Effect<void, StreamEnded, Scope.Scope> {
    if (this.#started !== undefined) return Effect.fail(endedBy(inputInvalid("type", "A stream is started once")))
    return Effect.map(Effect.mapError(this.#parts.meter, ending), (meter) => {
      const searches = new InterimSearches<DeclaredError>(
        (said) => this.#parts.search(this.#caller, start, said),
        () => this.#ring(),
        this.#scope
      )
      this.#started = { start, meter, searches, said: new Said(start.language) }
    })
  }
  #read(text: string, isFinal: boolean): Effect.Effect<void, StreamEnded> {
    return Effect.flatMap(this.#opened, ({ said }) =>
      Effect.map(Clock.currentTimeMillis, (now_ms) => {
        said.send(text, isFinal)
        this.#settled_ms = isFinal && said.tokens !== "" ? now_ms : undefined
      })
    )
  }

  #hear(bytes: Uint8Array): Effect.Effect<void, StreamEnded, Scope.Scope> {
    return Effect.gen(
      function* (this: VoiceStream) {
        const { meter, said, start } = yield* this.#opened
        this.#bytes += bytes.length
        if (this.#bytes > AUDIO_BYTES_MAX) return yield* tooMuch
        this.#sound ??= yield* this.#decode(start, bytes)
        const samples = yield* Effect.mapError(this.#sound.push(bytes), ending)
        this.#samples += samples.length
        if (this.#samples > SECONDS_MAX * RATE) return yield* tooMuch
        if (samples.length === 0 || said.isSent) return
        const speech = (this.#speech ??= yield* this.#listen(start))
        if (speech === "nobody") return
        yield* Effect.mapError(meter.use(this.#samples / RATE), ending)
        yield* Effect.mapError(speech.push(samples), (error) => this.#unheard(error, meter))
        if (this.#isOver(samples)) yield* this.#finish
      }.bind(this)
    )
  }
  #decode(start: Start, first: Uint8Array): Effect.Effect<OpenedSound, StreamEnded, Scope.Scope> {
    const sound = soundOfStream(start, first)
    if (typeof sound === "string") return Effect.mapError(this.#parts.decoder(sound), ending)
    if ("refusal" in sound) return Effect.fail(endedBy(inputInvalid("audio", sound.refusal)))
    return Effect.succeed({
      push: (bytes) =>
        Effect.try({
          try: () => sound.push(bytes),
          catch: (error) => {
            if (error instanceof AudioRefused) return inputInvalid("audio", error.message)
            throw error
          }
        })
    })
  }
  /** Somebody spoke, and has been silent for long. */
  #isOver(samples: Float32Array): boolean {
    for (const event of this.#activity.push(samples)) {
      if (event.kind === "onset") this.#quietFrom = undefined
      else if (!event.isClick && !event.isCut) this.#quietFrom = event.at
    }
    return this.#quietFrom !== undefined && this.#samples - this.#quietFrom >= SILENCE_S * RATE
  }
  /** Without a transcriber the stream goes on for who sends words himself. */
  #listen(start: Start): Effect.Effect<OpenedSpeech | "nobody", StreamEnded, Scope.Scope> {
    const heard = (each: LiveHeard) => {
      this.#heard = each
      this.#ring()
    }
    return Effect.catch(this.#parts.listen(start.language, heard), (error) => {
      if (statusOf(error) !== 409) return Effect.fail(endedBy(error))
      return Effect.sync(() => {
        this.#refuse(error)
        return "nobody" as const
      })
    })
  }
  #unheard(error: DeclaredError, meter: Meter): StreamEnded {
    meter.forgive()
    return endedBy(error)
  }
  #refuse(error: DeclaredError): void {
    this.#socket.send({ type: "error", ...render(error, "control").body, status: statusOf(error) })
  }

  /** Words and results that are new. */
  readonly #tell: Effect.Effect<void, StreamEnded> = Effect.gen(
    function* (this: VoiceStream) {
      if (this.#started === undefined) return
      const { said, searches } = this.#started
      if (this.#heard !== undefined) said.hear(this.#heard)
      this.#heard = undefined
      this.#transcribe(said, false)
      const found = yield* Effect.mapError(searches.next(said), ending)
      if (found !== undefined)
        this.#socket.send(`{"type":"results","transcript":${found.transcript},"results":${found.results}}`, true)
    }.bind(this)
  )
  /** `is_final`: none of these words will change. */
  #transcribe(said: Said, isLast: boolean): void {
    const { isSettled, text } = said
    const told = JSON.stringify({ type: "transcript", text, is_final: isSettled || isLast })
    if (told === this.#told || (text === "" && !isLast)) return
    this.#told = told
    this.#socket.send(told)
  }

  readonly #finish: Effect.Effect<never, StreamEnded> = Effect.gen(
    function* (this: VoiceStream) {
      const { meter, said, searches } = yield* this.#opened
      if (this.#speech !== undefined && this.#speech !== "nobody" && !said.isSent)
        said.hear(yield* Effect.mapError(this.#speech.close, (error) => this.#unheard(error, meter)))
      this.#transcribe(said, true)
      const found = yield* Effect.mapError(searches.last(said), ending)
      this.#socket.send(`{"type":"final","transcript":${found.transcript},"results":${found.results}}`)
      return yield* new StreamEnded({ code: CLOSES.done, reason: "final" })
    }.bind(this)
  )

  /** What time brings. */
  readonly #look: Effect.Effect<void, StreamEnded> = Effect.gen(
    function* (this: VoiceStream) {
      const now_ms = yield* Clock.currentTimeMillis
      if (now_ms - this.#began_ms > LIFE_MS) return yield* tooMuch
      if (now_ms - this.#frame_ms > IDLE_MS)
        return yield* new StreamEnded({ code: CLOSES.idle, reason: "Nothing came for 15 seconds." })
      if (this.#settled_ms !== undefined && now_ms - this.#settled_ms >= SILENCE_S * 1_000) yield* this.#finish
      if (now_ms - this.#key_ms < KEY_LOOKED_AT_MS) return
      this.#key_ms = now_ms
      const caller = yield* Effect.catch(this.#parts.again, (error) =>
        PASSING.has(statusOf(error)) ? Effect.succeed(this.#caller) : Effect.fail(endedBy(error, CLOSES.key))
      )
      this.#caller = { ...caller, rate: this.#caller.rate }
    }.bind(this)
  )

  /** Says why, and closes. */
  end({ code, error, reason }: StreamEnded): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (error !== undefined) this.#refuse(error)
      return this.#socket.close(code, reason)
    })
  }
}
const ending = (error: DeclaredError): StreamEnded => endedBy(error)
const tooMuch = Effect.fail(
  new StreamEnded({ code: CLOSES.tooMuch, reason: "A stream is at most 25 MB and five minutes." })
)

/** Until it has ended, or nobody is there any more. */
export const runVoiceStream = Effect.fnUntraced(function* (parts: StreamParts, caller: Caller, socket: FrameSocket) {
  const scope = yield* Effect.scope
  const bell = yield* Queue.sliding<void>(1)
  const stream = new VoiceStream(parts, caller, socket, scope, bell, yield* Clock.currentTimeMillis)
  const ring = Effect.sync(() => Queue.offerUnsafe(bell, undefined))
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(LOOK_MS), ring)))
  const running = Effect.catch(stream.run, (ended) => stream.end(ended))
  yield* Effect.raceFirst(running, socket.closed)
})
