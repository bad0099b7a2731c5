/** Bodies that hostile requests start from. */
const ONE_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgYGAAAAAEAAH2FzhVAAAAAElFTkSuQmCC"
export const seeds = {
  createMedia: [{ filename: "one.png", content_type: "image/png" }, {}],
  uploadImage: [{ image: ONE_PIXEL, filename: "a.png" }, { image: "iVBORw0KGgo=" }, "GIF89a"],
  putMediaContent: ["bytes of an asset"]
}
