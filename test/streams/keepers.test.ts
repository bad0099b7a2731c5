/**
 * Every keeper of personal data is on one list, which erasures and their receipts walk: neither a processor that runs
 * nor a room that derives its own state from the log can be forgotten.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import type { FactProcessor } from "../../streams/facts/fact-processor.ts"
import type { Keeper } from "../../streams/processor/erasing.ts"
import { makeProcessors, REPLAYED } from "../../streams/processors/runnable.ts"
import { modelsOf, takenOut } from "../../streams/replays/receipt.ts"

const { keepers, liveStates, rebuilt } = REPLAYED
const names = keepers.map(({ name }) => name)

/**
 * Files of the server that ask who was erased, each with its live state; those that keep nothing of what they read say
 * so.
 */
const ASKING: ReadonlyMap<string, string> = new Map([
  ["src/recommendation-models/live/recommend-models.ts", "recommendations"],
  ["src/clicks/read-events.ts", "keeps nothing: a walk of the log for one request"],
  ["src/clicks/clicked-searches.ts", "keeps nothing: a walk of the log for one job"]
])
const root = new URL("../..", import.meta.url).pathname

describe("keepers of personal data", () => {
  it("are all processors that run, each with a row in every receipt", () => {
    const run = makeProcessors([1, 2, 3, 4]).map(({ name }) => name)
    expect(run.filter((name) => name !== rebuilt.name && !names.includes(name))).toEqual([])
    expect(rebuilt.figures.filter(({ name }) => !names.includes(name))).toEqual([])
    expect(new Set([...names, ...liveStates]).size).toBe(names.length + liveStates.length)
    const rows = modelsOf({}, keepers, liveStates)
    expect(rows.map(({ name }) => name)).toEqual([...names, ...liveStates])
    for (const { name, outcome, ...counted } of rows)
      expect([name, "rows" in counted]).toEqual([name, outcome === "removed"])
  })
  it("that remove rows report how many, and the others that they were rebuilt", () => {
    const keeper = (name: string, outcome: Keeper["erasing"]["outcome"]): Keeper => ({ name, erasing: { outcome } })
    const [a, b, c] = [keeper("a", "removed"), keeper("b", "removed"), keeper("c", "rebuilt")]
    let receipt = takenOut({}, a, { one: 2, two: 3 })
    receipt = takenOut(receipt, a, { one: 4 })
    expect(modelsOf(receipt, [a, b, c], ["live"])).toEqual([
      { name: "a", outcome: "removed", rows: 9 },
      { name: "b", outcome: "removed", rows: 0 },
      { name: "c", outcome: "rebuilt" },
      { name: "live", outcome: "rebuilt" }
    ])
    expect(receipt).toMatchObject({ "table:one": 6, "table:two": 3 })
    for (const { erasing, name } of keepers)
      if (erasing.outcome === "removed")
        expect([name, erasing.forget !== undefined || erasing.removeRows !== undefined]).toEqual([name, true])
  })
  it("include no processor of facts that does not define how a person leaves it", () => {
    // @ts-expect-error Without `erasing` it does not compile.
    const silent: FactProcessor = {
      name: "x",
      open: () => 0,
      newEmitted: () => ({}),
      sizeOf: () => 0,
      write: () => null!
    }
    expect(silent.name).toBe("x")
  })
  it("are all rooms that ask who was erased, except those that keep nothing", () => {
    const asking = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
      .map((path) => join("src", path))
      .filter((path) => path.endsWith(".ts") && !path.includes("node_modules"))
      .filter((path) => /\breadTombstones\b/.test(readFileSync(join(root, path), "utf8")))
    expect(asking.toSorted()).toEqual([...ASKING.keys()].toSorted())
    const states = [...ASKING.values()].filter((said) => !said.startsWith("keeps nothing"))
    expect(states).toEqual([...liveStates])
  })
})
