/** Descriptions of the operations, each with an example request that succeeds (`src/http/operation.ts`). */
import type { Described } from "../http/operation.ts"
import { QUIET } from "./quiet.ts"

const headers = { "x-svc-session-id": "session-1" } as const

export const described = {
  transcribeVoice: {
    description:
      "Transcribes a recording: raw audio, or JSON with `audio` as base64 and `language`; wav, ogg or webm with Opus, mp3 or flac, at most 25 MB and five minutes, and what cannot be decoded is a 400 before anything else. The embedded transcriber understands only English and must be installed first; until then a 409 says how; `PUT /v1/ai/providers/transcriber` names another. It costs 0.5 credits for every 15 seconds begun, and a recording in which nobody speaks has an empty text.",
    example: { body: { audio: QUIET, language: "en" }, headers }
  },
  voiceSearch: {
    description:
      "Searches a collection by speech: raw audio with search parameters in the query, or JSON with `audio` as base64, `language` and search parameters; words (`q`) are refused. Words that the transcriber was not sure of, and that no document has, are replaced by indexed words that sound alike; `transcript` has both. It costs 0.5 credits for every 15 seconds begun, and a search, which is not charged if nothing was understood; formats, bounds and refusals are those of a transcription.",
    example: { params: { collectionName: "products" }, body: { audio: QUIET, query_by: "title", per_page: 5 }, headers }
  },
  voiceStream: {
    description:
      "A WebSocket that searches a collection while somebody speaks: the client sends `start` with search parameters, `encoding`, `sample_rate` and `language`, then sound as binary frames or words of its own recogniser as `text`, then `stop`; the server sends `transcript`, `results` and at the end `final`. A refused key, a missing collection or session, and too many streams are answered before the upgrade; later a frame `error` says why, and the stream closes with 4400, 4401, 4402, 4408, 4413 or 4429. It costs 0.5 credits for every 15 seconds of sound begun, one unit of the session, and a search for each time the words changed; at most 25 MB, five minutes, and 15 seconds without a frame.",
    example: { params: { collectionName: "products" }, query: { session_id: "session-1" } }
  }
} as const satisfies Readonly<Record<string, Described>>
