/** What is computed from a visitor's history, as functions: bytes of a row, tastes, and the order of a search. */
import { describe, expect, it } from "vitest"
import type { CollectionInfo, FieldValue } from "../../../engine-sdk/src/mod.ts"
import type { Candidate, StageContext } from "../../../engine-sdk/src/pipeline/mod.ts"
import { affinitiesOf, tasteFieldsOf, strongest } from "../../../src/personalization/affinities.ts"
import { affinityStage } from "../../../src/personalization/affinity-stage.ts"
import { actingStrength, strengthOf } from "../../../src/personalization/personalized.ts"
import {
  hexOfTake,
  packTake,
  remembered,
  replaced,
  type Take,
  trimmed,
  unpackTakes
} from "../../../streams/figures/history.ts"

const AT_S = 1_790_000_000
const take = (document: string, kind: Take["kind"] = "click", at_s = AT_S): Take => ({ document, kind, at_s })
const pack = (takes: ReadonlyArray<Take>) => Buffer.concat(takes.map(packTake))

describe("a history", () => {
  it("is restored in any script; entries without an id, or with a very long one, are not stored", () => {
    const takes = [take("p-1", "view"), take("läufer 鞋", "purchase", AT_S + 1), take("3", "add_to_cart", 0)]
    expect(unpackTakes(pack(takes))).toEqual(takes)
    expect(packTake(take("")).length + packTake(take("x".repeat(129))).length).toBe(0)
    expect(unpackTakes(packTake(take("x".repeat(128))))).toHaveLength(1)
    for (const id of ["", "sku-1", "\u0000~", "été", "x".repeat(128), "x".repeat(129), "é".repeat(64), "é".repeat(65)])
      for (const at_s of [-1, 0, AT_S + 0.9, 2 ** 31, 2 ** 32 - 1, 2 ** 33]) {
        const one = take(id, "purchase", at_s)
        expect(hexOfTake(one)).toBe(Buffer.from(packTake(one)).toString("hex"))
      }
  })
  it("loses its oldest entries once it has more than 288 bytes", () => {
    const takes = Array.from({ length: 18 }, (_, i) => take(`p${String(i).padStart(9, "0")}`))
    const all = pack(takes)
    expect(all.length).toBe(288)
    expect(trimmed(all)).toBe(all)
    const kept = unpackTakes(trimmed(pack([...takes, take("q", "click", AT_S + 1)])))
    expect(kept[kept.length - 1]).toEqual(take("q", "click", AT_S + 1))
    // The documents kept, and one before them.
    expect(kept.slice(0, -1)).toEqual(takes.slice(-15))
    expect(unpackTakes(remembered(pack(kept))).slice(0, -1)).toEqual(takes.slice(-14))
  })
  it("replaces days that are reported again, by time", () => {
    const day = Math.floor(AT_S / 86_400) * 86_400
    const isDay = (at_s: number) => at_s >= day && at_s < day + 86_400
    const before = pack([
      take("old", "click", day - 1),
      take("wrong", "click", day),
      take("new", "click", day + 86_400)
    ])
    const told = pack([take("b", "click", day + 5), take("a", "view", day)])
    const after = unpackTakes(replaced(before, isDay, told))
    expect(after.map(({ document }) => document)).toEqual(["old", "a", "b", "new"])
    expect(Buffer.from(replaced(pack(after), isDay, told))).toEqual(pack(after))
  })
})

const field = (name: string, type: string, facet: boolean) => ({ name, type, facet, reference: "" })
const collection = {
  schema: {
    fields: [
      field("title", "string", false),
      field("brand", "string", true),
      field("colors", "string[]", true),
      field("stock", "int32", true),
      field("sale_price", "float", false)
    ]
  }
} as unknown as CollectionInfo
const fields = tasteFieldsOf(collection, () => true)
const documents = new Map<string, ReadonlyArray<ReadonlyArray<string>>>([
  ["1", [["acme"], ["red", "blue"], ["32-45"]]],
  ["2", [["acme"], ["green"], ["45-64"]]],
  ["3", [["zoom"], ["red"], ["32-45"]]]
])
const affinities = (takes: ReadonlyArray<Take>) => affinitiesOf(takes, fields, (id) => documents.get(id))

