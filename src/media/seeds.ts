/** Bodies that hostile requests start from. */
export const seeds = {
  createMedia: [{ filename: "one.png", content_type: "image/png" }, {}],
  putMediaContent: ["bytes of an asset"]
}
