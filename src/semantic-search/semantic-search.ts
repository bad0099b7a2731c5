/**
 * A search by meaning is a search like any other, with the caller's key, profile and rules, plus a vector query. It
 * uses only words if the model cannot read the query, or if the key may not see everything that the vectors are
 * computed from, because similarity would reveal it.
 */
import { Context, Effect, Layer, Option } from "effect"
import type { EmbeddingField, ModelConfig } from "@dowser/engine-sdk/embedding"
import { Reach, resolveCollection } from "@dowser/engine-sdk/operations"
import { covers } from "@dowser/engine-sdk/query"
import type { CollectionInfo } from "@dowser/engine-sdk"
import { Engine } from "../ports/engine/engine.ts"
import { CurrentEmbedder } from "../ports/embedder/embedder.ts"
import { modelReads, seesVectors, words } from "../embedding/vector-access.ts"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { reachesNamed } from "../engine-plane/reached.ts"
import { NotFound } from "../http/errors.ts"
import { collectionClosed } from "../identity/reach.ts"
import { restrictionsOf } from "../identity/restrictions.ts"
import { AiSpending } from "../metering/ai-spending.ts"
import { SearchProfiles } from "../profiles/search-profiles.ts"
import { alphaOfWeight } from "../search/by-meaning.ts"
import { Search } from "../search/search.ts"
import { actingManifest } from "../profiles/acting-profile.ts"
import type { SearchRequest } from "../search/request.ts"
import { sourcesOf } from "../embedding/own-field.ts"
import { LSA_NAME } from "../ports/text-embedder/lsa/model.ts"
import type { FilledField } from "./not-ready.ts"
import { OwnVectors } from "./own-vectors.ts"

interface UsedEmbedder {
  readonly name: string
  readonly embedded: boolean
  readonly used: boolean
}
/**
 * The weight of meaning: half that of words. On judged queries nDCG@10 by words and with this fusion is .414 and .430
 * (Cranfield), .539 and .572 (CACM), .806 and .822 (a catalogue of electronics); weights from .3 to .7 change the first
 * two by .004 and .011 (`bench -- relevance --embedder minilm`).
 */
const ALPHA = 0.333
/**
 * For a model trained on the collection: a tenth of the weight of words, and half for prose. By words and with this
 * fusion, nDCG@10 is .414 and .424 (Cranfield), .941 and .947, .964 and .965, .940 and .946 (passages of encyclopedias
 * in German, Spanish and Arabic), .539 and .538 (CACM, mostly titles), .806 and .806 (a catalogue)
 * (`bench -- relevance --embedder lsa`).
 */
const ALPHA_TRAINED = 0.091,
  ALPHA_TRAINED_PROSE = 0.333
/**
 * Average length of a document: the passages have 700 to 1,100 characters, titles of papers with some abstracts 350.
 */
const PROSE_CHARACTERS = 500
const alphaOf = ({ model }: EmbeddingField, weight: number): number => {
  if (weight > 0) return alphaOfWeight(weight)
  if (!isTrained(model)) return ALPHA
  return typeof model.characters === "number" && model.characters >= PROSE_CHARACTERS
    ? ALPHA_TRAINED_PROSE
    : ALPHA_TRAINED
}
/** Tokens that mark the beginning and end of a text. */
const FRAME_TOKENS = 2

const isTrained = ({ model_name }: ModelConfig): boolean => model_name === LSA_NAME

/** How a collection's model tokenizes a query. */
const makeReading = Effect.map(CurrentEmbedder, (embedder) => {
  /**
   * Whether the model reads every word of the query as one token: then none of them is a typo, whatever the catalogue's
   * words are, and meaning is more informative than a similarly spelled word. The vector is cached for the search.
   */
  const isSpelt = Effect.fnUntraced(function* (organizationId: string, { model }: EmbeddingField, q: string) {
    if (embedder?.isEmbedded(model) !== true || isTrained(model)) return false
    const made = yield* Effect.option(embedder.vectors(organizationId, model, [q]))
    return Option.isSome(made) && made.value.inputTokens === words(q).length + FRAME_TOKENS
  })
  /** A model trained on the collection knows its content, but nothing about other queries. */
  const isRead = Effect.fnUntraced(function* (
    organizationId: string,
    collection: CollectionInfo,
    field: EmbeddingField,
    q: string
  ) {
    if (!isTrained(field.model)) return yield* Effect.promise(() => modelReads(embedder, field, collection, q))
    if (embedder === undefined) return false
    const made = yield* Effect.option(embedder.vectors(organizationId, field.model, [q]))
    return Option.isSome(made) && made.value.inputTokens > 0
  })
  return { isRead, isSpelt }
})

