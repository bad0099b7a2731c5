/**
 * Untrusted images, decoded in a process of its own, with bounded memory and time, without secrets and without a
 * network. The port promises an answer or a refusal in time, whatever the bytes are. Concurrent organizations take
 * turns by the time that their images took, each with at most one in progress. The queue is bounded.
 */
import { Context, Data, type Effect } from "effect"

/** Limits of an uploaded image. */
export const IMAGE_BYTES_MAX = 8_000_000
export const IMAGE_PIXELS_MAX = 40_000_000
/** A larger image is scaled down to this side. */
export const KEPT_SIDE_MAX = 4_096

/** An image reduced to its pixels: one frame, upright, no metadata, nothing after its end. */
export interface KeptImage {
  readonly bytes: Uint8Array
  readonly contentType: string
  readonly width: number
  readonly height: number
}

/** `refused`: not an image, or too large. `busy`: the queue is full. `failed`: the process is unavailable. */
export class ImageFailure extends Data.TaggedError("ImageFailure")<{
  readonly kind: "refused" | "busy" | "failed"
  readonly message: string
}> {}

export class ImageProcess extends Context.Service<
  ImageProcess,
  {
    readonly keep: (organizationId: string, bytes: Uint8Array) => Effect.Effect<KeptImage, ImageFailure>
    /** Describes what the image looks like (`src/ports/image-embedder/descriptors`). */
    readonly describe: (organizationId: string, bytes: Uint8Array) => Effect.Effect<Float32Array, ImageFailure>
    readonly counts: ImageCounts
  }
>()("dowser/ports/ImageProcess") {}

/** Counts since this program started. */
export interface ImageCounts {
  /** Processed images, including refused ones. */ readonly images: number
  readonly refused: number
  /** Processes that were ended by their limits, or ended by themselves. */ readonly processesLost: number
  readonly waiting: number
}
