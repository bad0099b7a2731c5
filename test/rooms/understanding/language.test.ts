/** The language of short queries: named where it is clear, left out where two languages are as likely. */
import { expect, it } from "vitest"
import { languageAmong, languageOf } from "../../../src/understanding/language.ts"

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

it("says which of some languages a text is in, and none where it is in none of them, or too short", async () => {
  const among = async (text: string, ...candidates: ReadonlyArray<string>) => languageAmong(text, candidates)
  const english = "Wireless headphones with a battery that lasts forty hours"
  const german = "Kabellose Kopfhörer mit einem Akku, der vierzig Stunden hält"
  expect([await among(english, "en", "de"), await among(german, "en", "de")]).toEqual(["en", "de"])
  expect([await among(german, "en"), await among(english, "fr", "es"), await among(english)]).toEqual([
    undefined,
    undefined,
    undefined
  ])
  expect([await among("wireless headphones", "en"), await among("", "en"), await among("4711 0815 12", "en")]).toEqual([
    undefined,
    undefined,
    undefined
  ])
  // A script says it with one word, also that a text is in none of them.
  expect([await among("안녕하세요", "ko", "en"), await among("안녕하세요", "en")]).toEqual(["ko", undefined])
  expect(await among("\ud800 of the and with for the", "en")).toBe("en")
})