/** Turns a request into a search by words and by meaning. */
const makeByMeaning = Effect.gen(function* () {
  const profiles = yield* SearchProfiles
  const contextOf = yield* makeContexts
  const { isRead, isSpelt } = yield* makeReading
  const ranksByRelevance = (yield* Engine).capabilities().grades.text_score_values !== "none"

  const sees = (field: EmbeddingField, request: SearchRequest): boolean =>
    seesVectors(new Reach(contextOf(request.caller.organizationId), restrictionsOf(request.caller)).fields, field)
  const hasProfile = ({ caller, shared }: SearchRequest, collection: CollectionInfo): boolean =>
    (shared.profile ?? "") !== "" ||
    caller.profile !== undefined ||
    profiles.defaultOf(caller.organizationId, collection) !== undefined
  /** The weight that the request's profile chose. */
  const weightOf = ({ caller, shared }: SearchRequest, collection: CollectionInfo): number => {
    const name = caller.profile?.name ?? shared.profile ?? ""
    const profile =
      name === ""
        ? (shared.query_by ?? "") === ""
          ? profiles.defaultOf(caller.organizationId, collection)
          : undefined
        : profiles.get(caller.organizationId, collection, name)
    return profile === undefined ? 0 : (actingManifest(profile).meaning?.weight ?? 0)
  }
  /** Used if neither the request nor a profile says how to rank words. */
  const ranking = (request: SearchRequest, collection: CollectionInfo): Readonly<Record<string, string>> =>
    request.shared.ranking !== undefined || !ranksByRelevance || hasProfile(request, collection)
      ? {}
      : { ranking: "relevance" }
  /** The fields searched for words if neither the request nor a profile says. */
  const queryBy = (request: SearchRequest, collection: CollectionInfo): Readonly<Record<string, string>> => {
    const { caller, shared } = request
    if ((shared.query_by ?? "") !== "" || hasProfile(request, collection)) return {}
    const { fields } = new Reach(contextOf(caller.organizationId), restrictionsOf(caller))
    const names = sourcesOf(collection.schema).filter((name) => fields === undefined || covers(fields, name))
    return { query_by: names.join(",") }
  }

  /** Adds the fields searched for words, their ranking, and the vector query if the caller may use the field. */
  return Effect.fnUntraced(function* (
    request: SearchRequest,
    collection: CollectionInfo,
    filled: FilledField | undefined
  ) {
    const { caller, shared } = request
    const { q = "" } = shared
    const own: Record<string, string> = {}
    const used =
      filled !== undefined &&
      filled.isFilled &&
      sees(filled.field, request) &&
      (yield* isRead(caller.organizationId, collection, filled.field, q))
    if (used)
      own.vector_query = `${filled.field.field.name}:([], alpha: ${alphaOf(filled.field, weightOf(request, collection))})`
    if (used && shared.num_typos === undefined && (yield* isSpelt(caller.organizationId, filled.field, q)))
      own.num_typos = "0"
    const asked: SearchRequest = {
      ...request,
      shared: { ...shared, ...ranking(request, collection), ...queryBy(request, collection), ...own },
      own
    }
    return { asked, used }
  })
})

const make = Effect.gen(function* () {
  const search = yield* Search
  const vectors = yield* OwnVectors
  const spending = yield* AiSpending
  const contextOf = yield* makeContexts
  const embedder = yield* CurrentEmbedder
  const byMeaning = yield* makeByMeaning

  return {
    /** Also searches by meaning if the collection has vectors already; starts nothing otherwise. */
    withMeaning: Effect.fnUntraced(function* (request: SearchRequest, collection: CollectionInfo) {
      const known = yield* vectors.known(request.caller.organizationId, collection)
      return (yield* byMeaning(request, collection, known)).asked
    }),
    answer: Effect.fnUntraced(function* (request: SearchRequest, name: string) {
      const { caller } = request
      const context = contextOf(caller.organizationId)
      if (!reachesNamed(context, caller, name)) return yield* collectionClosed()
      const collection = resolveCollection(context, name)
      if (collection === undefined) return yield* new NotFound({ message: "Collection not found" })
      const filled = yield* vectors.of(caller.organizationId, collection)
      const { model } = filled.field
      const searched = Effect.gen(function* () {
        const { asked, used } = yield* byMeaning(request, collection, filled)
        const { text } = yield* search.searchCollection(asked, name)
        return [{ text, used }, 1] as const
      })
      const { text, used } = yield* spending.spend(caller, "semantic_search", 1, searched)
      const usedEmbedder: UsedEmbedder = {
        name: String(model.model_name),
        embedded: embedder?.isEmbedded(model) ?? false,
        used
      }
      return `${text.slice(0, -1)},"embedder":${JSON.stringify(usedEmbedder)}}`
    })
  }
})

export class SemanticSearch extends Context.Service<SemanticSearch, Effect.Success<typeof make>>()(
  "dowser/semantic-search/SemanticSearch"
) {
  static readonly layer = Layer.provideMerge(Layer.effect(SemanticSearch, make), OwnVectors.layer)
}
