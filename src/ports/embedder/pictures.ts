/**
 * Vectors of images for fields: a document's reference is resolved to bytes, which are embedded. An image that many
 * documents share is processed once; an image that cannot be obtained or read does not affect the others.
 */
import { createHash } from "node:crypto"
import { Context, Effect } from "effect"
import { BoundedMap } from "@dowser/engine-sdk/host"
import { type EngineError, fail, ok } from "@dowser/engine-sdk"
import type { EmbeddedInput } from "@dowser/engine-sdk/embedding"
import { storedNumbers } from "./stored-numbers.ts"
import type { ImageEmbedder } from "../image-embedder/image-embedder.ts"
import type { ImageFailure } from "../image-process/image-process.ts"

/** The bytes of the image that `source` contains or names, of this organization; or why there are none. */
export type PictureBytes = (organizationId: string, source: string) => Effect.Effect<Uint8Array, EngineError>
/** The image reader of this process; without media there is none. */
export const CurrentPictureBytes = Context.Reference<PictureBytes>("dowser/ports/CurrentPictureBytes", {
  defaultValue: () => () => Effect.fail({ kind: "Invalid", message: "This installation has no media." })
})
export interface Pictures {
  readonly model: Pick<ImageEmbedder["Service"], "model" | "embed">
  readonly bytesOf: PictureBytes
}

/** Images fetched concurrently per write; they take turns behind the port. */
const AT_ONCE_MAX = 4
const RETRY_AFTER_S = 5
/** Room for the vectors of about 5,000 images. */
const CACHE_BYTES = 10_000_000

const failureOf = ({ kind, message }: ImageFailure): EngineError =>
  kind === "refused"
    ? { kind: "Invalid", message }
    : kind === "busy"
      ? { kind: "Overloaded", message, retryAfterSeconds: RETRY_AFTER_S }
      : { kind: "Unavailable", message, isThere: true }

export class PictureVectors {
  readonly #pictures: Pictures
  /** By organization and hash of the bytes, so that response times reveal nothing about the images of others. */
  readonly #known = new BoundedMap<string, ReadonlyArray<number>>({
    bytes_max: CACHE_BYTES,
    bytesOf: (key, vector) => 2 * key.length + 8 * vector.length
  })
  constructor(pictures: Pictures) {
    this.#pictures = pictures
  }
  get model() {
    return this.#pictures.model.model
  }

  /** One result per source, in order. */
  readonly embed = Effect.fnUntraced(
    function* (this: PictureVectors, organizationId: string, sources: ReadonlyArray<string>) {
      const made = new Map<string, EmbeddedInput>()
      yield* Effect.forEach(
        new Set(sources),
        (source) => Effect.map(this.#one(organizationId, source), (vector) => made.set(source, vector)),
        { concurrency: AT_ONCE_MAX, discard: true }
      )
      return sources.map((source) => made.get(source)!)
    }.bind(this)
  )
  #one(organizationId: string, source: string): Effect.Effect<EmbeddedInput> {
    const looked = Effect.flatMap(this.#pictures.bytesOf(organizationId, source), (bytes) => {
      const key = `${organizationId} ${createHash("sha256").update(bytes).digest("base64")}`
      const known = this.#known.get(key)
      if (known !== undefined) return Effect.succeed(known)
      return Effect.matchEffect(this.#pictures.model.embed(organizationId, [bytes]), {
        onFailure: (failure) => Effect.fail(failureOf(failure)),
        onSuccess: ([vector]) => {
          const numbers = storedNumbers(vector!)
          this.#known.set(key, numbers)
          return Effect.succeed(numbers)
        }
      })
    })
    return Effect.match(looked, { onFailure: (error): EmbeddedInput => fail(error), onSuccess: ok })
  }
}
