/** Pictures of the demo shop's products, drawn from what is known of each when they are first asked for. */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { BoundedMap } from "@dowser/engine-sdk/host"
import type { Document } from "@dowser/engine-sdk"
import { drawPicture } from "../../fixtures/pictures/draw.ts"
import { pngOf } from "../../fixtures/pictures/png.ts"
import { Engine } from "../ports/engine/engine.ts"

export interface ProductPicture {
  readonly png: Buffer
  readonly etag: string
}
/** Of a side; drawing one takes some 4 ms. */
const SIDE = 160
/** About a thousand. */
const CACHE_bytes = 16_000_000
const SHOWS = ["id", "model_id", "title", "category", "color", "attributes"]

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)
const drawn = (id: string, { attributes, category, color, model_id, title }: Document): ProductPicture => {
  const model = textOf(model_id),
    colour = textOf(color)
  const png = pngOf(
    drawPicture(
      {
        id,
        title: textOf(title) ?? "",
        category: textOf(category) ?? "",
        attributes: Array.isArray(attributes) ? attributes.filter((each) => typeof each === "string") : [],
        ...(model === undefined ? {} : { model_id: model }),
        ...(colour === undefined ? {} : { color: colour })
      },
      SIDE
    )
  )
  return { png, etag: `"${createHash("sha256").update(png).digest("hex").slice(0, 24)}"` }
}

export const makePictures = Effect.map(Engine, (engine) => {
  const known = new BoundedMap<string, ProductPicture>({
    bytes_max: CACHE_bytes,
    bytesOf: (id, { png }) => 2 * id.length + png.length + 200
  })
  return Effect.fnUntraced(function* (organizationId: string, collection: string, id: string) {
    const before = known.get(id)
    if (before !== undefined) return before
    const found = yield* Effect.promise(async () =>
      engine.get(organizationId, collection, [id], { include: SHOWS, exclude: [], joins: [] })
    )
    const document = found.ok ? found.value[0] : undefined
    if (document === undefined) return undefined
    const picture = drawn(id, document)
    known.set(id, picture)
    return picture
  })
})
