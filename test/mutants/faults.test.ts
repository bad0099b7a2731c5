/**
 * Checks the list of faults against the current sources: an entry that no longer fits would not be planted and would
 * catch nothing.
 */
import { readFileSync } from "node:fs"
import { expect, it } from "vitest"
import { faults } from "./faults.mjs"
import { misfits, planted } from "./plant.mjs"

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8")

it("every fault fits the sources exactly once and names tests that exist", () => {
  expect(misfits(faults, read)).toEqual([])
  expect(faults.length).toBeGreaterThanOrEqual(20)
})
it("an entry that does not fit is reported, whatever is wrong with it", () => {
  const fault = { name: "a", why: "w", file: "f.ts", from: "one", to: "two", tests: ["t.ts"] }
  const files = (file: string) => {
    const text = ({ "f.ts": "one three three", "t.ts": "" } as Record<string, string>)[file]
    if (text === undefined) throw new Error(file)
    return text
  }
  expect(misfits([fault], files)).toEqual([])
  const wrong = (more: Partial<typeof fault>) => misfits([{ ...fault, ...more }], files)
  expect(wrong({ from: "three" })).toEqual(["a: what it replaces occurs 2 times in f.ts and must once: three"])
  expect(wrong({ from: "none" })).toEqual(["a: what it replaces occurs 0 times in f.ts and must once: none"])
  expect(wrong({ to: "one" })).toEqual(["a: it changes nothing"])
  expect(wrong({ tests: [] })).toEqual(["a: it names no test"])
  expect(wrong({ tests: ["gone.ts"] })).toEqual(["a: there is no file gone.ts"])
  expect(misfits([fault, fault], files)).toEqual(["a: two faults have this name"])
  // Replacement patterns in `replace` are taken literally.
  expect(planted("a b", { from: "b", to: "$&$1" })).toBe("a $&$1")
})
