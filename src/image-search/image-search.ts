/**
 * A search by picture is a search like any other, with the caller's key, profile and rules, but its query is the
 * picture's vector. Nearness reveals something about the pictures behind the vectors, so the key must be allowed to
 * see them.
 */
import { Context, Effect, Layer } from "effect"
import type { CollectionInfo } from "@dowser/engine-sdk"
import { type EmbeddingField, embeddingFieldsOf } from "@dowser/engine-sdk/embedding"
import { Reach, resolveCollection } from "@dowser/engine-sdk/operations"
import { seesVectors } from "../embedding/vector-access.ts"
import { ModelBusy, ModelFailed } from "../embedding/errors.ts"
import { declaredOf, makeContexts } from "../engine-plane/engine-plane.ts"
import { reachesNamed } from "../engine-plane/reached.ts"
import { inputInvalid, NotFound } from "../http/errors.ts"
import type { Caller } from "../identity/caller.ts"
import { collectionClosed } from "../identity/reach.ts"
import { restrictionsOf } from "../identity/restrictions.ts"
import { missingAsset } from "../media/storing.ts"
import { AiSpending } from "../metering/ai-spending.ts"
import { CurrentEmbedder } from "../ports/embedder/embedder.ts"
import { CurrentPictureBytes } from "../ports/embedder/pictures.ts"
import { storedNumbers } from "../ports/embedder/stored-numbers.ts"
import { ImageEmbedder } from "../ports/image-embedder/image-embedder.ts"
import type { SearchRequest } from "../search/request.ts"
import { Search } from "../search/search.ts"
import { withMatches } from "./matches.ts"
import type { AskedPicture } from "./read.ts"

const NO_FIELD =
  'The collection has no field that embeds pictures: add one, as `{"name": "look", "type": "float[]", "optional": true, "embed": {"from": ["picture"], "model_config": {"model_name": "dowser/look-alike"}}}`, where `picture` is a field of type `image`, or a text that names an image of the media or its address.'
const RETRY_AFTER_S = 5

/** Computes the vector of the picture; a failure releases the reservation. */
const makeLooked = Effect.gen(function* () {
  const images = yield* ImageEmbedder
  const bytesOf = yield* CurrentPictureBytes
  const read = Effect.fnUntraced(function* (organizationId: string, picture: AskedPicture) {
    if ("bytes" in picture) return picture
    const { mediaId } = picture
    if (!/^med_\w{1,60}$/.test(mediaId)) return yield* missingAsset(mediaId)
    const bytes = yield* Effect.mapError(bytesOf(organizationId, mediaId), ({ kind, message }) =>
      kind === "Invalid" ? missingAsset(mediaId) : new ModelFailed({ message })
    )
    return { bytes, path: "media_id" }
  })
  return Effect.fnUntraced(function* ({ organizationId }: Caller, picture: AskedPicture) {
    const { bytes, path } = yield* read(organizationId, picture)
    const [vector] = yield* Effect.mapError(images.embed(organizationId, [bytes]), ({ kind, message }) =>
      kind === "refused"
        ? inputInvalid(path, message)
        : kind === "busy"
          ? new ModelBusy({ message, retry_after_s: RETRY_AFTER_S })
          : new ModelFailed({ message })
    )
    return vector!
  })
})

const make = Effect.gen(function* () {
  const search = yield* Search
  const spending = yield* AiSpending
  const { isSame } = yield* ImageEmbedder
  const contextOf = yield* makeContexts
  const embedder = yield* CurrentEmbedder
  const looked = yield* makeLooked

  /** The first field that the caller may see together with its source. */
  const fieldFor = (caller: Caller, { schema }: CollectionInfo): EmbeddingField | undefined => {
    const { fields } = new Reach(contextOf(caller.organizationId), restrictionsOf(caller))
    return embeddingFieldsOf(schema).find(
      (each) => embedder?.kindOf(each.model) === "image" && seesVectors(fields, each)
    )
  }

  return {
    answer: Effect.fnUntraced(function* (request: SearchRequest, name: string, picture: AskedPicture) {
      const { caller, shared } = request
      const context = contextOf(caller.organizationId)
      if (!reachesNamed(context, caller, name)) return yield* collectionClosed()
      const collection = resolveCollection(context, name)
      if (collection === undefined) return yield* new NotFound({ message: "Collection not found" })
      const found = fieldFor(caller, collection)
      if (found === undefined) return yield* inputInvalid("collection", NO_FIELD)
      const field = found.field.name
      const stored = (ids: ReadonlyArray<string>) =>
        context.engine.get(caller.organizationId, collection.schema.name, ids, {
          include: ["id", field],
          exclude: [],
          joins: []
        })
      // The picture is processed after credits are reserved, so that a caller who cannot pay causes no cost.
      const searched = Effect.gen(function* () {
        const vector = yield* looked(caller, picture)
        const vector_query = `${field}:([${storedNumbers(vector).join(",")}])`
        const asked = { ...request, shared: { ...shared, q: "*", vector_query }, own: { vector_query } }
        const { text } = yield* search.searchCollection(asked, name)
        const result = yield* Effect.promise(() => withMatches(text, { field, vector, stored, isSame }))
        return result.ok ? ([result.value, 1] as const) : yield* Effect.fail(declaredOf(result.error))
      })
      return yield* spending.spend(caller, "image_search", 1, searched)
    })
  }
})

export class ImageSearch extends Context.Service<ImageSearch, Effect.Success<typeof make>>()(
  "dowser/image-search/ImageSearch"
) {
  static readonly layer = Layer.effect(ImageSearch, make)
}
