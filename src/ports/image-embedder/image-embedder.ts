/**
 * Pictures into vectors. The port promises: a vector for each picture, in order, of length one and with the model's
 * number of dimensions; near vectors look alike. Vectors of another model are not comparable.
 */
import { Context, type Effect } from "effect"
import type { ImageFailure } from "../image-process/image-process.ts"

interface ImageModel {
  /** As a schema names it: `dowser/look-alike`. */ readonly name: string
  readonly dimensions: number
  /** Version of its method: vectors of another one are not comparable. */ readonly version: string
  /** Runs in this program; nothing leaves the machine. */ readonly embedded: boolean
}

export class ImageEmbedder extends Context.Service<
  ImageEmbedder,
  {
    readonly model: ImageModel
    /** Bytes as they were sent, at most `IMAGE_BYTES_MAX` each; organizations that ask at the same time take turns. */
    readonly embed: (
      organizationId: string,
      images: ReadonlyArray<Uint8Array>
    ) => Effect.Effect<ReadonlyArray<Float32Array>, ImageFailure>
    /** Whether two vectors are of one picture, and not only of alike ones. */
    readonly isSame: (a: ArrayLike<number>, b: ArrayLike<number>) => boolean
  }
>()("dowser/ports/ImageEmbedder") {}
