/**
 * Rules, filters and pages over the real engine, compared with a slow and obvious definition: take what the engine
 * finds without rules, remove what is excluded, order by sums of boosts, put injected documents at their positions, cut
 * pages.
 */
import { describe, expect, it } from "vitest"
import { ok } from "../src/errors.ts"
import { createEngine, type Filter, type SearchPlan, type SortKey } from "../src/mod.ts"
import {
  merchandise,
  type Merchandised,
  type MerchandisedSearch,
  type MerchandiseEnvironment
} from "../src/pipeline/mod.ts"
import { compileRules, emptyRuleSet, type RuleSet } from "../src/rules/mod.ts"
import { putOf, suiteField, suitePlan, suiteSchema, suiteText } from "../src/testing/engine-suite.ts"
import { randomOf, type Random } from "./random.ts"

interface Row {
  readonly id: string
  readonly title: string
  readonly brand: string
  readonly price: number
}
interface Known {
  readonly text: string
  readonly filter: Filter
  readonly holds: (row: Row) => boolean
}
const brandIs = (brand: string): Known => ({
  text: `brand:=${brand}`,
  filter: {
    kind: "string",
    field: "brand",
    values: [{ tokens: [brand], match: "equals", prefix: false }],
    prefixCandidates: 4
  },
  holds: (row) => row.brand === brand
})
const priceBelow = (max: number): Known => ({
  text: `price:<${max}`,
  filter: { kind: "number", field: "price", type: "int32", ranges: [{ min: -1e9, max, maxOpen: true }] },
  holds: (row) => row.price < max
})
const filters: ReadonlyArray<Known> = [
  brandIs("acme"),
  brandIs("berg"),
  brandIs("holm"),
  priceBelow(3),
  priceBelow(6),
  priceBelow(0)
]
const known = (text: string): Known | undefined => filters.find((filter) => filter.text === text)
const parseFilter = (text: string) => ok(known(text)?.filter)

const rowsOf = (random: Random): ReadonlyArray<Row> =>
  Array.from({ length: 40 }, (_row, i) => ({
    id: `d${i}`,
    title: [random.pick(["red", "blue"]), random.pick(["lamp", "desk", "lamp lamp"])].join(" "),
    brand: random.pick(["acme", "berg", "holm"]),
    price: random.below(8)
  }))
const rulesOf = (random: Random): RuleSet => ({
  ...emptyRuleSet,
  exclusion_filter_by: random.chance(0.4) ? random.pick(filters).text : "",
  boosts: Array.from({ length: random.below(4) }, () => ({
    filter_by: random.pick(filters).text,
    weight: random.pick([0.1, 0.2, 0.3, -0.5, 2]),
    name: "",
    priority: 0
  })),
  boosts_override_sort: random.chance(0.5),
  pins: Array.from({ length: random.below(6) }, () => ({
    query: "",
    match: "any" as const,
    filter_contains: "",
    doc_id: `d${random.below(45)}`,
    position: 1 + random.below(9),
    priority: random.below(3)
  })),
  sponsored: Array.from({ length: random.below(3) }, () => ({
    id: `d${random.below(45)}`,
    query: "",
    match: "any" as const,
    filter_by: random.chance(0.5) ? random.pick(filters).text : "",
    label: "Ad",
    campaign_id: "c",
    position: 1 + random.below(9),
    priority: random.below(3)
  })),
  diversity: random.chance(0.4) ? [{ field: "brand", max: 1 + random.below(3), from: 1 + random.below(3) }] : []
})

