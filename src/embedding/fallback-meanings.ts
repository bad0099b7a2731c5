/**
 * What a query means, for a search that found nothing (`zero_hits_fallback: "semantic"`): the vector to look near, by
 * the collection's first field of texts that the caller sees whole, or by the vectors beside its schema where a
 * semantic search made them. The search waits for it as for a part of its own: a moment at most.
 */
import { Context, Effect, Layer, Semaphore } from "effect"
import type { CollectionInfo } from "@dowser/engine-sdk"
import { type EmbeddingField, embeddingFieldsOf, embedQuery, OWN_VECTORS } from "@dowser/engine-sdk/embedding"
import { resolveCollection } from "@dowser/engine-sdk/operations"
import type { MeaningAsked, MerchandiseEnvironment } from "@dowser/engine-sdk/pipeline"
import { covers } from "@dowser/engine-sdk/query"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import type { CatalogResources } from "../engine-plane/resources.ts"
import type { Entitlements } from "../metering/entitlements.ts"
import { CurrentEmbedder } from "../ports/embedder/embedder.ts"
import type { Engine } from "../ports/engine/engine.ts"
import { languageOf } from "../understanding/language.ts"

type Meaning = Awaited<ReturnType<NonNullable<MerchandiseEnvironment["meaning"]>>>
/** Several times what this program's own model takes for a query. */
const WITHIN_MS = 300
const CHARACTERS_MAX = 500
/** All that a page can reach. */
const NEAREST = 250
/** Cosine distance; farther is not what was meant. */
const DISTANCE_MAX = 0.7
/** Beyond, those who find nothing get nothing: a search never waits in a line for it. */
const AT_ONCE_MAX = 32

const seenBy = ({ field, from }: EmbeddingField, fields: MeaningAsked["fields"]): boolean =>
  fields === undefined ||
  (from.every((name) => covers(fields, name)) && (field.name === OWN_VECTORS || covers(fields, field.name)))

export class FallbackMeanings extends Context.Service<
  FallbackMeanings,
  { readonly meaning: (organizationId: string, asked: MeaningAsked) => Promise<Meaning> }
>()("dowser/embedding/FallbackMeanings") {
  static readonly layer: Layer.Layer<FallbackMeanings, never, CatalogResources | Engine | Entitlements> = Layer.effect(
    FallbackMeanings,
    Effect.gen(function* () {
      const contextOf = yield* makeContexts
      const embedder = yield* CurrentEmbedder
      const places = yield* Semaphore.make(AT_ONCE_MAX)
      const services = yield* Effect.context<never>()
      /** A model is never asked in a language that it does not read. */
      const reads = async ({ model }: EmbeddingField, { schema }: CollectionInfo, q: string): Promise<boolean> => {
        const known = embedder?.models().find(({ name }) => name === model.model_name)
        if (known === undefined) return true
        const locale = schema.fields.find(({ type }) => type === "string")?.locale ?? ""
        const language = await languageOf(q, q.split(/\s+/), locale)
        return language === undefined || known.languages.includes(language)
      }
      const vectorOf = async (
        organizationId: string,
        { collection: name, fields, q }: MeaningAsked
      ): Promise<Meaning> => {
        const collection = resolveCollection(contextOf(organizationId), name)
        if (collection === undefined || embedder === undefined) return undefined
        const field = embeddingFieldsOf(collection.schema).find(
          (each) => embedder.kindOf(each.model) === "text" && seenBy(each, fields)
        )
        const text = q.slice(0, CHARACTERS_MAX)
        if (field === undefined || !(await reads(field, collection, text))) return undefined
        const query = { texts: [text], weights: [], timeout_ms: WITHIN_MS, tries: 1 }
        const made = await embedQuery(embedder, organizationId, collection, field.field, query)
        if (!made.ok) return undefined
        return {
          field: field.field.name,
          vector: made.value,
          k: NEAREST,
          alpha: 1,
          distanceThreshold: DISTANCE_MAX,
          flatSearchCutoff: 0,
          ef: NEAREST,
          rerankHybridMatches: false
        }
      }
      return FallbackMeanings.of({
        meaning: (organizationId, asked) =>
          Effect.runPromiseWith(services)(
            Effect.promise(() => vectorOf(organizationId, asked)).pipe(
              Effect.timeoutOrElse({ duration: WITHIN_MS, orElse: () => Effect.succeed(undefined) }),
              places.withPermitsIfAvailable(1),
              Effect.map((made) => (made._tag === "Some" ? made.value : undefined))
            )
          )
      })
    })
  )
}
