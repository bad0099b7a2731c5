/** Handlers of transcription and voice search. The body is audio, or JSON that contains it as base64. */
import { Effect } from "effect"
import { implement } from "../api/implement.ts"
import { withoutLimit } from "../engine-plane/time-limit.ts"
import { refused } from "../http/checks.ts"
import { Reply } from "../http/reply.ts"
import { Installation } from "../installation.ts"
import { textOfSegment } from "../ports/transcriber/transcriber.ts"
import { searchRequestOf } from "../search/routes.ts"
import * as contract from "./contract.ts"
import { readTranscription, readVoiceSearch } from "./read.ts"
import { type Listened } from "./speech.ts"
import { makeVoiceStreams } from "./stream/voice-streams.ts"
import { VoiceSearch } from "./voice-search.ts"

const round = (seconds: number): number => Math.round(seconds * 1_000) / 1_000
const transcriptionOf = ({ language, model, seconds, segments }: Listened): typeof contract.Transcription.Type => ({
  text: segments.map(textOfSegment).join(" "),
  language,
  duration_seconds: round(seconds),
  segments: segments.map((segment) => ({
    start: round(segment.start),
    end: round(segment.end),
    text: textOfSegment(segment)
  })),
  model
})

export const routes = Effect.gen(function* () {
  const voice = yield* VoiceSearch
  const streams = yield* makeVoiceStreams
  const { countryHeader } = yield* Installation
  return [
    implement(
      contract.transcribeVoice,
      Effect.fnUntraced(function* (input) {
        const asked = readTranscription(yield* input.bytes, input.search)
        yield* refused(asked.issues)
        return yield* voice.listen(input.caller, asked.sound!, (listened) => Effect.succeed(transcriptionOf(listened)))
      })
    ),
    implement(
      contract.voiceSearch,
      Effect.fnUntraced(function* (input) {
        const asked = readVoiceSearch(yield* input.bytes, input.search)
        yield* refused(asked.issues)
        const request = { ...searchRequestOf(input, countryHeader), shared: asked.values, queryText: "" }
        const text = yield* withoutLimit(voice.answer(request, input.params.collectionName, asked.sound!))
        return new Reply(200, text)
      })
    ),
    implement(
      contract.voiceStream,
      Effect.fnUntraced(function* (input) {
        const request = {
          ...searchRequestOf(input, countryHeader),
          shared: {},
          queryText: "",
          release: () => input.held().accountResponse(0)
        }
        yield* streams.open(input, request, input.params.collectionName)
        // The connection is closed by now, so this reply is never sent.
        return new Reply(101, "")
      })
    )
  ]
})
