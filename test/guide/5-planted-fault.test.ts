/**
 * How to test, last of five: whether a test would notice.
 *
 * A test that has never failed proves nothing. Before you believe yours, break the code once by hand in the way that
 * you fear, and see it fail. Faults that are worth keeping stand in `test/mutants/faults.mjs`, each as one replacement
 * in one file with the tests that must catch it; `npm run mutants` plants them one at a time in a copy of the program.
 *
 * Here the same is done in small: the decision of the first file, whole and with faults in it, against its own table.
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

/** The module with a fault in it, as a module. */
const decisionWith = async (name: string, from: string, to: string): Promise<typeof judged> => {
  // A fault that fits nowhere would be planted nowhere, and everything would pass.
  expect(source.split(from)).toHaveLength(2)
  const file = join(folder, `${name}.ts`)
  writeFileSync(file, planted(source, { from, to }))
  return ((await import(pathToFileURL(file).href)) as { judged: typeof judged }).judged
}

const above10 = { metric: "searches", op: ">", threshold: 10 } as const
const below10 = { metric: "searches", op: "<", threshold: 10 } as const
/** The cases in which the table contradicts the decision: none, if it is right. */
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

it("the table has nothing to say of the code as it is", async () => {
  expect(complaints(await decisionWith("whole", "const holds = ", "const holds = "))).toEqual([])
})
it.each([
  ["edge", "value > threshold : value", "value >= threshold : value", "stays quiet at its threshold"],
  ["direction", ": value < threshold", ": value > threshold", "fires below it"],
  ["again", 'holds && state === "ok"', "holds", "fires once a crossing"]
])("and notices a fault: %s", async (name, from, to, complaint) => {
  expect(complaints(await decisionWith(name, from, to))).toContain(complaint)
})
