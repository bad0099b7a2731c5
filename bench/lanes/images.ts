/**
 * Question: is an altered picture still found, do pictures that look alike rank first, and how many pictures are
 * processed per second? Workload: drawn pictures of a generated catalogue (`fixtures/pictures`) on one core, as in
 * the process that decodes. A look-alike has the same category and colour. The pictures are generated: photographs
 * are less regular.
 */
import sharp from "sharp"
import { generateCatalog, type Product } from "../../fixtures/catalog/generate.ts"
import { drawPicture } from "../../fixtures/pictures/draw.ts"
import { pngOf } from "../../fixtures/pictures/png.ts"
import { lookAlikeOf } from "../../src/ports/image-embedder/descriptors/look-alike.ts"
import { isSameImage } from "../../src/ports/image-embedder/descriptors/same-image.ts"
import { pixelsOf } from "../../src/ports/image-process/decode.ts"
import type { ImageFormat } from "../../src/ports/image-process/format.ts"
import { machine, report, round } from "../harness/harness.ts"

export interface ImagesOptions {
  readonly pictures: number
  readonly seed: number
  readonly out: string | undefined
}
interface Changed {
  readonly name: string
  readonly format: ImageFormat
  readonly of: (png: Buffer) => Promise<Buffer>
}
const PRODUCTS_A_PICTURE = 4
const SIDE = 256
const BORDER = Math.round(SIDE * 0.05)
const changes: ReadonlyArray<Changed> = [
  ...[60, 75, 90].map((quality): Changed => ({
    name: `jpeg_${quality}`,
    format: "jpeg",
    of: (png) => sharp(png).jpeg({ quality }).toBuffer()
  })),
  { name: "webp_75", format: "webp", of: (png) => sharp(png).webp({ quality: 75 }).toBuffer() },
  {
    name: "scaled_70",
    format: "png",
    of: (png) =>
      sharp(png)
        .resize(Math.round(SIDE * 0.7))
        .png()
        .toBuffer()
  },
  {
    name: "border_5",
    format: "png",
    of: (png) =>
      sharp(png)
        .extend({ top: BORDER, bottom: BORDER, left: BORDER, right: BORDER, background: "white" })
        .png()
        .toBuffer()
  }
]

const described = async (bytes: Buffer, format: ImageFormat) => lookAlikeOf(await pixelsOf(bytes, format))
const dot = (a: Float32Array, b: Float32Array): number => {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!
  return sum
}
/** Indexes of vectors, the nearest first. */
const ranked = (query: Float32Array, vectors: ReadonlyArray<Float32Array>): ReadonlyArray<number> => {
  const near = vectors.map((vector) => dot(query, vector))
  return vectors.map((_, i) => i).sort((a, b) => near[b]! - near[a]!)
}
/** Mean of the average precisions. A picture without look-alikes is left out. */
const map = (vectors: ReadonlyArray<Float32Array>, kinds: ReadonlyArray<string>): number => {
  let sum = 0,
    judged = 0
  vectors.forEach((query, own) => {
    let found = 0,
      precision = 0
    ranked(query, vectors)
      .filter((i) => i !== own)
      .forEach((i, rank) => {
        if (kinds[i] === kinds[own]) precision += ++found / (rank + 1)
      })
    if (found === 0) return
    sum += precision / found
    judged++
  })
  return sum / Math.max(1, judged)
}

/** All sizes of a model in one colour share one picture, as in shops. */
const pictured = (seed: number, pictures: number) => {
  const found = new Map<string, Product>()
  for (const product of generateCatalog({ seed, products: PRODUCTS_A_PICTURE * pictures })) {
    const picture = `${product.model_id} ${product.color ?? ""}`
    if (!found.has(picture)) found.set(picture, product)
    if (found.size === pictures) break
  }
  return [...found.values()]
}

export const measureImages = async ({ pictures, seed }: Pick<ImagesOptions, "pictures" | "seed">) => {
  const products = pictured(seed, pictures)
  const pngs = products.map((product) => pngOf(drawPicture(product, SIDE)))
  const began = process.cpuUsage()
  const vectors: Array<Float32Array> = []
  for (const png of pngs) vectors.push(await described(png, "png"))
  const { system, user } = process.cpuUsage(began)
  const figures: Record<string, number> = {}
  let first = 0,
    same = 0,
    falsely = 0
  for (const { format, name, of } of changes) {
    let found = 0
    for (const [i, png] of pngs.entries()) {
      const query = await described(await of(png), format)
      const [nearest, second] = ranked(query, vectors)
      if (nearest === i) found++
      if (isSameImage(query, vectors[i]!)) same++
      if (isSameImage(query, vectors[nearest === i ? second! : nearest!]!)) falsely++
    }
    figures[`${name}_first`] = found / pngs.length
    first += found
  }
  const asked = pngs.length * changes.length
  return {
    ...figures,
    first: first / asked,
    told_same: same / asked,
    other_told_same: falsely / asked,
    map_shape_and_colour: map(
      vectors,
      products.map(({ category, color }) => `${category} ${color ?? ""}`)
    ),
    map_shape: map(
      vectors,
      products.map(({ category }) => category)
    ),
    per_processor_s: pngs.length / ((system + user) / 1e6)
  }
}

export const benchImages = async (options: ImagesOptions): Promise<void> => {
  const figures = await measureImages(options)
  const rounded = Object.fromEntries(
    Object.entries(figures).map(([name, value]) => [name, round(value, name.startsWith("per") ? 0 : 3)])
  )
  report(
    `images: ${options.pictures} pictures, each changed in ${changes.length} ways`,
    { ...rounded, machine: machine() },
    options.out
  )
}
