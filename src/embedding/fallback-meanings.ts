/**
 * The meaning of a query for a search that found nothing (`zero_hits_fallback: "semantic"`): the vector to search
 * near, from the collection's first text embedding field whose sources the caller sees completely, or from the
 * vectors outside its schema. The search waits for it only for a moment. Without a vector, for whatever reason,
 * nothing is found, as without the fallback.
 */
import { Context, Effect, Layer, Option, Semaphore } from "effect"
import { type EmbeddingField, embeddingFieldsOf, embedQuery } from "@dowser/engine-sdk/embedding"
import { resolveCollection } from "@dowser/engine-sdk/operations"
import type { MeaningAsked, MerchandiseEnvironment } from "@dowser/engine-sdk/pipeline"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import type { CatalogResources } from "../engine-plane/resources.ts"
import type { Entitlements } from "../metering/entitlements.ts"
import { CurrentEmbedder, type Embeddings } from "../ports/embedder/embedder.ts"
import { LSA_NAME } from "../ports/text-embedder/lsa/model.ts"
import type { Engine } from "../ports/engine/engine.ts"
import { OrganizationLines } from "../ports/organization-lines.ts"
import { modelReads, seesVectors } from "./vector-access.ts"

type Meaning = Awaited<ReturnType<NonNullable<MerchandiseEnvironment["meaning"]>>>
/** Several times what this program's own model needs for a query. */
const WITHIN_MS = 300
const CHARACTERS_MAX = 500
/** As many documents as paging can reach. */
const NEAREST = 250
/** Cosine distance; documents farther away do not match the meaning. */
const DISTANCE_MAX = 0.7
/**
 * Limits per organization and in total; beyond them, searches get no fallback. A search never queues for it, and one
 * organization leaves room for others.
 */
const OF_ONE_MAX = 4,
  OF_ALL_MAX = 32

/**
 * A model trained on the collection cannot distinguish similar words from similar meanings: if no word is found, its
 * nearest documents are guesses.
 */
const distinguishesMeaning = (embedder: Embeddings, { model }: EmbeddingField): boolean =>
  embedder.kindOf(model) === "text" && model.model_name !== LSA_NAME

export class FallbackMeanings extends Context.Service<
  FallbackMeanings,
  {
    readonly meaning: (organizationId: string, asked: MeaningAsked) => Promise<Meaning>
    /** The field to fuse with words, once the query's vector is computed and cached for the search. */
    readonly near: (organizationId: string, asked: MeaningAsked) => Promise<string | undefined>
  }
>()("dowser/embedding/FallbackMeanings") {
  static readonly layer: Layer.Layer<FallbackMeanings, never, CatalogResources | Engine | Entitlements> = Layer.effect(
    FallbackMeanings,
    Effect.gen(function* () {
      const contextOf = yield* makeContexts
      const embedder = yield* CurrentEmbedder
      const lines = new OrganizationLines(OF_ONE_MAX)
      const places = yield* Semaphore.make(OF_ALL_MAX)
      const services = yield* Effect.context<never>()
      /** Takes the entire `q`, because a shortened one has a different vector. */
      const madeOf = async (
        organizationId: string,
        { collection: name, fields, q }: MeaningAsked,
        isSuitable: (models: Embeddings, field: EmbeddingField) => boolean
      ) => {
        const collection = resolveCollection(contextOf(organizationId), name)
        if (collection === undefined || embedder === undefined) return undefined
        const field = embeddingFieldsOf(collection.schema).find(
          (each) => isSuitable(embedder, each) && seesVectors(fields, each)
        )
        if (field === undefined || !(await modelReads(embedder, field, collection, q))) return undefined
        const query = { texts: [q], weights: [], timeout_ms: WITHIN_MS, tries: 1 }
        const made = await embedQuery(embedder, organizationId, collection, field.field, query)
        return made.ok ? { name: field.field.name, vector: made.value } : undefined
      }
      const vectorOf = async (organizationId: string, asked: MeaningAsked): Promise<Meaning> => {
        const made = await madeOf(
          organizationId,
          { ...asked, q: asked.q.slice(0, CHARACTERS_MAX) },
          distinguishesMeaning
        )
        if (made === undefined) return undefined
        return {
          field: made.name,
          vector: made.vector,
          k: NEAREST,
          alpha: 1,
          distanceThreshold: DISTANCE_MAX,
          flatSearchCutoff: 0,
          ef: NEAREST,
          rerankHybridMatches: false
        }
      }
      const nearOf = async (organizationId: string, asked: MeaningAsked): Promise<string | undefined> =>
        asked.q.length > CHARACTERS_MAX
          ? undefined
          : (await madeOf(organizationId, asked, (models, { model }) => models.kindOf(model) === "text"))?.name
      const soon = <A>(organizationId: string, made: () => Promise<A | undefined>) =>
        Effect.runPromiseWith(services)(
          Effect.promise(made).pipe(
            Effect.timeoutOrElse({ duration: WITHIN_MS, orElse: () => Effect.succeed(undefined) }),
            places.withPermitsIfAvailable(1),
            lines.of(organizationId).withPermitsIfAvailable(1),
            Effect.map((found) => Option.getOrUndefined(Option.flatten(found)))
          )
        )
      return FallbackMeanings.of({
        meaning: (organizationId, asked) => soon(organizationId, () => vectorOf(organizationId, asked)),
        near: (organizationId, asked) => soon(organizationId, () => nearOf(organizationId, asked))
      })
    })
  )
}
