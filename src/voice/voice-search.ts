/**
 * A voice search is a search like any other, with the caller's key, profile and rules, whose query is what was
 * understood. Where nothing was, nothing is searched.
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
import type { Caller } from "../identity/caller.ts"
import { collectionClosed } from "../identity/reach.ts"
import { restrictionsOf } from "../identity/restrictions.ts"
import { sourcesOf } from "../embedding/own-field.ts"
import type { SpokenWord } from "../ports/transcriber/transcriber.ts"
import type { SearchRequest } from "../search/request.ts"
import { Search } from "../search/search.ts"
import { inSlices } from "../suggestions/typeahead/sliced.ts"
import { seesWhole } from "../suggestions/sees-whole.ts"
import { correcting, doubtful, plainQuery } from "./correction.ts"
import type { AskedSound } from "./read.ts"
import { type Listened, makeSpeech } from "./speech.ts"
import { makeVocabularies } from "./vocabularies.ts"

interface Understood {
  readonly text: string
  readonly raw_text: string
}
type Told = Understood & Pick<Listened, "language" | "model">
/** Searches for words that were put in, of a caller who sees a part. */
const LOOKS_MAX = 6
/** Parameters of a search that say what it looks at. */
const SEEN_BY = ["query_by", "filter_by", "profile", "preset"] as const
const wordsOf = ({ segments }: Listened): ReadonlyArray<SpokenWord> => segments.flatMap(({ words }) => words)
const rawOf = (words: ReadonlyArray<SpokenWord>): string => words.map(({ text }) => text).join(" ")

/** What all of them are counted by. */
export const ALL_STREAMS = ""

/** As a search answers that finds nothing. */
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
const withTranscript = (text: string, transcript: Told): string => {
  const answer = parseJson(text)
  return stringifyJson({ ...(isObject(answer) ? answer : {}), transcript })
}

/** What was heard, in the words of the collection, as far as the caller sees them. */
const makeUnderstanding = Effect.gen(function* () {
  const search = yield* Search
  const contextOf = yield* makeContexts
  const vocabularies = yield* makeVocabularies

  /** Of words that were not among those that are kept: the collection may have more. */
  const indexed = Effect.fnUntraced(function* (
    organizationId: string,
    { schema }: CollectionInfo,
    words: ReadonlyArray<string>
  ) {
    const { engine } = contextOf(organizationId)
    if (words.length === 0 || engine.words === undefined) return new Set<string>()
    const asked = { collection: schema.name, fields: sourcesOf(schema), words }
    const uses = yield* Effect.promise(async () => engine.words!(organizationId, asked))
    return new Set(uses.ok ? words.filter((_, at) => uses.value[at]?.isIndexed === true) : words)
  })
  const sees = (caller: Caller, collection: string, shared: SearchRequest["shared"]) => (word: string) =>
    Effect.map(
      Effect.promise((signal) =>
        search.rank({
          organizationId: caller.organizationId,
          collection,
          parameters: {
            ...Object.fromEntries(
              SEEN_BY.flatMap((name) => (shared[name] === undefined ? [] : [[name, shared[name]]]))
            ),
            q: word,
            num_typos: "0",
            prefix: "false",
            drop_tokens_threshold: "0",
            ...(caller.profile === undefined ? {} : { profile: caller.profile.name })
          },
          depth: 1,
          signal,
          restrictions: restrictionsOf(caller),
          isUnruled: true
        })
      ),
      (found) => found.ok && found.value.length > 0
    )

  return Effect.fnUntraced(function* (
    { caller, shared }: SearchRequest,
    name: string,
    collection: CollectionInfo,
    words: ReadonlyArray<SpokenWord>
  ) {
    const raw_text = rawOf(words)
    const plain = plainQuery(words)
    const vocabulary = plain === "" ? undefined : yield* vocabularies.of(caller.organizationId, collection)
    if (vocabulary === undefined) return { text: plain, raw_text }
    const more = yield* indexed(caller.organizationId, collection, doubtful(words, vocabulary))
    const lexicon = {
      has: (word: string) => vocabulary.has(word) || more.has(word),
      nearest: (word: string, least: number) => vocabulary.nearest(word, least)
    }
    const { put, text } = yield* inSlices(correcting(words, lexicon))
    if (put.length === 0 || seesWhole(caller)) return { text, raw_text }
    // What a hidden document says must not be heard from here.
    const shown = yield* Effect.forEach(put.slice(0, LOOKS_MAX), sees(caller, name, shared))
    return { text: put.length <= LOOKS_MAX && shown.every((isShown) => isShown) ? text : plain, raw_text }
  })
})

const make = Effect.gen(function* () {
  const search = yield* Search
  const speech = yield* makeSpeech
  const contextOf = yield* makeContexts
  const understood = yield* makeUnderstanding

  /** Searches for what is said; `told` writes the answer's text. */
  const asking = (
    request: SearchRequest,
    name: string,
    collection: CollectionInfo,
    sound: AskedSound,
    told: (answer: string, transcript: Told) => string
  ) =>
    speech.listen(request.caller, sound, (listened) =>
      Effect.gen(function* () {
        const { language, model } = listened
        const { raw_text, text } = yield* understood(request, name, collection, wordsOf(listened))
        const transcript = { text, raw_text, language, model }
        if (text === "") return told(nothing(name, request.shared.per_page), transcript)
        const asked = { ...request, shared: { ...request.shared, q: text } }
        return told((yield* search.searchCollection(asked, name)).text, transcript)
      })
    )

  return {
    /** Live ones of this process, all of them and by whose they are. */ streams: new OpenPlaces(),
    listen: speech.listen,
    open: speech.open,
    decoder: speech.decoder,
    understood,
    asking,
    /** What was said, in the words of the collection. */
    heard: (request: SearchRequest, name: string, collection: CollectionInfo, sound: AskedSound) =>
      speech.listen(request.caller, sound, (listened) =>
        Effect.map(understood(request, name, collection, wordsOf(listened)), ({ text }) => text)
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
