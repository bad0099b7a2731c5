/**
 * Searches with `voice_query` (a WAV file as base64) in place of `q`, in collections that have a `voice_query_model`.
 * Requests that the search itself refuses are passed on unchanged: a wrong key, collection or session, or a collection
 * without a model.
 */
import { Effect, Layer } from "effect"
import type { CollectionInfo } from "@dowser/engine-sdk"
import { parseBounded, parseJson, stringifyJson } from "@dowser/engine-sdk/documents"
import { resolveCollection } from "@dowser/engine-sdk/operations"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { reachesNamed } from "../engine-plane/reached.ts"
import { EngineRefusal } from "../http/errors.ts"
import { isObject } from "../http/json-fields.ts"
import { sessionRefusal } from "../identity/restrictions.ts"
import { Transcriber } from "../ports/transcriber/transcriber.ts"
import type { SearchRequest } from "../search/request.ts"
import { SpokenQueries } from "../search/spoken-queries.ts"
import { type AskedSound, soundOf, soundRefusal } from "./read.ts"
import { nothing, VoiceSearch } from "./voice-search.ts"

/** The organization's own transcriber, or this program's. */
const OWN_TRANSCRIBER = "dowser/transcriber"
/** The most spoken queries of one multi-search. */
const SPOKEN_MAX = 5
const MENTION = '"voice_query"'

const refusal = (message: string) => new EngineRefusal({ message, status: 400 })
const withQuery = (answer: unknown, transcribed_query: string): unknown =>
  isObject(answer)
    ? {
        ...answer,
        request_params: {
          ...(isObject(answer.request_params) ? answer.request_params : {}),
          voice_query: { transcribed_query }
        }
      }
    : answer
/** Undefined if the body is not JSON or is nested too deeply; the search then refuses it with the reason. */
const parsed = (text: string): unknown => {
  const read = parseBounded(text, undefined, parseJson)
  return typeof read === "object" ? read.value : undefined
}

interface Entry {
  readonly at: number
  readonly name: string
  readonly voice_query: string
}
const entriesOf = (searches: ReadonlyArray<unknown>): ReadonlyArray<Entry> =>
  searches.flatMap((entry, at) =>
    isObject(entry) &&
    typeof entry.collection === "string" &&
    typeof entry.voice_query === "string" &&
    entry.voice_query !== "" &&
    // An entry with a key of its own belongs to another caller, whom this request must not charge.
    entry["x-svc-api-key"] === undefined
      ? [{ at, name: entry.collection, voice_query: entry.voice_query }]
      : []
  )

/** Decides which spoken queries are transcribed, and extracts their audio. */
const makeHearing = Effect.gen(function* () {
  const transcriber = yield* Transcriber
  const contextOf = yield* makeContexts
  return {
    /** Undefined if the request should go to the search itself, unchanged. */
    collectionFor: ({ caller }: SearchRequest, name: string): CollectionInfo | undefined => {
      const context = contextOf(caller.organizationId)
      if (!reachesNamed(context, caller, name) || sessionRefusal(caller, { voice_query: "x" }) !== undefined) return
      const collection = resolveCollection(context, name)
      return collection?.schema.voice_query_model === undefined ? undefined : collection
    },
    soundFor: ({ schema }: CollectionInfo, voice_query: string): Effect.Effect<AskedSound, EngineRefusal> => {
      const model = schema.voice_query_model!.model_name
      if (model !== OWN_TRANSCRIBER && model !== transcriber.inUse().name)
        return Effect.fail(
          refusal(`Voice query model \`${model.slice(0, 80)}\` is not there; \`${OWN_TRANSCRIBER}\` is the one in use.`)
        )
      const bytes = soundOf(voice_query)
      const message = bytes === undefined ? "Sound as base64" : soundRefusal(bytes)
      return bytes === undefined || message !== undefined
        ? Effect.fail(refusal(`Parameter \`voice_query\` cannot be heard: ${message}.`))
        : Effect.succeed({ bytes, path: "voice_query", language: undefined })
    }
  }
})

/** The entries with the transcript as `q` in place of `voice_query`. */
const written = (searches: ReadonlyArray<unknown>, heard: ReadonlyMap<number, string>): ReadonlyArray<unknown> =>
  searches.map((entry, at) => {
    const q = heard.get(at)
    if (q === undefined || !isObject(entry)) return entry
    const { voice_query: _, ...others } = entry
    return { ...others, q }
  })
/** The answer with the transcripts added; a result whose transcript is empty has no hits. */
const withTranscripts = (answer: string, spoken: ReadonlyArray<Entry>, heard: ReadonlyMap<number, string>): string => {
  const all = parsed(answer)
  if (!isObject(all) || !Array.isArray(all.results)) return answer
  const names = new Map(spoken.map(({ at, name }) => [at, name]))
  const results = (all.results as ReadonlyArray<unknown>).map((result, at) => {
    const q = heard.get(at)
    if (q === undefined) return result
    return withQuery(q === "" ? parsed(nothing(names.get(at)!)) : result, q)
  })
  return stringifyJson({ ...all, results })
}

const make = Effect.gen(function* () {
  const voice = yield* VoiceSearch
  const { collectionFor, soundFor } = yield* makeHearing

  const spokenOne: SpokenQueries["Service"]["one"] = (request, name, search) =>
    Effect.gen(function* () {
      const { voice_query = "", ...shared } = request.shared
      const collection = collectionFor(request, name)
      if (collection === undefined) return yield* search(request, name)
      const sound = yield* soundFor(collection, voice_query)
      const text = yield* voice.asking({ ...request, shared }, name, collection, sound, (answer, { text: q }) =>
        stringifyJson(withQuery(parsed(answer), q))
      )
      return { text, failures: [] }
    })
  /** All queries are transcribed before the search runs. */
  const spokenMany: SpokenQueries["Service"]["many"] = (request, body, search) =>
    Effect.gen(function* () {
      const asked = parsed(body)
      const searches = isObject(asked) && Array.isArray(asked.searches) ? (asked.searches as Array<unknown>) : []
      const spoken = entriesOf(searches).flatMap((entry) => {
        const collection = collectionFor(request, entry.name)
        return collection === undefined ? [] : [{ ...entry, collection }]
      })
      if (spoken.length === 0) return yield* search(request, body)
      if (spoken.length > SPOKEN_MAX) return yield* refusal(`At most ${SPOKEN_MAX} searches may be spoken.`)
      const heard = new Map<number, string>()
      for (const { at, collection, name, voice_query } of spoken)
        heard.set(at, yield* voice.heard(request, name, collection, yield* soundFor(collection, voice_query)))
      const { failures, text } = yield* search(
        request,
        stringifyJson({ ...(asked as object), searches: written(searches, heard) })
      )
      return { failures, text: withTranscripts(text, spoken, heard) }
    })
  // Nearly every search is typed and must not be parsed here.
  return SpokenQueries.of({
    one: (request, name, search) =>
      (request.shared.voice_query ?? "") === "" ? search(request, name) : spokenOne(request, name, search),
    many: (request, body, search) =>
      body.includes(MENTION) ? spokenMany(request, body, search) : search(request, body)
  })
})

export const layerSpokenQueries = Layer.effect(SpokenQueries, make)
