/** Keeps the vector bench from rotting: a small run with the recall that the large ones must also reach. */
import { expect, it } from "vitest"
import { measureVectors } from "./vectors.ts"

it("measures both ways of searching", async () => {
  const figures = await measureVectors("clustered", {
    vectors: 4_000,
    dim: 16,
    queryCount: 20,
    seed: 7,
    approximateFrom: 1_000
  })
  expect(figures.behind_graphs).toBe(4_000)
  expect(figures.hybrid).toEqual({ p50_ms: expect.any(Number), p99_ms: expect.any(Number) })
  expect(figures["approximate, 100 % pass"]).toMatchObject({ recall_at_10: expect.any(Number) })
  for (const [name, measured] of Object.entries(figures)) {
    if (name.startsWith("approximate,"))
      expect((measured as { readonly recall_at_10: number }).recall_at_10).toBeGreaterThanOrEqual(0.95)
    if (name.startsWith("exact,")) expect((measured as { readonly recall_at_10: number }).recall_at_10).toBe(1)
  }
})
