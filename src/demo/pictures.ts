/** Pictures of the demo shop's products, drawn from their fields on first request. */
import { createHash } from "node:crypto"
import { Effect, Semaphore } from "effect"
import { BoundedMap } from "@dowser/engine-sdk/host"
import type { Document } from "@dowser/engine-sdk"
import { drawPicture } from "../../fixtures/pictures/draw.ts"
import { pngOf } from "../../fixtures/pictures/png.ts"
import { Throttled } from "../http/errors.ts"
import { Engine } from "../ports/engine/engine.ts"

export interface ProductPicture {
  readonly png: Buffer
  readonly etag: string
}
/** Pixels per side; drawing takes some 4 ms. */
const SIDE = 160
/** Enough for about a thousand pictures. */
const CACHE_BYTES = 12_000_000
/** Enough for several pages of results. */
const WAITING_MAX = 200
const tooMany = new Throttled({
  message: "Too many pictures are being drawn.",
  kind: "backpressure",
  retry_after_s: 2
})
/** The fields that a picture depends on. */
export const SHOWS = ["id", "model_id", "title", "category", "color", "attributes"]

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)
/** Returns a PNG. */
export const drawnFrom = (
  id: string,
  { attributes, category, color, model_id, title }: Document,
  side: number
): Buffer => {
  const model = textOf(model_id),
    colour = textOf(color)
  return pngOf(
    drawPicture(
      {
        id,
        title: textOf(title) ?? "",
        category: textOf(category) ?? "",
        attributes: Array.isArray(attributes) ? attributes.filter((each) => typeof each === "string") : [],
        ...(model === undefined ? {} : { model_id: model }),
        ...(colour === undefined ? {} : { color: colour })
      },
      side
    )
  )
}
const drawn = (id: string, document: Document): ProductPicture => {
  const png = drawnFrom(id, document, SIDE)
  return { png, etag: `"${createHash("sha256").update(png).digest("hex").slice(0, 24)}"` }
}

/**
 * Anybody may request pictures, and no rate limit applies: one picture is drawn at a time, the thread then serves
 * others for as long, and the queue is limited.
 */
export const makePictures = Effect.gen(function* () {
  const engine = yield* Engine
  const line = yield* Semaphore.make(1)
  let waiting = 0
  const known = new BoundedMap<string, ProductPicture>({
    bytes_max: CACHE_BYTES,
    bytesOf: (id, { png }) => 2 * id.length + png.length + 200
  })
  const draw = Effect.fnUntraced(function* (id: string, document: Document) {
    const before = known.get(id)
    if (before !== undefined) return before
    const began = performance.now()
    const picture = drawn(id, document)
    known.set(id, picture)
    yield* Effect.sleep(performance.now() - began)
    return picture
  })
  return Effect.fnUntraced(function* (organizationId: string, collection: string, id: string) {
    const before = known.get(id)
    if (before !== undefined) return before
    if (waiting >= WAITING_MAX) return yield* tooMany
    waiting++
    return yield* Effect.ensuring(
      line.withPermits(1)(
        Effect.gen(function* () {
          const found = yield* Effect.promise(async () =>
            engine.get(organizationId, collection, [id], { include: SHOWS, exclude: [], joins: [] })
          )
          if (!found.ok) return yield* Effect.die(new Error(found.error.message))
          const [document] = found.value
          return document === undefined ? undefined : yield* draw(id, document)
        })
      ),
      Effect.sync(() => waiting--)
    )
  })
})
