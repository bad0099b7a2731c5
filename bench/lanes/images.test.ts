/** The promises of image search on drawn pictures, with fewer of them than the bench takes. */
import { expect, it } from "vitest"
import { measureImages } from "./images.ts"

it("finds changed pictures first and puts those of one shape and colour together", async () => {
  const figures = await measureImages({ pictures: 60, seed: 7 })
  expect(figures.first).toBeGreaterThanOrEqual(0.99)
  expect(figures.map_shape_and_colour).toBeGreaterThanOrEqual(0.5)
}, 120_000)