describe("affinities", () => {
  it("use facets that are texts and the price, if they may be seen", () => {
    expect(fields.map(({ name }) => name)).toEqual(["brand", "colors", "sale_price"])
    expect(tasteFieldsOf(collection, (name) => name !== "brand").map(({ name }) => name)).toEqual([
      "colors",
      "sale_price"
    ])
  })
  it("are shares of all events and four more, weighted by kind, halved every two weeks before the newest", () => {
    const shown = strongest(affinities([take("1", "purchase"), take("3", "purchase", AT_S - 14 * 86_400)]), 10)
    // Weights of 8 and 4, out of 16.
    expect(shown).toEqual([
      { field: "colors", value: "red", weight: 0.75 },
      { field: "sale_price", value: "32-45", weight: 0.75 },
      { field: "brand", value: "acme", weight: 0.5 },
      { field: "colors", value: "blue", weight: 0.5 },
      { field: "brand", value: "zoom", weight: 0.25 }
    ])
    expect(affinities([take("gone", "purchase")])).toEqual([])
    expect(strongest(affinities([take("2", "view")]), 1)[0]!.weight).toBe(0.2)
  })
})

const candidateOf = (values: Readonly<Record<string, FieldValue>>, rank: number): Candidate => ({
  id: String(rank),
  rank,
  hit: {} as Candidate["hit"],
  value: (name) => values[name]
})
/** A hundred hits of other brands, and two that the visitor likes, at ranks 40 and 80. */
const candidates = Array.from({ length: 100 }, (_, rank) =>
  candidateOf({ brand: rank === 40 || rank === 80 ? "acme" : `b${rank}`, colors: ["pink"] }, rank)
)
const order = (strength: number, takes: ReadonlyArray<Take>, context: Partial<StageContext> = {}) =>
  (affinityStage(affinities(takes), strength).run(candidates, context as StageContext) as ReadonlyArray<Candidate>).map(
    ({ rank }) => rank
  )

describe("the order of a personal search", () => {
  const likes = Array.from({ length: 9 }, () => take("1", "purchase"))
  it("moves what the visitor likes forward, further with more strength, and leaves everything else in order", () => {
    const at = (strength: number) => order(strength, likes).indexOf(40)
    expect(at(0.1)).toBeGreaterThan(at(0.3))
    expect(at(0.3)).toBeLessThan(20)
    expect(order(1, likes).slice(0, 4)).toEqual([40, 80, 0, 1])
    expect(order(0.3, likes).filter((rank) => rank !== 40 && rank !== 80)).toEqual(
      candidates.map(({ rank }) => rank).filter((rank) => rank !== 40 && rank !== 80)
    )
  })
  it("includes its reasons in an explanation", () => {
    const scores = new Map<string, number>()
    let told = ""
    order(0.3, likes, { scored: (id, _name, value) => scores.set(id, value), note: (text) => (told = text) })
    expect(scores.get("40")).toBeGreaterThan(0.3)
    expect(scores.get("41")).toBe(0)
    expect(told).toBe("strength 0.3; brand=acme 0.9474, colors=blue 0.9474, colors=red 0.9474, sale_price=32-45 0.9474")
  })
})

describe("the strength of a search", () => {
  it("is a number from 0 to 1, and 0 if none is given", () => {
    const of = (x_personalization_strength: string) => strengthOf({ x_personalization_strength })
    expect([of("0.3"), of("1"), of(""), strengthOf({})].map((said) => said.ok && said.value)).toEqual([0.3, 1, 0, 0])
    for (const wrong of ["1.01", "-0.1", "much", "0x1", "1e0", "NaN", "."]) expect(of(wrong).ok, wrong).toBe(false)
  })
  it("does not apply to groups, other sorts, or keys that forbid it", () => {
    const of = (
      parameters: Record<string, string>,
      personalization?: boolean,
      embedded?: Record<string, unknown>,
      group?: object
    ) =>
      actingStrength(
        { embedded, key: { ...(personalization === undefined ? {} : { personalization }) } } as never,
        { parameters: { x_personalization_strength: "0.5", ...parameters }, plan: { group } } as never
      )
    expect([
      of({}),
      of({ sort_by: "_text_match:desc,price:asc" }),
      of({ sort_by: "_text_match(buckets: 5):desc" }),
      of({}, true)
    ]).toEqual([0.5, 0.5, 0.5, 0.5])
    expect([
      of({ sort_by: "price:asc" }),
      of({}, false),
      of({}, undefined, { personalization: false }),
      of({}, undefined, undefined, {})
    ]).toEqual([0, 0, 0, 0])
  })
})
