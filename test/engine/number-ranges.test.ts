/**
 * Ranges over a large segment: the sets that make them cheap are built between searches, and give the same answers as a
 * scan of every document.
 */
import { expect, it } from "vitest"
import { createLab, seeded } from "../support/engine-lab.ts"

it("number ranges find the same before, while and after their sets are built", async () => {
  const random = seeded(11)
  const values = Array.from({ length: 70_000 }, () => (random() < 0.1 ? undefined : Math.floor(random() * 500) - 250))
  const lab = createLab()
  await lab.collection(
    "c",
    [{ name: "n", type: "int32", optional: true }],
    values.map((n, i) => (n === undefined ? { id: `${i}` } : { id: `${i}`, n }))
  )
  for (let round = 0; round < 40; round++) {
    const [min, max] = [Math.floor(random() * 520) - 260, Math.floor(random() * 520) - 260].sort((a, b) => a - b)
    const [text, holds] =
      round % 3 === 0
        ? ([`n:[${min}..${max}]`, (n: number) => n >= min && n <= max] as const)
        : round % 3 === 1
          ? ([`n:>${min}`, (n: number) => n > min] as const)
          : ([`n:<${max}`, (n: number) => n < max] as const)
    const { body } = await lab.search("c", { q: "*", filter_by: text })
    expect((body as { found: number }).found, text).toBe(values.filter((n) => n !== undefined && holds(n)).length)
    if (round % 5 === 4) await new Promise((resolve) => setImmediate(resolve))
  }
  await lab.close()
})
