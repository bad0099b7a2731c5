/**
 * A live transcriber on a server: audio is sent as it arrives, results are passed on as they arrive. A server with
 * OpenAI's interface but without realtime is used by agreement (`../live/by-agreement.ts`).
 */
import { Clock, Deferred, Effect } from "effect"
import { OutboundHttp, type OutboundSocket } from "../../outbound-http/outbound-http.ts"
import {
  type LiveHeard,
  type LiveOrder,
  type LiveTranscription,
  type TranscribeOrder,
  type Transcript,
  TranscriptionUnavailable
} from "../transcriber.ts"
import { openByAgreement } from "../live/by-agreement.ts"
import { type LiveProtocol, liveProtocol } from "./live-providers.ts"
import type { RemoteTranscriberModel } from "./providers.ts"
import { failed, quoted } from "./remote-transcriber.ts"

const TIMEOUT_MS = 10_000
const MESSAGE_BYTES_MAX = 1_000_000
/** Ten seconds of audio that the server has not accepted. */
const UNSENT_MAX = 320_000
const UNSENT_LOOK_MS = 20
/** How long results are awaited after the last audio. */
const LAST_MS = 5_000
const KEEPING_MS = 4_000
/** Normal close code. */
const CLOSED_WELL = 1_000

type Transcribe = (order: TranscribeOrder) => Effect.Effect<Transcript, TranscriptionUnavailable>

class Listening {
  readonly protocol: LiveProtocol
  readonly #order: LiveOrder
  readonly #model: RemoteTranscriberModel
  readonly ended = Deferred.makeUnsafe<void, TranscriptionUnavailable>()
  #reported = ""
  sent_ms = 0

  constructor(protocol: LiveProtocol, order: LiveOrder, model: RemoteTranscriberModel) {
    this.protocol = protocol
    this.#order = order
    this.#model = model
  }
  get heard(): LiveHeard {
    const { kind, model } = this.#model
    return { ...this.protocol.heard, language: this.#order.language ?? "und", model: `${kind}/${model}` }
  }
  fail(what: string): void {
    Deferred.doneUnsafe(this.ended, Effect.fail(failed(this.#model, what)))
  }
  onText(text: string): void {
    try {
      this.protocol.hear(JSON.parse(text) as unknown)
    } catch {
      return this.fail("said something that is not JSON")
    }
    const { failure, isOver } = this.protocol
    if (failure !== undefined) return this.fail(`could not do it${quoted(failure)}`)
    const current = JSON.stringify(this.protocol.heard)
    if (current !== this.#reported) this.#order.heard(this.heard)
    this.#reported = current
    if (isOver) Deferred.doneUnsafe(this.ended, Effect.void)
  }
  /** A normal close ends the session; any other fails it. */
  onClose(code: number, reason: string): void {
    if (code === CLOSED_WELL) Deferred.doneUnsafe(this.ended, Effect.void)
    else this.fail(`closed the connection (${code})${quoted(reason)}`)
  }
}

const sessionOf = (listening: Listening, socket: OutboundSocket, model: RemoteTranscriberModel): LiveTranscription => {
  const { ended, protocol } = listening
  const isEnded = Effect.flatMap(Deferred.poll(ended), (found) => (found._tag === "None" ? Effect.void : found.value))
  return {
    push: Effect.fnUntraced(function* (samples: Float32Array) {
      yield* isEnded
      const began_ms = yield* Clock.currentTimeMillis
      listening.sent_ms = began_ms
      for (const message of protocol.encode(samples)) socket.send(message)
      while (socket.unsentBytes() > UNSENT_MAX) {
        if ((yield* Clock.currentTimeMillis) - began_ms > TIMEOUT_MS)
          return yield* failed(model, "does not accept what is sent")
        yield* Effect.sleep(UNSENT_LOOK_MS)
        yield* isEnded
      }
    }),
    close: Effect.gen(function* () {
      for (const message of protocol.closing()) socket.send(message)
      yield* Effect.timeoutOrElse(Deferred.await(ended), {
        duration: LAST_MS,
        orElse: () => Effect.fail(failed(model, "did not end within five seconds"))
      })
      const { heard } = listening
      return { ...heard, settled: heard.words.length }
    })
  }
}

export const makeRemoteLive = Effect.map(OutboundHttp, (http) =>
  Effect.fnUntraced(function* (model: RemoteTranscriberModel, order: LiveOrder, transcribe: Transcribe) {
    const { hints, language } = order
    const protocol = liveProtocol({ model, language, hints })
    const listening = new Listening(protocol, order, model)
    const opened = yield* Effect.result(
      http.connect({
        url: protocol.url,
        headers: protocol.headers,
        timeout_ms: TIMEOUT_MS,
        messageBytesMax: MESSAGE_BYTES_MAX,
        onText: (text) => listening.onText(text),
        onClose: (code, reason) => listening.onClose(code, reason)
      })
    )
    if (opened._tag === "Failure") {
      const { kind, message } = opened.failure
      if (kind === "refused_upgrade" && model.kind === "openai")
        return yield* openByAgreement(transcribe, order, `openai/${model.model}`)
      return yield* failed(model, `cannot be asked (${message.replace(/\.$/, "")})`)
    }
    const socket = opened.success
    for (const message of protocol.opening) socket.send(message)
    const keeping = Effect.map(Clock.currentTimeMillis, (now_ms) => {
      if (now_ms - listening.sent_ms >= KEEPING_MS) for (const message of protocol.keeping) socket.send(message)
    })
    if (protocol.keeping.length > 0)
      yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(KEEPING_MS), keeping)))
    return sessionOf(listening, socket, model)
  })
)
