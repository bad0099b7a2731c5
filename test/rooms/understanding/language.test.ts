/** The language of short queries: named where it is clear, left out where two languages are as likely. */
import { expect, it } from "vitest"
import { languageOf } from "../../../src/understanding/language.ts"

const told = async (q: string, own?: string) => languageOf(q, q.split(" "), own)

it("names the language of queries that are clear", async () => {
  for (const [q, language] of [
    ["zapatos de mujer", "es"],
    ["kids winter jacket", "en"],
    ["wireless headphones for running", "en"],
    ["kabellose kopfhörer für kinder", "de"],
    ["chaussures de course pour homme", "fr"],
    ["беспроводные наушники", "ru"],
    ["бездротові навушники", "uk"]
  ] as const)
    expect([q, await told(q)]).toEqual([q, language])
})
it("names none where the next language is close behind", async () => {
  // German by a hair, English by sense.
  expect(await told("winter coat")).toBeUndefined()
  expect(await told("coffee")).toBeUndefined()
})
it("takes the searched field's own language where that is close behind, and never one that is far", async () => {
  expect(await told("winter coat", "de")).toBe("de")
  expect(await told("winter coat", "nl")).toBe("nl")
  expect(await told("zapatos de mujer", "de")).toBe("es")
  // What was told for a field of one language is not told for another's.
  expect(await told("winter coat")).toBeUndefined()
})
