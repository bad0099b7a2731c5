/** Bodies that fuzz tests start from. */
import { ONE_PIXEL } from "./one-pixel.ts"

export const seeds = {
  createMedia: [{ filename: "one.png", content_type: "image/png" }, {}],
  uploadImage: [{ image: ONE_PIXEL, filename: "a.png" }, { image: "iVBORw0KGgo=" }, "GIF89a"],
  putMediaContent: ["bytes of an asset"]
}
