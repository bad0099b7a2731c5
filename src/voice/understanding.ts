/**
 * Turns a transcript into a query in the words of the collection, limited to what the caller may see. For each piece it
 * takes the reading that documents support; without one, it takes the first transcript and corrects doubtful words.
 */
import { Effect } from "effect"
import type { CollectionInfo } from "@dowser/engine-sdk"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import type { Caller } from "../identity/caller.ts"
import { restrictionsOf } from "../identity/restrictions.ts"
import { sourcesOf } from "../embedding/own-field.ts"
import type { SpokenSegment, SpokenWord } from "../ports/transcriber/transcriber.ts"
import type { SearchRequest } from "../search/request.ts"
import { Search } from "../search/search.ts"
import { inSlices } from "../suggestions/typeahead/sliced.ts"
import { seesWhole } from "../suggestions/sees-whole.ts"
import { choosing } from "./choice.ts"
import { correcting, doubtful, plainQuery } from "./correction.ts"
import { makeVocabularies } from "./vocabularies.ts"
import type { Vocabulary } from "./vocabulary.ts"

/** The most searches that check replaced words for a caller who sees only some documents. */
const LOOKS_MAX = 6
/** A piece with more words is not corrected word by word. */
const QUERY_WORDS_MAX = 6
/** Search parameters that decide which documents and fields are searched. */
const SEEN_BY = ["query_by", "filter_by", "profile", "preset"] as const
/** A transcript in pieces: the likeliest words of each, and alternative readings. */
export type Pieces = ReadonlyArray<Pick<SpokenSegment, "words" | "readings">>
const wordsOf = (pieces: Pieces): ReadonlyArray<SpokenWord> => pieces.flatMap(({ words }) => words)
const rawOf = (words: ReadonlyArray<SpokenWord>): string => words.map(({ text }) => text).join(" ")

/** Whether a document that the caller may see contains a word. */
const seeing =
  (search: Search["Service"]) =>
  (caller: Caller, collection: string, shared: SearchRequest["shared"]) =>
  (word: string) =>
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

export const makeUnderstanding = Effect.gen(function* () {
  const search = yield* Search
  const contextOf = yield* makeContexts
  const vocabularies = yield* makeVocabularies
  const vocabularyOf = ({ caller }: Pick<SearchRequest, "caller">, collection: CollectionInfo) =>
    vocabularies.of(caller.organizationId, collection)

  /** Which words the collection contains. The vocabulary is bounded and may lack some of them. */
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
  const sees = seeing(search)

  /** The query for one piece. */
  const piece = Effect.fnUntraced(function* (
    organizationId: string,
    collection: CollectionInfo,
    vocabulary: Vocabulary,
    { readings, words }: Pieces[number]
  ) {
    const chosen = readings === undefined ? undefined : yield* inSlices(choosing(readings, words.length === 0))
    if (chosen !== undefined) return chosen
    // A longer piece is a sentence, in which words that no document contains are normal.
    if (words.length > QUERY_WORDS_MAX) return plainQuery(words)
    const more = yield* indexed(organizationId, collection, doubtful(words, vocabulary))
    const lexicon = {
      has: (word: string) => vocabulary.has(word) || more.has(word),
      nearest: (word: string, least: number) => vocabulary.nearest(word, least)
    }
    return (yield* inSlices(correcting(words, lexicon))).text
  })
  const understood = Effect.fnUntraced(function* (
    request: SearchRequest,
    name: string,
    collection: CollectionInfo,
    pieces: Pieces
  ) {
    const { caller, shared } = request
    const words = wordsOf(pieces)
    const raw_text = rawOf(words)
    const plain = plainQuery(words)
    const isNothing = plain === "" && pieces.every(({ readings }) => readings === undefined)
    const vocabulary = isNothing ? undefined : yield* vocabularyOf(request, collection)
    if (vocabulary === undefined) return { text: plain, raw_text }
    const texts = yield* Effect.forEach(pieces, (each) => piece(caller.organizationId, collection, vocabulary, each))
    const text = texts.filter((each) => each !== "").join(" ")
    const known = new Set(plain.split(" "))
    const put = [...new Set(text.split(" "))].filter((word) => !known.has(word))
    if (put.length === 0 || seesWhole(caller)) return { text, raw_text }
    // A correction must not reveal words that only hidden documents contain.
    const shown = yield* Effect.forEach(put.slice(0, LOOKS_MAX), sees(caller, name, shared))
    return { text: put.length <= LOOKS_MAX && shown.every((isShown) => isShown) ? text : plain, raw_text }
  })
  return {
    understood,
    /** What visitors are likely to say, as a hint for the transcriber. */
    likely: (request: Pick<SearchRequest, "caller">, collection: CollectionInfo) =>
      Effect.map(vocabularyOf(request, collection), (vocabulary) => vocabulary?.likely)
  }
})
