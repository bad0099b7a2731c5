/**
 * Images to vectors. The port promises a vector for each image, in order, of unit length and with the model's number of
 * dimensions; images that look alike have close vectors. Vectors of another model are not comparable.
 */
import { Context, type Effect } from "effect"
import type { ImageFailure } from "../image-process/image-process.ts"

interface ImageModel {
  /** The name in a schema: `dowser/look-alike`. */ readonly name: string
  readonly dimensions: number
  /** Version of its method: vectors of another version are not comparable. */ readonly version: string
  /** Whether it runs in this program, so that nothing leaves the machine. */ readonly embedded: boolean
}

export class ImageEmbedder extends Context.Service<
  ImageEmbedder,
  {
    readonly model: ImageModel
    /** The bytes as they were sent, at most `IMAGE_BYTES_MAX` each; concurrent organizations take turns. */
    readonly embed: (
      organizationId: string,
      images: ReadonlyArray<Uint8Array>
    ) => Effect.Effect<ReadonlyArray<Float32Array>, ImageFailure>
    /** Whether two vectors are of the same image, not merely of similar ones. */
    readonly isSame: (a: ArrayLike<number>, b: ArrayLike<number>) => boolean
  }
>()("dowser/ports/ImageEmbedder") {}
