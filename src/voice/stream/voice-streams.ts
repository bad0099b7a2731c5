/**
 * The live voice searches of this process: how many each caller may have open, and the search for a stream's words,
 * an ordinary search with the caller's key, profile and rules. It takes a search unit and a token of the key's rate.
 */
import { Effect } from "effect"
import type { CollectionInfo } from "@dowser/engine-sdk"
import { Access } from "../../access/access.ts"
import { resolveCollection } from "@dowser/engine-sdk/operations"
import type { Input } from "../../api/implement.ts"
import { makeContexts } from "../../engine-plane/engine-plane.ts"
import { reachesNamed } from "../../engine-plane/reached.ts"
import { NotFound, Throttled } from "../../http/errors.ts"
import type { FrameSocket } from "../../http/frame-socket.ts"
import type { Caller } from "../../identity/caller.ts"
import { collectionClosed } from "../../identity/reach.ts"
import { AiSpending } from "../../metering/ai-spending.ts"
import type { SearchRequest } from "../../search/request.ts"
import { Search } from "../../search/search.ts"
import { nothing, VoiceSearch } from "../voice-search.ts"
import type { Start } from "./frames.ts"
import type { Found } from "./interim.ts"
import type { LiveTranscript } from "./live-transcript.ts"
import { placesOfStream } from "./places.ts"
import { runVoiceStream } from "./voice-stream.ts"

const RETRY_AFTER_S = 5

/** `release` frees the memory accounted for an answer. */
interface StreamRequest extends SearchRequest {
  readonly release: () => void
}

export const makeVoiceStreams = Effect.gen(function* () {
  const access = yield* Access
  const search = yield* Search
  const spending = yield* AiSpending
  const voice = yield* VoiceSearch
  const contextOf = yield* makeContexts
  const open = voice.streams

  const searched = Effect.fnUntraced(function* (
    request: StreamRequest,
    name: string,
    collection: CollectionInfo,
    spoken: LiveTranscript
  ) {
    const { language, model, pieces, text: raw, tokens } = spoken
    const { text } = spoken.isSent ? { text: tokens } : yield* voice.understood(request, name, collection, pieces)
    const found = (results: string): Found => ({
      tokens,
      results,
      transcript: JSON.stringify({ text, raw_text: raw, language, model })
    })
    if (text === "") return found(nothing(name, request.shared.per_page))
    yield* access.takeTokens(request.caller, 1)
    const asked = { ...request, shared: { ...request.shared, q: text } }
    const answer = yield* Effect.ensuring(search.searchCollection(asked, name), Effect.sync(request.release))
    return found(answer.text)
  })

  return {
    open: Effect.fnUntraced(function* (
      input: Pick<Input<unknown, unknown, unknown, "search">, "caller" | "again" | "upgrade">,
      request: StreamRequest,
      name: string
    ) {
      const { again, caller, upgrade } = input
      const context = contextOf(caller.organizationId)
      if (!reachesNamed(context, caller, name)) return yield* collectionClosed()
      const collection = resolveCollection(context, name)
      if (collection === undefined) return yield* new NotFound({ message: "Collection not found" })
      const places = placesOfStream(caller)
      yield* Effect.acquireRelease(
        Effect.suspend(() =>
          open.take(places)
            ? Effect.void
            : Effect.fail(
                new Throttled({
                  message: "Too many voice streams are open.",
                  kind: "backpressure",
                  retry_after_s: RETRY_AFTER_S
                })
              )
        ),
        () => Effect.sync(() => open.give(places))
      )
      const socket: FrameSocket = yield* upgrade
      const parts = {
        again,
        meter: spending.meter(caller, "voice"),
        listen: (language: string | undefined, heard: Parameters<typeof voice.open>[2]) =>
          voice.open(caller, language, heard, voice.likely(request, collection)),
        decoder: voice.decoder,
        search: (now: Caller, start: Start, spoken: LiveTranscript) =>
          searched({ ...request, caller: now, shared: start.shared }, name, collection, spoken)
      }
      yield* runVoiceStream(parts, caller, socket)
    }, Effect.scoped)
  }
})
