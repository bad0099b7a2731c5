/**
 * How to test, part five of five: does a test notice a fault?
 *
 * A test that has never failed proves nothing. Before you trust yours, break the code once by hand in the way that you
 * fear, and see the test fail. Faults worth keeping are in `test/mutants/faults.mjs`, each as one replacement in one
 * file with the tests that must catch it; `npm run mutants` plants them one at a time in a copy of the program.
 *
 * This file does the same on a small scale: it runs the decision of part one, unchanged and with faults, against its
 * own table.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { afterAll, beforeAll, expect, it } from "vitest"
import type { judged } from "../../src/alerts/decision.ts"
import { planted } from "../mutants/plant.mjs"

const source = readFileSync(new URL("../../src/alerts/decision.ts", import.meta.url), "utf8")
let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "dowser-fault-"))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Imports a copy of the module that contains a fault. */
const decisionWith = async (name: string, from: string, to: string): Promise<typeof judged> => {
  // A fault that does not fit the source would not be planted, and everything would pass.
  expect(source.split(from)).toHaveLength(2)
  const file = join(folder, `${name}.ts`)
  writeFileSync(file, planted(source, { from, to }))
  return ((await import(pathToFileURL(file).href)) as { judged: typeof judged }).judged
}

const above10 = { metric: "searches", op: ">", threshold: 10 } as const
const below10 = { metric: "searches", op: "<", threshold: 10 } as const
/** The cases in which the table contradicts the decision; there are none if the decision is right. */
const complaints = (decide: typeof judged): ReadonlyArray<string> =>
  (
    [
      ["stays quiet at its threshold", above10, "ok", 10, false],
      ["fires beyond it", above10, "ok", 11, true],
      ["fires below it", below10, "ok", 9, true],
      ["fires once a crossing", above10, "firing", 11, false],
      ["does nothing when nothing is known", above10, "ok", undefined, false]
    ] as const
  ).flatMap(([title, condition, state, value, fires]) =>
    decide(condition, state, value).hasFired === fires ? [] : [title]
  )

it("the table has no complaint about the unchanged code", async () => {
  expect(complaints(await decisionWith("whole", "const holds = ", "const holds = "))).toEqual([])
})
it.each([
  ["edge", "value > threshold : value", "value >= threshold : value", "stays quiet at its threshold"],
  ["direction", ": value < threshold", ": value > threshold", "fires below it"],
  ["again", 'holds && state === "ok"', "holds", "fires once a crossing"]
])("and notices a fault: %s", async (name, from, to, complaint) => {
  expect(complaints(await decisionWith(name, from, to))).toContain(complaint)
})
