/** Assignment of variants: the golden vectors, and properties that hold for any assignment. */
import { readFileSync, writeFileSync } from "node:fs"
import { createHash } from "node:crypto"
import { describe, expect, it } from "vitest"
import { seedsOf, shareOf, variantOf } from "../../src/experiments/mod.ts"
import { randomOf } from "../random.ts"
import { type Case, slowVariantOf } from "./slow-assignment.ts"

const golden = new URL("golden-assignment.json", import.meta.url)
const UNITS = [
  "",
  "a",
  "session 1",
  "Zürich",
  "日本語",
  "🧪",
  "\u0000",
  "s".repeat(55),
  "s".repeat(64),
  "long ".repeat(60)
]
const made = (): ReadonlyArray<Case> => {
  const random = randomOf(21)
  return Array.from({ length: 200 }, (_, i) => ({
    experiment_id: `exp_01KAQ5V8Z3N4M6T7W9X0Y1B2${String(i % 7).padStart(2, "0")}`,
    run: 1 + (i % 3),
    traffic: random.pick([1, 0.5, 0.1, 0.000_001, 0]),
    weights: Array.from({ length: 2 + random.below(7) }, () => 1 + random.below(100)),
    unit: i < UNITS.length ? UNITS[i]! : `unit ${random.below(1_000_000_000)}`
  }))
}

describe("the assignment", () => {
  it("matches the golden vectors, which the slow definition produced", () => {
    if (process.env.UPDATE_GOLDEN === "1")
      writeFileSync(
        golden,
        `[\n${made()
          .map((one) => JSON.stringify({ ...one, variant: slowVariantOf(one) }))
          .join(",\n")}\n]\n`
      )
    const vectors = JSON.parse(readFileSync(golden, "utf8")) as ReadonlyArray<
      Case & { readonly variant: number | null }
    >
    expect(vectors).toEqual(made().map((one) => ({ ...one, variant: slowVariantOf(one) })))
    for (const { experiment_id, run, traffic, unit, variant, weights } of vectors)
      expect([unit, variantOf({ seeds: seedsOf(experiment_id, run), traffic, weights }, unit) ?? null]).toEqual([
        unit,
        variant
      ])
    expect(new Set(vectors.map(({ variant }) => variant)).size).toBeGreaterThan(5)
  })
  it("uses 48 bits of SHA-256, whatever is hashed", () => {
    for (let length = 0; length < 300; length++) {
      const unit = "é".repeat(length)
      const digest = createHash("sha256").update(`seed\u001f${unit}`).digest("hex")
      expect(shareOf("seed", unit)).toBe(Number(BigInt(`0x${digest.slice(0, 12)}`)) / 2 ** 48)
    }
    expect(shareOf("s", "x".repeat(5_000))).toBe(
      Number(
        BigInt(
          `0x${createHash("sha256")
            .update(`s\u001f${"x".repeat(5_000)}`)
            .digest("hex")
            .slice(0, 12)}`
        )
      ) /
        2 ** 48
    )
  })
  it("admits more units with more traffic, and reassigns none of the earlier ones", () => {
    const split = { seeds: seedsOf("exp_1", 1), weights: [1, 2, 1] }
    for (let i = 0; i < 3_000; i++) {
      const [tenth, half, all] = [0.1, 0.5, 1].map((traffic) => variantOf({ ...split, traffic }, `u${i}`))
      if (tenth !== undefined) expect(half).toBe(tenth)
      if (half !== undefined) expect(all).toBe(half)
    }
  })
  it("splits by the weights, and differently in each run", () => {
    const counts = [0, 0, 0]
    let together = 0
    for (let i = 0; i < 20_000; i++) {
      const split = { traffic: 1, weights: [1, 2, 1] }
      const first = variantOf({ ...split, seeds: seedsOf("exp_1", 1) }, `u${i}`)!
      counts[first]!++
      if (variantOf({ ...split, seeds: seedsOf("exp_1", 2) }, `u${i}`) === first) together++
    }
    // Four standard deviations.
    expect(Math.abs(counts[0]! - 5_000)).toBeLessThan(245)
    expect(Math.abs(counts[1]! - 10_000)).toBeLessThan(283)
    // Independent runs agree for 1/16 + 1/4 + 1/16 of the units.
    expect(Math.abs(together - 7_500)).toBeLessThan(274)
  })
})
