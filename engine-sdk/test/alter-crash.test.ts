/** A schema change survives a crash right after it: the index of the old schema must not come back with the new one. */
import { cp, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { openEngine } from "../src/mod.ts"
import { putOf, suiteField, suitePlan, suiteSchema } from "../src/testing/engine-suite.ts"

describe("alter", () => {
  it("is complete after a crash, with and without a snapshot before it", async () => {
    const path = await mkdtemp(join(tmpdir(), "engine-alter-"))
    const first = await openEngine({ path })
    await first.createCollection(
      "t",
      suiteSchema("c", [suiteField("name", "string"), suiteField("secret", "string", { store: false })]),
      1
    )
    await first.write(
      "t",
      "c",
      Array.from({ length: 50 }, (_doc, i) =>
        putOf({ id: String(i), name: `name${i}`, colour: i % 2 === 0 ? "red" : "blue", secret: `hidden${i}` })
      )
    )
    await first.close()
    const second = await openEngine({ path })
    await second.write("t", "c", [putOf({ id: "50", name: "late", colour: "red", secret: "hiddenlate" })])
    const altered = await second.alterCollection("t", "c", {
      drop: [],
      add: [suiteField("colour", "string", { facet: true })]
    })
    expect(altered.ok).toBe(true)
    // A copy of the folder is what a crash would leave.
    const copy = `${path}-copy`
    await cp(path, copy, { recursive: true })
    for (const [engine, folder] of [
      [await openEngine({ path: copy }), copy],
      [second, path]
    ] as const) {
      const [answer] = await engine.search("t", [
        suitePlan("c", {
          filter: {
            kind: "string",
            field: "colour",
            values: [{ tokens: ["red"], match: "equals", prefix: false }],
            prefixCandidates: 4
          }
        })
      ])
      expect(answer.ok ? answer.value.found : answer.error).toBe(26)
      const [hidden] = await engine.search("t", [
        suitePlan("c", {
          filter: {
            kind: "string",
            field: "secret",
            values: [{ tokens: ["hidden7"], match: "equals", prefix: false }],
            prefixCandidates: 4
          }
        })
      ])
      expect(hidden.ok ? hidden.value.hits?.map(({ document }) => document) : hidden.error).toEqual([
        { id: "7", name: "name7", colour: "blue" }
      ])
      expect(engine.describeCollection("t", "c")?.num_documents).toBe(51)
      await engine.close()
      await rm(folder, { recursive: true, force: true })
    }
  })
})
