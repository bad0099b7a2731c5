/** Bodies that hostile requests start from. */
export const seeds = {
  createMedia: [{ filename: "one.png", content_type: "image/png" }, {}],
  uploadImage: [{ image: "iVBORw0KGgo=", filename: "a.png" }, "GIF89a"],
  putMediaContent: ["bytes of an asset"]
}
