/**
 * What was said, in the words of the collection, as far as who asks sees them: of each piece the reading that documents
 * speak for, else what was heard first, with words that sound alike in place of doubtful ones.
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

/** Searches for words that were put in, of a caller who sees a part. */
const LOOKS_MAX = 6
/** Of a piece, that are corrected word by word. */
const QUERY_WORDS_MAX = 6
/** Parameters of a search that say what it looks at. */
const SEEN_BY = ["query_by", "filter_by", "profile", "preset"] as const
/** What was said, piece by piece: the words as they were heard, and what else they may have been. */
export type Pieces = ReadonlyArray<Pick<SpokenSegment, "words" | "readings">>
const wordsOf = (pieces: Pieces): ReadonlyArray<SpokenWord> => pieces.flatMap(({ words }) => words)
const rawOf = (words: ReadonlyArray<SpokenWord>): string => words.map(({ text }) => text).join(" ")

/** Whether a word stands in a document that the caller sees. */
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

/** What was heard, in the words of the collection, as far as the caller sees them. */
export const makeUnderstanding = Effect.gen(function* () {
  const search = yield* Search
  const contextOf = yield* makeContexts
  const vocabularies = yield* makeVocabularies
  const vocabularyOf = ({ caller }: Pick<SearchRequest, "caller">, collection: CollectionInfo) =>
    vocabularies.of(caller.organizationId, collection)

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
  const sees = seeing(search)

  /** Of one piece: the reading that documents speak for, else what was heard, with words that sound like it. */
  const piece = Effect.fnUntraced(function* (
    organizationId: string,
    collection: CollectionInfo,
    vocabulary: Vocabulary,
    { readings, words }: Pieces[number]
  ) {
    const chosen = readings === undefined ? undefined : yield* inSlices(choosing(readings, words.length === 0))
    if (chosen !== undefined) return chosen
    // Who says more tells something: words that no document has are as good as others there.
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
    // What a hidden document says must not be heard from here.
    const shown = yield* Effect.forEach(put.slice(0, LOOKS_MAX), sees(caller, name, shared))
    return { text: put.length <= LOOKS_MAX && shown.every((isShown) => isShown) ? text : plain, raw_text }
  })
  return {
    understood,
    /** What a transcriber may listen for. */
    likely: (request: Pick<SearchRequest, "caller">, collection: CollectionInfo) =>
      Effect.map(vocabularyOf(request, collection), (vocabulary) => vocabulary?.likely)
  }
})
