/** The hits that stages reorder: as many as requested, in their rank, whatever the page is. */
import { expect, it } from "vitest"
import { createEngine, type SearchPlan } from "../src/mod.ts"
import { putOf, suiteField, suitePlan, suiteSchema, suiteText } from "../src/testing/engine-suite.ts"

it("the window of a small page is that of a large one, and holds the best hits in their order", async () => {
  const engine = createEngine()
  try {
    await engine.createCollection("t", suiteSchema("c", [suiteField("title", "string")]), 1)
    // The later a document came, the better it matches: any other order would be noticed.
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
