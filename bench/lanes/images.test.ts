/** Checks the promises of image search on drawn pictures, with fewer pictures than in the bench. */
import { expect, it } from "vitest"
import { measureImages } from "./images.ts"

it("finds changed pictures first and puts those of one shape and colour together", async () => {
  const figures = await measureImages({ pictures: 60, seed: 7 })
  // Each kind of change separately, because a mean would hide a single bad one.
  const first = Object.entries(figures).filter(([name]) => name.endsWith("_first"))
  expect(first).toHaveLength(6)
  for (const [name, share] of first) expect([name, share >= 0.98]).toEqual([name, true])
  expect(figures.map_shape_and_colour).toBeGreaterThanOrEqual(0.5)
})
