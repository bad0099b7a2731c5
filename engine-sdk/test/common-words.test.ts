/**
 * Words that most documents contain, in one large segment: operations on sets of documents must give the same answers
 * as a check of each document, for two organizations side by side with different documents.
 */
import { expect, it } from "vitest"
import { createEngine } from "../src/mod.ts"
import type { FacetRequest, SortKey } from "../src/plan.ts"
import type { Filter } from "../src/filter.ts"
import { putOf, suiteField, suitePlan, suiteSchema, suiteText } from "../src/testing/engine-suite.ts"
import { randomOf, type Random } from "./random.ts"

const DOCUMENTS = 36_000
const COMMON = ["the", "to", "for", "an", "and", "in"]
const RARE = Array.from({ length: 300 }, (_word, i) => `w${i}`)
const BRANDS = Array.from({ length: 40 }, (_brand, i) => `brand ${i}`)
interface Document {
  readonly id: string
  readonly title: string
  readonly text: string
  readonly brand?: string
  readonly tags: ReadonlyArray<string>
  readonly price: number
}
const words = (random: Random, most: number, commonShare: number): string =>
  Array.from({ length: 1 + random.below(most) }, () => random.pick(random.chance(commonShare) ? COMMON : RARE)).join(
    " "
  )
const documentOf = (random: Random, i: number): Document => ({
  id: String(i),
  title: words(random, 5, 0.2),
  text: words(random, 14, 0.5),
  ...(random.chance(0.8) ? { brand: random.pick(BRANDS) } : {}),
  // Values may repeat within a document.
  tags: Array.from({ length: random.below(4) }, () => random.pick(BRANDS)),
  price: random.below(500) / 4
})
const facetOf = (field: string): FacetRequest => ({
  field,
  ranges: [],
  order: { kind: "count" },
  topK: false,
  strategy: "exhaustive",
  returnParent: false
})
const FIELDS = ["title", "text"].map((field, i) => ({
  field,
  weight: 15 - i,
  numTypos: 0 as const,
  prefix: false,
  infix: "off" as const
}))
const SORTS: ReadonlyArray<ReadonlyArray<SortKey>> = [
  [{ kind: "text_match", order: "desc" }],
  [
    { kind: "text_match", order: "desc" },
    { kind: "field", field: "price", type: "float", missing: "normal", order: "desc" }
  ],
  [
    { kind: "field", field: "price", type: "float", missing: "normal", order: "asc" },
    { kind: "text_match", order: "desc" }
  ]
]
/** Whether every word occurs in some field. */
const holds = (own: ReadonlySet<string>, tokens: ReadonlyArray<string>): boolean =>
  tokens.every((token) => own.has(token))
const countsOf = (found: ReadonlyArray<Document>, field: "brand" | "tags" | "price"): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const document of found) {
    const value = document[field]
    for (const each of new Set(Array.isArray(value) ? value : value === undefined ? [] : [value]))
      counts.set(String(each), (counts.get(String(each)) ?? 0) + 1)
  }
  return counts
}

it("finds, counts and ranks common words as a check of every document does", async () => {
  const engine = createEngine()
  const kept = new Map<string, ReadonlyArray<{ readonly document: Document; readonly own: ReadonlySet<string> }>>()
  for (const [at, namespace] of ["acme", "other"].entries()) {
    const random = randomOf(at + 5)
    await engine.createCollection(
      namespace,
      suiteSchema("c", [
        suiteField("title", "string"),
        suiteField("text", "string"),
        suiteField("brand", "string", { facet: true, optional: true }),
        suiteField("tags", "string[]", { facet: true }),
        suiteField("price", "float", { facet: true })
      ]),
      1
    )
    const documents = Array.from({ length: DOCUMENTS }, (_document, i) => documentOf(random, i))
    await engine.write(
      namespace,
      "c",
      documents.map((document) => putOf(document as unknown as Parameters<typeof putOf>[0]))
    )
    await expect.poll(() => engine.usage(namespace, "c")?.segments, { timeout: 60_000 }).toBe(1)
    // Some are deleted from the large segment and written again into another one.
    const changed = Array.from({ length: 300 }, () => documentOf(random, random.below(DOCUMENTS)))
    await engine.write(
      namespace,
      "c",
      changed.map((document) => putOf(document as unknown as Parameters<typeof putOf>[0]))
    )
    const live = new Map([...documents, ...changed].map((document) => [document.id, document]))
    kept.set(
      namespace,
      [...live.values()].map((document) => ({
        document,
        own: new Set(`${document.title} ${document.text}`.split(" "))
      }))
    )
  }
  const random = randomOf(99)
  for (let n = 0; n < 90; n++) {
    const namespace = n % 2 === 0 ? "acme" : "other"
    // In every fifth query a word is dropped: its list of results is part of a set that is computed later.
    const isDropping = n % 5 === 0
    const tokens = isDropping
      ? [random.pick(COMMON), random.pick(RARE)]
      : [
          ...new Set(
            Array.from({ length: 1 + random.below(3) }, () => random.pick(random.chance(0.85) ? COMMON : RARE))
          )
        ]
    const ways = isDropping ? tokens.map((token) => [token]) : [tokens]
    const price = random.below(130)
    const filter: Filter | undefined = random.chance(0.3)
      ? { kind: "number", field: "price", type: "float", ranges: [{ min: 0, max: price }] }
      : undefined
    const plan = suitePlan("c", {
      text: suiteText(tokens, [], { fields: FIELDS, dropTokensThreshold: isDropping ? DOCUMENTS : 0 }),
      filter,
      sort: random.pick(SORTS),
      facets: ["brand", "tags", "price"].map(facetOf),
      facetValuesMax: 1_000
    })
    const [answer] = await engine.search(namespace, [plan])
    if (!answer.ok) throw new Error(answer.error.message)
    const found = kept
      .get(namespace)!
      .filter(
        ({ document, own }) => ways.some((way) => holds(own, way)) && (filter === undefined || document.price <= price)
      )
      .map(({ document }) => document)
    const label = `${namespace} ${tokens.join(" ")} ${filter === undefined ? "" : price}`
    expect(answer.value.found, label).toBe(found.length)
    for (const [i, field] of (["brand", "tags", "price"] as const).entries())
      expect(
        new Map(answer.value.facet_counts[i].counts.map(({ count, value }) => [value, count])),
        `${label} ${field}`
      ).toEqual(countsOf(found, field))
  }
  await engine.close()
})
