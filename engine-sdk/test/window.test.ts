/** The hits that stages reorder: as many as requested, by rank, independent of the page. */
import { expect, it } from "vitest"
import { createEngine, type SearchPlan } from "../src/mod.ts"
import { putOf, suiteField, suitePlan, suiteSchema, suiteText } from "../src/testing/engine-suite.ts"

it("the window of a small page equals that of a large one, and has the best hits in order", async () => {
  const engine = createEngine()
  try {
    await engine.createCollection("t", suiteSchema("c", [suiteField("title", "string")]), 1)
    // The later a document was written, the better it matches, so that any other order would be noticed.
    await engine.write(
      "t",
      "c",
      Array.from({ length: 300 }, (_, i) =>
        putOf({ id: String(i), title: `${i >= 200 ? "oak lamp" : "lamp"}${" more".repeat(300 - i)}` })
      )
    )
    const windowOf = async (more: Partial<SearchPlan>) => {
      const plan = suitePlan("c", {
        text: suiteText(["oak", "lamp"], ["title"]),
        window: { size: 50, fields: [] },
        ...more
      })
      const [answer] = await engine.search("t", [plan])
      if (answer === undefined || !answer.ok) throw new Error("The search failed.")
      return answer.value.window!.ids
    }
    const large = await windowOf({ limit: 50 })
    expect(large).toHaveLength(50)
    expect(large.every((id) => Number(id) >= 200)).toBe(true)
    expect(await windowOf({ limit: 3 })).toEqual(large)
    expect(await windowOf({ limit: 3, offset: 3 })).toEqual(large)
  } finally {
    await engine.close()
  }
})
