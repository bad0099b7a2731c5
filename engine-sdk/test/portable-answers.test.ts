/** An answer from another thread equals the one that would have been found here, including the order of its members. */
import { expect, it } from "vitest"
import { packed, unpacked } from "../src/lane/portable.ts"
import { StoredDocument } from "../src/documents/mod.ts"
import type { FacetCount, SearchAnswer } from "../src/plan.ts"
import { answerToJson, idOfHit, partialHit, storedHit } from "../src/search/answer/answer-json.ts"
import { countsLength, leadingCounts, writtenText } from "../src/search/answer/written.ts"

it("keeps the order of an answer's members", () => {
  const answer = {
    facet_counts: [],
    found: 1,
    grouped_hits: [{ group_key: ["a"], found: 1, hits: [] }],
    hits: [],
    out_of: 1,
    request_params: { collection_name: "c", first_q: "q", per_page: 1, q: "q" },
    search_cutoff: false
  } as SearchAnswer
  const there = unpacked(packed<SearchAnswer>({ ok: true, value: answer }, {}))
  expect(JSON.stringify(there)).toBe(JSON.stringify({ ok: true, value: answer }))
})

const facet = (values: number): FacetCount => ({
  counts: Array.from({ length: values }, (_value, i) => ({ count: values - i, highlighted: `v${i}`, value: `v${i}` })),
  field_name: "f",
  sampled: false,
  stats: { total_values: values }
})
const answerWith = (over: Partial<SearchAnswer>): SearchAnswer => ({
  facet_counts: [],
  found: 1,
  hits: [],
  out_of: 1,
  request_params: { collection_name: "c", first_q: "q", per_page: 1, q: "q" },
  search_cutoff: false,
  ...over
})
const through = (answer: SearchAnswer): SearchAnswer => {
  const there = unpacked<SearchAnswer>(structuredClone(packed<SearchAnswer>({ ok: true, value: answer }, {})))
  if (!there.ok) throw new Error(there.error.message)
  return there.value
}

it("is written as it was received, and read as it was found, whichever comes first", () => {
  const stored = storedHit(new StoredDocument('{"id":"1", "big":9007199254740993}'), {
    title: { matched_tokens: ["a"], snippet: "<mark>a</mark>" }
  })
  const partial = partialHit(new StoredDocument('{"id":"2","title":"b"}'), { title: "b" }, {})
  for (const hit of [stored, partial]) {
    hit.highlights = []
    hit.text_match = 578730123365711993n
  }
  const answer = answerWith({ facet_counts: [facet(3), facet(5_000)], hits: [stored, partial] })
  const text = answerToJson(answer)
  expect(answerToJson(through(answer))).toBe(text)
  const read = through(answer)
  expect([
    read.hits![0]!.highlight.title,
    read.hits![1]!.document,
    idOfHit(read.hits![1]!),
    read.facet_counts[1]!.counts.length,
    read.hits![0]!.document.big
  ]).toEqual([{ matched_tokens: ["a"], snippet: "<mark>a</mark>" }, { title: "b" }, "2", 5_000, 9007199254740993n])
  expect(answerToJson(read).replace('"id":"1","big"', '"id":"1", "big"')).toBe(text)
  // A changed document is written with its changes.
  const changed = through(answer)
  changed.hits![1]!.document = { title: "c" }
  changed.hits![0]!.distance_m = 5
  changed.facet_counts[1]!.counts = []
  const again = JSON.parse(answerToJson(changed)) as {
    readonly hits: ReadonlyArray<{ readonly document: object; readonly distance_m?: number }>
    readonly facet_counts: ReadonlyArray<{ readonly counts: ReadonlyArray<unknown> }>
  }
  expect([
    again.hits[1]!.document,
    again.hits[0]!.distance_m,
    again.facet_counts[1]!.counts,
    again.facet_counts[0]!.counts.length
  ]).toEqual([{ title: "c" }, 5, [], 3])
})

it("has the first values of a long facet ready, and does not parse the rest for them", () => {
  const there = through(answerWith({ facet_counts: [facet(3), facet(5_000)] })),
    [short, long] = there.facet_counts as [FacetCount, FacetCount]
  expect([
    leadingCounts(long, 2).map(({ value }) => value),
    leadingCounts(short, 20).length,
    countsLength(long),
    countsLength(short)
  ]).toEqual([["v0", "v1"], 3, 5_000, 3])
  expect([writtenText(long, "counts") !== undefined, writtenText(short, "counts")]).toEqual([true, undefined])
})
