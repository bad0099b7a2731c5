/** The embedded model: classical descriptors (`descriptors/look-alike.ts`), computed in the process that decodes. */
import { Effect, Layer } from "effect"
import { ImageProcess } from "../image-process/image-process.ts"
import { LOOK_ALIKE_DIMENSIONS, LOOK_ALIKE_VERSION } from "./descriptors/look-alike.ts"
import { isSameImage } from "./descriptors/same-image.ts"
import { ImageEmbedder } from "./image-embedder.ts"

export const layerLookAlike: Layer.Layer<ImageEmbedder, never, ImageProcess> = Layer.effect(
  ImageEmbedder,
  Effect.map(ImageProcess, ({ describe }) =>
    ImageEmbedder.of({
      model: {
        name: "dowser/look-alike",
        dimensions: LOOK_ALIKE_DIMENSIONS,
        version: LOOK_ALIKE_VERSION,
        embedded: true
      },
      embed: (organizationId, images) => Effect.forEach(images, (bytes) => describe(organizationId, bytes)),
      isSame: isSameImage
    })
  )
)
