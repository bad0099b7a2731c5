/**
 * The words of a small collection of long texts are read only once, however often the thread's quantum interrupts the
 * reading.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { openEngine } from "../../engine-sdk/src/mod.ts"
import {
  createCollection,
  importDocuments,
  memoryResources,
  type OperationContext,
  search
} from "../../engine-sdk/src/operations/mod.ts"
import { makeRandom } from "../../fixtures/random.ts"

/** Few enough documents that no thread reads them beforehand, and long enough that one quantum does not suffice. */
const DOCUMENTS = 400,
  WORDS = 300
const SEARCHES_MAX = 60
const inOnePiece = async function* (text: string) {
  yield new TextEncoder().encode(text)
}

it("runs on the calling thread once some searches have read a part each", async () => {
  const path = await mkdtemp(join(tmpdir(), "relevance-"))
  const engine = await openEngine({ path, worker: true })
  try {
    const random = makeRandom(5)
    const word = () => `w${random.below(5_000)}`
    const ran: Array<"here" | "elsewhere"> = []
    const noted = new Proxy(engine, {
      get: (target, name) => {
        const own: unknown = Reflect.get(target, name, target)
        if (name !== "search") return typeof own === "function" ? own.bind(target) : own
        return (...asked: Parameters<typeof engine.search>) => {
          const answers = target.search(...asked)
          ran.push(answers instanceof Promise ? "elsewhere" : "here")
          return answers
        }
      }
    })
    const context: OperationContext = { engine: noted, resources: memoryResources(), namespace: "a", now_s: 0 }
    const schema = { name: "prose", fields: [{ name: "text", type: "string" }] }
    expect((await createCollection(context, JSON.stringify(schema))).ok).toBe(true)
    const lines = Array.from({ length: DOCUMENTS }, (_, i) =>
      JSON.stringify({ id: String(i), text: Array.from({ length: WORDS }, word).join(" ") })
    )
    const imported = importDocuments(context, "prose", inOnePiece(lines.join("\n")), { action: "create" })
    for await (const verdicts of imported.ok ? imported.value.lines : []) expect(verdicts).not.toContain("false")
    const asked = { q: "w1", query_by: "text", ranking: "relevance", include_fields: "id", highlight_fields: "id" }
    for (let n = 0; n < SEARCHES_MAX && ran.at(-1) !== "here"; n++) {
      const answer = await search(context, "prose", asked)
      expect(answer.ok && JSON.parse(answer.value.text!).found).toBeGreaterThan(0)
    }
    expect(ran.at(-1)).toBe("here")
    expect(ran[0]).toBe("elsewhere")
  } finally {
    await engine.close()
    await rm(path, { recursive: true, force: true })
  }
})
