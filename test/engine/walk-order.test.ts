/**
 * Which of several equally good continuations of a prefix are searched: the first ones in the reference engine's order.
 */
import { expect, it } from "vitest"
import { createEngine } from "../../engine-sdk/src/memory/mod.ts"
import { memoryResources } from "../../engine-sdk/src/operations/mod.ts"
import { introsort } from "../../engine-sdk/src/compat/introsort.ts"
import { walkOrder } from "../../engine-sdk/src/compat/walk-order.ts"
import { randomOf } from "../../engine-sdk/test/random.ts"
import { routerOver, type WireCall } from "../support/operation-router.ts"

const WORDS = ["saab", "saba", "sable", "sac", "sad", "safe", "saga", "sage", "said", "sail", "saint", "salt"]
const bytes = (words: ReadonlyArray<string>): Uint8Array[] => words.map((word) => new TextEncoder().encode(word))

it("sorts equal elements like the library of the reference engine", () => {
  const numbers = (count: number) => Array.from({ length: count }, (_, i) => i)
  expect(introsort(numbers(24), (a, b) => a % 3 > b % 3)).toEqual([
    23, 2, 20, 5, 17, 8, 14, 11, 1, 22, 19, 16, 13, 10, 7, 4, 12, 15, 9, 18, 6, 21, 3, 0
  ])
  expect(introsort(numbers(12), (a, b) => a % 2 < b % 2)).toEqual([0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11])
  const random = randomOf(3)
  for (let count = 0; count < 80; count++) {
    const items = numbers(count).map(() => random.below(9))
    expect(introsort([...items], (a, b) => a > b)).toEqual(items.toSorted((a, b) => b - a))
  }
})
it("walks words of equal score by their tree", () => {
  const order = (inner: "nothing" | "best") =>
    walkOrder(
      bytes(WORDS),
      WORDS.map(() => 1),
      inner,
      () => true
    ).map((i) => WORDS[i])
  expect(order("nothing")).toEqual([
    "salt",
    "safe",
    "sad",
    "sac",
    "saab",
    "sable",
    "saba",
    "saint",
    "sail",
    "said",
    "sage",
    "saga"
  ])
  expect(order("best")).toEqual([
    "salt",
    "saab",
    "safe",
    "sable",
    "sage",
    "saba",
    "sac",
    "sad",
    "saga",
    "saint",
    "sail",
    "said"
  ])
})
it("visits every word once and the better ones first", () => {
  const random = randomOf(9)
  for (let count = 0; count < 45; count++) {
    const words = [
      ...new Set(
        Array.from(
          { length: count },
          () => `a${Array.from({ length: random.below(5) }, () => random.pick(["a", "b", "é"])).join("")}`
        )
      )
    ].sort()
    const worths = words.map(() => random.below(4))
    for (const inner of ["nothing", "best"] as const) {
      const order = walkOrder(bytes(words), worths, inner, (i) => i % 3 !== 1)
      expect([...order].sort((a, b) => a - b)).toEqual(words.map((_, i) => i).filter((i) => i % 3 !== 1))
      expect(order.map((i) => worths[i])).toEqual(order.map((i) => worths[i]).sort((a, b) => b - a))
    }
  }
})

const found = async (call: WireCall, query: string): Promise<string[]> => {
  const { status, text } = await call("GET", `/collections/words/documents/search?per_page=50&${query}`)
  expect(status, text).toBe(200)
  return (JSON.parse(text) as { hits: ReadonlyArray<{ document: { id: string } }> }).hits
    .map(({ document }) => document.id)
    .sort()
}
it.each([
  ["one import", WORDS.length],
  ["one by one", 1]
])("a search and a filter by prefix take the first words of it: documents written %s", async (_name, size) => {
  const engine = createEngine(),
    call = routerOver({ engine, resources: memoryResources(), namespace: "one" })
  expect(
    (await call("POST", "/collections", JSON.stringify({ name: "words", fields: [{ name: "word", type: "string" }] })))
      .status
  ).toBe(201)
  for (let from = 0; from < WORDS.length; from += size)
    await call(
      "POST",
      "/collections/words/documents/import",
      WORDS.slice(from, from + size)
        .map((word) => JSON.stringify({ id: word, word }))
        .join("\n")
    )
  expect(await found(call, "q=sa&query_by=word&num_typos=0")).toEqual(
    WORDS.filter((word) => word !== "saga" && word !== "sage")
  )
  expect(await found(call, "q=*&filter_by=word:sa*")).toEqual(["saab", "sable", "safe", "salt"])
  // The word itself comes first, uses one place and adds a branch to the tree.
  await call("POST", "/collections/words/documents", JSON.stringify({ id: "sa", word: "sa" }))
  expect(await found(call, "q=sa&query_by=word&num_typos=0")).toEqual([
    "sa",
    ...WORDS.filter((word) => !["saba", "sable", "saga"].includes(word))
  ])
  await engine.close()
})