interface Asked {
  readonly rules: RuleSet
  readonly filter: Known | undefined
  readonly forced: Known | undefined
  readonly free: boolean
  readonly sort: ReadonlyArray<SortKey>
  readonly hidden: ReadonlyArray<string>
}
/** All hits in order, and the organic ones among them before injected ones are placed. */
const obvious = (
  rows: ReadonlyArray<Row>,
  matching: ReadonlyArray<Row>,
  { rules, filter, forced, free, sort, hidden }: Asked
): { readonly ids: ReadonlyArray<string>; readonly found: ReadonlyArray<Row> } => {
  const byPriority = <A extends { readonly priority: number }>(list: ReadonlyArray<A>): ReadonlyArray<A> =>
    [...list].sort((a, b) => a.priority - b.priority)
  const exclusion = known(rules.exclusion_filter_by)
  const permitted = (row: Row): boolean => exclusion?.holds(row) !== true && forced?.holds(row) !== false
  const sumOf = (row: Row): number =>
    Math.round(
      rules.boosts.reduce((sum, boost) => sum + (known(boost.filter_by)!.holds(row) ? boost.weight : 0), 0) * 1e9
    ) / 1e9
  const allowed = (row: Row): boolean => !hidden.includes(row.id) && permitted(row)
  const priceFirst = sort[0]?.kind === "field"
  const ordered = (list: ReadonlyArray<Row>): ReadonlyArray<Row> =>
    [...list].sort((a, b) =>
      priceFirst && !rules.boosts_override_sort ? a.price - b.price || sumOf(b) - sumOf(a) : sumOf(b) - sumOf(a)
    )
  const organic = ordered(matching.filter(allowed))
  const eligible = rows.filter((row) => allowed(row) && (free || filter?.holds(row) !== false))
  // A hidden document is not chosen as a best hit, but one that a rule names is placed anyway.
  const placeable = rows.filter((row) => permitted(row) && (free || filter?.holds(row) !== false))
  const newest = [...eligible].reverse()
  const chosen: Array<{ readonly row: Row; readonly position: number }> = []
  const take = (row: Row | undefined, position: number): void => {
    if (row !== undefined && !chosen.some((other) => other.row === row)) chosen.push({ row, position })
  }
  const pins = byPriority(rules.pins),
    named = byPriority(rules.sponsored)
  for (const pin of pins)
    take(
      placeable.find(({ id }) => id === pin.doc_id),
      pin.position
    )
  // A named slot is resolved before the best hit for another one is chosen, but keeps its turn at a contested position.
  const namedRows = named
    .filter(({ filter_by }) => filter_by === "")
    .flatMap(({ id }) => placeable.find((row) => row.id === id) ?? [])
  for (const slot of named) {
    if (slot.filter_by === "") {
      take(
        placeable.find(({ id }) => id === slot.id),
        slot.position
      )
      continue
    }
    const free = (row: Row): boolean =>
      known(slot.filter_by)!.holds(row) &&
      eligible.includes(row) &&
      !namedRows.includes(row) &&
      !chosen.some((other) => other.row === row)
    take(
      organic.find(free) ?? ordered(priceFirst ? [...newest].sort((a, b) => a.price - b.price) : newest).find(free),
      slot.position
    )
  }
  const taken = new Map<number, Row>()
  const late = chosen.filter(({ row, position }) => {
    if (taken.has(position)) return true
    taken.set(position, row)
    return false
  })
  for (const { row, position } of late) {
    let at = position
    while (taken.has(at)) at++
    taken.set(at, row)
  }
  let rest = organic.filter((row) => !chosen.some((other) => other.row === row))
  for (const { field, max = Infinity, from } of rules.diversity) {
    const counts = new Map<string, number>(),
      over: Row[] = [],
      within: Row[] = []
    rest.forEach((row, i) => {
      if (i < from - 1) {
        within.push(row)
        return
      }
      const n = counts.get(row[field as "brand"]) ?? 0
      if (n >= max) over.push(row)
      else {
        within.push(row)
        counts.set(row.brand, n + 1)
      }
    })
    rest = [...within, ...over]
  }
  const ids: string[] = []
  const placed = [...taken].sort((a, b) => a[0] - b[0])
  for (const row of rest) {
    while (placed.length > 0 && placed[0][0] <= ids.length + 1) ids.push(placed.shift()![1].id)
    ids.push(row.id)
  }
  ids.push(...placed.map(([, row]) => row.id))
  return { ids, found: [...new Set([...organic, ...chosen.map(({ row }) => row)])] }
}

