/**
 * How much of a word is marked (`docs/contract/highlighting.md#marked-words`): in a completed word, as many letters as
 * the query's last word has; and at which characters each form of highlights splits.
 */
import { expect, it } from "vitest"
import { createLab, type Lab } from "../support/engine-lab.ts"

const of = async (fields: ReadonlyArray<object>, document: object, more: object = {}): Promise<Lab> => {
  const lab = createLab()
  await lab.collection("c", fields, [{ id: "1", ...document }], more)
  return lab
}
const snippet = async (lab: Lab, parameters: Record<string, string>, field = "t"): Promise<string> => {
  const { body } = await lab.search("c", parameters)
  const hit = body.hits[0]
  // Both forms agree when the field has no separators of its own.
  const older = hit.highlights.find((one: any) => one.field === field)?.snippet
  expect(hit.highlight[field].snippet).toBe(older)
  return older
}

it("marks as many letters of a completed word as the last typed word has", async () => {
  const lab = await of([{ name: "t", type: "string" }], { t: "Cookers in kitchens" })
  expect(await snippet(lab, { q: "kitch", query_by: "t" })).toBe("Cookers in <mark>kitch</mark>ens")
  // Excluded words and stopwords count as typed, too.
  expect(await snippet(lab, { q: "kitchen -pan", query_by: "t" })).toBe("Cookers in <mark>kit</mark>chens")
  await lab.call("PUT", "/stopwords/s", { stopwords: ["for"] })
  expect(await snippet(lab, { q: "cook for", query_by: "t", stopwords: "s" })).toBe("<mark>Coo</mark>kers in kitchens")
  // A word that was typed in full is marked in full, however short the last word is.
  expect(await snippet(lab, { q: "cookers zz", query_by: "t" })).toBe("<mark>Cookers</mark> in kitchens")
})
it("counts the letters of a curated query as it was typed", async () => {
  const lab = await of([{ name: "t", type: "string" }], { t: "Cookers" }, {})
  await lab.call("PUT", "/curation_sets/s", {
    items: [{ id: "a", rule: { query: "pans", match: "exact" }, replace_query: "cook" }]
  })
  await lab.call("PATCH", "/collections/c", { curation_sets: ["s"] })
  expect(await snippet(lab, { q: "pans", query_by: "t", enable_curations: "true" })).toBe("<mark>Cook</mark>ers")
  await lab.call("PUT", "/curation_sets/s", {
    items: [{ id: "a", rule: { query: "stoves", match: "exact" }, replace_query: "cook" }]
  })
  expect(await snippet(lab, { q: "stoves", query_by: "t", enable_curations: "true" })).toBe("<mark>Cooker</mark>s")
})
it("counts the letters of the root if the field is stemmed", async () => {
  const lab = await of(
    [
      { name: "t", type: "string", stem: true },
      { name: "u", type: "string" }
    ],
    { t: "painter", u: "painterly" }
  )
  expect(await snippet(lab, { q: "painted", query_by: "t,u" })).toBe("<mark>paint</mark>er")
  expect(await snippet(lab, { q: "painted", query_by: "t,u" }, "u")).toBe("<mark>painter</mark>ly")
})
it("ends a mark where the locale ends a word", async () => {
  const lab = await of([{ name: "t", type: "string", locale: "fa" }], { t: "کتاب\u200cهای تازه" })
  expect(await snippet(lab, { q: "کتاب", query_by: "t" })).toBe("<mark>کتاب</mark>\u200cهای تازه")
})
it("splits the newer form at the collection's characters and the older one at the field's", async () => {
  const lab = await of(
    [{ name: "t", type: "string", token_separators: ["_"], symbols_to_index: ["%"] }],
    { t: "low_fat 3.5% milk/cream" },
    { token_separators: ["/", "."], symbols_to_index: ["#"] }
  )
  const marks = async (q: string) => {
    const { body } = await lab.search("c", { q, query_by: "t" })
    const { highlight, highlights } = body.hits[0]
    return {
      newer: highlight.t,
      older: { matched_tokens: highlights[0].matched_tokens, snippet: highlights[0].snippet }
    }
  }
  // The third word by the field's characters is the fourth by the collection's: `low_fat`, `3`, `5`.
  expect(await marks("milkcream")).toEqual({
    newer: { matched_tokens: ["milk"], snippet: "low_fat 3.5% <mark>milk</mark>/cream" },
    older: { matched_tokens: ["milk/cream"], snippet: "low_fat 3.5% <mark>milk/cream</mark>" }
  })
  expect((await marks("low")).older).toEqual({
    matched_tokens: ["low"],
    snippet: "<mark>low</mark>_fat 3.5% milk/cream"
  })
})
it("marks no word of the query that the field does not contain, though its letters occur there", async () => {
  const lab = await of(
    [{ name: "t", type: "string", token_separators: ["_"] }],
    { t: "oak*elm tree" },
    { token_separators: ["*"] }
  )
  const { body } = await lab.search("c", { q: "oak elm", query_by: "t" })
  // Joined, both words are the field's first word, and that is what the newer form marks.
  expect(body.hits[0].highlight.t.snippet).toBe("<mark>oak</mark>*elm tree")
  expect(body.hits[0].highlights[0].snippet).toBe("<mark>oak*elm</mark> tree")
})
