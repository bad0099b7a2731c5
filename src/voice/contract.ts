/** Operations that transcribe speech and search by it. */
import { Schema } from "effect"
import { embeddingErrors } from "../embedding/errors.ts"
import { SearchResponse } from "../engine-plane/search-response.ts"
import { NotFound, UpgradeRequired } from "../http/errors.ts"
import { operation } from "../http/operation.ts"
import { aiErrors } from "../metering/errors.ts"
import { SearchParameters } from "../search/contract.ts"
import { searchErrors } from "../search/search-errors.ts"
import { described } from "./examples.ts"

const AUDIO_MEDIA = [
  "audio/wav",
  "audio/ogg",
  "audio/webm",
  "audio/mpeg",
  "audio/flac",
  "application/octet-stream",
  "application/json"
]
/** 25 MB as base64, plus the JSON around it. */
const AUDIO_BODY_BYTES_MAX = 34_000_000

const language = Schema.optionalKey(
  Schema.String.annotate({ description: "The spoken language, ISO 639-1; if absent, the transcriber detects it." })
)
const spoken = {
  plane: "control",
  scope: "search",
  group: "voice",
  isAi: true,
  method: "POST",
  payloadIsChecked: false,
  payloadType: "bytes",
  payloadMedia: AUDIO_MEDIA,
  bodyBytesMax: AUDIO_BODY_BYTES_MAX
} as const

export const Transcription = Schema.Struct({
  text: Schema.String,
  language: Schema.String,
  duration_seconds: Schema.Number,
  segments: Schema.Array(
    Schema.Struct({ start: Schema.Number, end: Schema.Number, text: Schema.String }).annotate({
      identifier: "SpokenSegment",
      description: "In seconds from the beginning."
    })
  ),
  model: Schema.String
}).annotate({ identifier: "Transcription" })
const Spoken = Schema.Struct({
  text: Schema.String.annotate({ description: "The corrected text that was searched for." }),
  raw_text: Schema.String.annotate({ description: "The transcript before corrections." }),
  language: Schema.String,
  model: Schema.String
}).annotate({ identifier: "VoiceTranscript" })

export const transcribeVoice = operation({
  ...spoken,
  ...described.transcribeVoice,
  id: "transcribeVoice",
  summary: "Write down what is said",
  path: "/v1/voice/transcriptions",
  query: Schema.Struct({ language }),
  payload: Schema.Record(Schema.String, Schema.Unknown).annotate({
    identifier: "TranscriptionBody",
    description: "`audio` as base64, and `language`."
  }),
  success: Transcription,
  errors: [...aiErrors, ...embeddingErrors]
})
export const voiceSearch = operation({
  ...spoken,
  ...described.voiceSearch,
  id: "voiceSearch",
  summary: "Search by speech",
  path: "/v1/collections/:collectionName/documents/voice_search",
  query: Schema.Struct({ ...SearchParameters.fields, language }),
  payload: Schema.Record(Schema.String, Schema.Unknown).annotate({
    identifier: "VoiceSearchBody",
    description: "`audio` as base64, `language`, and search parameters without `q`."
  }),
  success: Schema.Struct({ ...SearchResponse.fields, transcript: Spoken }).annotate({
    identifier: "VoiceSearchResponse"
  }),
  errors: [NotFound, ...searchErrors, ...aiErrors, ...embeddingErrors]
})

const VoiceFrame = Schema.Struct({
  type: Schema.Literals(["transcript", "results", "final", "error", "pong"]),
  text: Schema.optionalKey(Schema.String.annotate({ description: "In a `transcript`: everything said so far." })),
  is_final: Schema.optionalKey(Schema.Boolean.annotate({ description: "Whether the words are final." })),
  transcript: Schema.optionalKey(Spoken),
  results: Schema.optionalKey(SearchResponse),
  status: Schema.optionalKey(Schema.Int.annotate({ description: "The HTTP status that corresponds to an `error`." })),
  message: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "VoiceFrame", description: "A text frame of the server." })

export const voiceStream = operation({
  plane: "control",
  scope: "search",
  group: "voice",
  isAi: true,
  method: "GET",
  ...described.voiceStream,
  id: "voiceStream",
  summary: "Search while somebody speaks",
  path: "/v1/collections/:collectionName/documents/search/voice_stream",
  query: Schema.Struct({
    api_key: Schema.optionalKey(
      Schema.String.annotate({ description: "The key, for clients that cannot set headers, such as browsers." })
    ),
    session_id: Schema.optionalKey(Schema.String.annotate({ description: "The session, for the same clients." }))
  }),
  success: VoiceFrame,
  status: 101,
  successType: "web_socket",
  errors: [NotFound, UpgradeRequired]
})