describe("a merchandised search", () => {
  it("equals the obvious definition, page by page", async () => {
    const random = randomOf(77)
    for (let round = 0; round < 12; round++) {
      const rows = rowsOf(random)
      const engine = createEngine()
      await engine.createCollection(
        "t",
        suiteSchema("c", [
          suiteField("title", "string"),
          suiteField("brand", "string", { facet: true }),
          suiteField("price", "int32")
        ]),
        1
      )
      for (const row of rows) await engine.write("t", "c", [putOf({ ...row })])
      const environment: MerchandiseEnvironment = { engine, namespace: "t", now_us: () => 0, explain: round % 2 === 0 }
      for (let n = 0; n < 25; n++) {
        const asked: Asked = {
          rules: rulesOf(random),
          filter: random.chance(0.4) ? random.pick(filters) : undefined,
          forced: random.chance(0.3) ? random.pick(filters) : undefined,
          free: random.chance(0.3),
          sort: random.chance(0.3)
            ? [{ kind: "field", field: "price", type: "int32", order: "asc", missing: "normal" }]
            : [],
          hidden: random.chance(0.2) ? [`d${random.below(40)}`] : []
        }
        const words = random.pick([[], ["lamp"], ["red"], ["nothing"]])
        const filter = [asked.filter?.filter, asked.forced?.filter].reduce<Filter | undefined>(
          (left, right) => (left === undefined ? right : right === undefined ? left : { kind: "and", left, right }),
          undefined
        )
        const text =
          words.length === 0
            ? {}
            : { text: suiteText(words, ["title"], { dropTokensThreshold: 0, typoTokensThreshold: 0 }) }
        const plain: SearchPlan = suitePlan("c", {
          ...text,
          filter,
          pinnedFilter: asked.forced?.filter,
          hidden: asked.hidden,
          sort: [
            ...asked.sort,
            ...(words.length === 0 ? [] : [{ kind: "text_match" as const, order: "desc" as const }])
          ],
          givenSortKeys: asked.sort.length,
          limit: 250
        })
        const [unruled] = await engine.search("t", [plain])
        const matching = (unruled.ok ? (unruled.value.hits ?? []) : []).map(({ document }) =>
          rows.find(({ id }) => id === document.id)!
        )
        const expected = obvious(rows, matching, asked)
        const rules = compileRules(asked.rules, { parseFilter })
        const page = (offset: number, limit: number): MerchandisedSearch => ({
          plan: {
            ...plain,
            offset,
            limit,
            facets: [
              {
                field: "brand",
                ranges: [],
                order: { kind: "count" },
                topK: false,
                strategy: "automatic",
                returnParent: false
              }
            ]
          },
          rules,
          request: { q: words.join(" "), now_ms: 0 },
          ...(asked.free ? { filterCuratedHits: false } : {})
        })
        const shown: string[] = []
        for (let offset = 0; offset < 42; offset += 7) {
          const [result] = merchandise(environment, [page(offset, 7)]) as ReadonlyArray<{
            readonly ok: true
            readonly value: Merchandised
          }>
          const { answer } = result.value
          shown.push(...(answer.hits ?? []).map(({ document }) => String(document.id)))
          expect(answer.found).toBe(expected.found.length)
          const counts = Object.fromEntries(answer.facet_counts[0].counts.map(({ value, count }) => [value, count]))
          for (const brand of ["acme", "berg", "holm"])
            expect(counts[brand] ?? 0).toBe(expected.found.filter((row) => row.brand === brand).length)
          expect(Object.keys(answer)).not.toContain("window")
        }
        expect(shown, JSON.stringify({ ...asked, words })).toEqual(expected.ids)
      }
      await engine.close()
    }
  })

  it("reorders the first 250 and leaves later ones alone; no hit is shown twice or lost", async () => {
    const engine = createEngine()
    await engine.createCollection("t", suiteSchema("c", [suiteField("brand", "string", { facet: true })]), 1)
    const rows = Array.from({ length: 320 }, (_row, i) => ({
      id: `d${i}`,
      brand: ["acme", "berg", "holm"][Math.floor(i / 40) % 3]
    }))
    await engine.write(
      "t",
      "c",
      rows.map((row) => putOf(row))
    )
    const environment: MerchandiseEnvironment = { engine, namespace: "t", now_us: () => 0 }
    const rules = compileRules(
      {
        ...emptyRuleSet,
        pins: [1, 130, 270].map((position, i) => ({
          query: "",
          match: "any" as const,
          filter_contains: "",
          doc_id: `d${i}`,
          position,
          priority: 0
        })),
        diversity: [{ field: "brand", max: 2, from: 1 }]
      },
      { parseFilter }
    )
    const organic = rows.slice(3).reverse(),
      counts = new Map<string, number>()
    const isWithin = organic.slice(0, 250).map(({ brand }) => {
      const n = counts.get(brand) ?? 0
      counts.set(brand, n + 1)
      return n < 2
    })
    const expected = [
      ...organic.slice(0, 250).filter((_row, i) => isWithin[i]),
      ...organic.slice(0, 250).filter((_row, i) => !isWithin[i]),
      ...organic.slice(250)
    ].map(({ id }) => id)
    for (const [i, position] of [1, 130, 270].entries()) expected.splice(position - 1, 0, `d${i}`)
    for (const size of [10, 60, 250]) {
      const shown: string[] = []
      for (let offset = 0; offset < 320; offset += size) {
        const [result] = merchandise(environment, [
          { plan: suitePlan("c", { offset, limit: size }), rules, request: { q: "*", now_ms: 0 } }
        ]) as ReadonlyArray<{ readonly ok: true; readonly value: Merchandised }>
        expect(result.value.answer.found).toBe(320)
        shown.push(...(result.value.answer.hits ?? []).map(({ document }) => String(document.id)))
      }
      expect(shown).toEqual(expected)
    }
    await engine.close()
  })
})
