/**
 * A voice search is an ordinary search, with the caller's key, profile and rules, whose query is the corrected
 * transcript. If the transcript is empty, no search runs.
 */
import { Context, Effect, Layer } from "effect"
import type { CollectionInfo } from "@dowser/engine-sdk"
import { parseJson, stringifyJson } from "@dowser/engine-sdk/documents"
import { resolveCollection } from "@dowser/engine-sdk/operations"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { reachesNamed } from "../engine-plane/reached.ts"
import { isObject } from "../http/json-fields.ts"
import { NotFound } from "../http/errors.ts"
import { OpenPlaces } from "../http/open-places.ts"
import { collectionClosed } from "../identity/reach.ts"
import type { SearchRequest } from "../search/request.ts"
import { Search } from "../search/search.ts"
import type { AskedSound } from "./read.ts"
import { type Listened, makeSpeech } from "./speech.ts"
import { makeUnderstanding } from "./understanding.ts"

interface Understood {
  readonly text: string
  readonly raw_text: string
}
type AnswerTranscript = Understood & Pick<Listened, "language" | "model">
/** The name under which all streams of the process are counted. */
export const ALL_STREAMS = ""

/** The answer of a search without hits. */
export const nothing = (name: string, perPage = "10"): string =>
  JSON.stringify({
    facet_counts: [],
    found: 0,
    hits: [],
    out_of: 0,
    page: 1,
    request_params: { collection_name: name, per_page: /^\d{1,3}$/.test(perPage) ? Number(perPage) : 10, q: "" },
    search_cutoff: false,
    search_time_ms: 0
  })
const withTranscript = (text: string, transcript: AnswerTranscript): string => {
  const answer = parseJson(text)
  return stringifyJson({ ...(isObject(answer) ? answer : {}), transcript })
}

const make = Effect.gen(function* () {
  const search = yield* Search
  const speech = yield* makeSpeech
  const contextOf = yield* makeContexts
  const { likely, understood } = yield* makeUnderstanding

  /** Searches for the spoken words; `render` writes the text of the answer. */
  const asking = (
    request: SearchRequest,
    name: string,
    collection: CollectionInfo,
    sound: AskedSound,
    render: (answer: string, transcript: AnswerTranscript) => string
  ) =>
    speech.listen(
      request.caller,
      sound,
      ({ language, model, segments }) =>
        Effect.gen(function* () {
          const { raw_text, text } = yield* understood(request, name, collection, segments)
          const transcript = { text, raw_text, language, model }
          if (text === "") return render(nothing(name, request.shared.per_page), transcript)
          const asked = { ...request, shared: { ...request.shared, q: text } }
          return render((yield* search.searchCollection(asked, name)).text, transcript)
        }),
      likely(request, collection)
    )

  return {
    /** Open live streams of this process: all, and by organization, key and session. */ streams: new OpenPlaces(),
    listen: speech.listen,
    open: speech.open,
    decoder: speech.decoder,
    understood,
    likely,
    asking,
    /** The corrected transcript alone. */
    heard: (request: SearchRequest, name: string, collection: CollectionInfo, sound: AskedSound) =>
      speech.listen(
        request.caller,
        sound,
        ({ segments }) => Effect.map(understood(request, name, collection, segments), ({ text }) => text),
        likely(request, collection)
      ),
    answer: Effect.fnUntraced(function* (request: SearchRequest, name: string, sound: AskedSound) {
      const { caller } = request
      const context = contextOf(caller.organizationId)
      if (!reachesNamed(context, caller, name)) return yield* collectionClosed()
      const collection = resolveCollection(context, name)
      if (collection === undefined) return yield* new NotFound({ message: "Collection not found" })
      return yield* asking(request, name, collection, sound, withTranscript)
    })
  }
})

export class VoiceSearch extends Context.Service<VoiceSearch, Effect.Success<typeof make>>()(
  "dowser/voice/VoiceSearch"
) {
  static readonly layer = Layer.effect(VoiceSearch, make)
}
