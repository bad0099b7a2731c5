/** The language of short queries: named if it is clear, omitted if two languages are equally likely. */
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
it("names none if the next language is close behind", async () => {
  // By the figures slightly German, but meant as English.
  expect(await told("winter coat")).toBeUndefined()
  expect(await told("coffee")).toBeUndefined()
})
it("prefers the searched field's own language if it is close behind, and never one that is far behind", async () => {
  expect(await told("winter coat", "de")).toBe("de")
  expect(await told("winter coat", "nl")).toBe("nl")
  expect(await told("zapatos de mujer", "de")).toBe("es")
  // The result for a field in one language is not used for another's.
  expect(await told("winter coat")).toBeUndefined()
})

it("names which of some languages a text is in, and none if it is in none of them, or too short", async () => {
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
  // A script needs only one word, also to exclude all of them.
  expect([await among("안녕하세요", "ko", "en"), await among("안녕하세요", "en")]).toEqual(["ko", undefined])
  expect(await among("\ud800 of the and with for the", "en")).toBe("en")
})
