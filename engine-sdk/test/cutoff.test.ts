/**
 * `search_cutoff_ms` during filters, ordering and facets: incomplete answers are marked, and no document passes that a
 * filter excludes.
 */
import { describe, expect, it } from "vitest"
import { SegmentBuilder } from "../src/index/builders.ts"
import { hasBit } from "../src/index/bits.ts"
import { CollectionReader } from "../src/index/reader.ts"
import { allocatePlain } from "../src/index/sections.ts"
import { createEngine } from "../src/mod.ts"
import type { Filter } from "../src/filter.ts"
import { Allowance, Cutoff, within } from "../src/budget/cutoff.ts"
import { allowedBits } from "../src/search/filter/filters.ts"
import { putOf, suiteField, suitePlan, suiteSchema } from "../src/testing/engine-suite.ts"
import { randomOf, type Random } from "./random.ts"

/** A cutoff that is over at the n-th check of the clock. */
class Counted extends Cutoff {
  private left: number
  constructor(looks: number) {
    super(new Allowance(), Infinity)
    this.left = looks
  }
  override check(): boolean {
    return (this.isPast ||= this.left-- <= 0)
  }
}
const geo = (lat: number, radius_m: number): Filter => ({
  kind: "geo",
  field: "place",
  areas: [{ kind: "radius", lat, lng: 10, radius_m, exactFilterRadius_m: 0 }]
})
const number = (min: number, max: number): Filter => ({
  kind: "number",
  field: "n",
  type: "int32",
  ranges: [{ min, max }]
})
const element = (tag: string): Filter => ({
  kind: "element",
  path: "parts",
  filter: {
    kind: "string",
    field: "parts.tag",
    values: [{ tokens: [tag], match: "equals", prefix: false }],
    prefixCandidates: 4
  }
})
const schema = suiteSchema("c", [
  suiteField("place", "geopoint"),
  suiteField("n", "int32", { facet: true }),
  suiteField("parts", "object[]"),
  suiteField("parts.tag", "string[]", { facet: true })
])

const filterOf = (random: Random, depth = 0): Filter => {
  const kind = depth > 3 ? "leaf" : random.pick(["leaf", "leaf", "not", "and", "or"] as const)
  if (kind === "not") return { kind, filter: filterOf(random, depth + 1) }
  if (kind === "and" || kind === "or")
    return { kind, left: filterOf(random, depth + 1), right: filterOf(random, depth + 1) }
  const from = random.below(3_000)
  return random.pick([
    () => geo(random.below(90), random.below(4_000_000)),
    () => number(from, from + random.below(2_000)),
    () => element(random.pick(["a", "b"]))
  ])()
}
const readerOf = (): CollectionReader => {
  const texts = new Map<number, string>()
  const reader = new CollectionReader(schema, { text: (seq) => texts.get(seq) })
  for (let part = 0; part < 3; part++) {
    const builder = new SegmentBuilder(schema, undefined)
    for (let i = 0; i < 1_100; i++) {
      const seq = part * 1_100 + i,
        tag = i % 3 === 0 ? "a" : "b"
      texts.set(seq, JSON.stringify({ id: `d${seq}`, n: seq, parts: [{ tag }] }))
      builder.add(
        seq,
        `d${seq}`,
        new Map<string, unknown>([
          ["place", [[seq % 90, 10]]],
          ["n", seq],
          ["parts.tag", [tag]]
        ]) as Parameters<SegmentBuilder["add"]>[2]
      )
    }
    reader.apply({
      added: [{ id: part + 1, ...builder.finish(allocatePlain), ...(part === 1 ? { deleted: [5, 6, 7] } : {}) }],
      removed: [],
      deletions: []
    })
  }
  return reader
}
const passing = (
  reader: CollectionReader,
  filter: Filter,
  cutoff = new Cutoff(new Allowance(), Infinity)
): ReadonlyArray<string> =>
  within(cutoff, () =>
    allowedBits({ collection: () => reader, names: () => [], dictionaries: () => undefined }, reader, filter)
  ).flatMap((bits, s) =>
    Array.from({ length: reader.views[s].segment.docs }, (_doc, doc) => doc)
      .filter((doc) => bits === undefined || hasBit(bits, doc))
      .map((doc) => `${s}-${doc}`)
  )

describe("a filter that ran out of time", () => {
  it("passes only what the whole filter would, also under negations, and leaves no partial result behind", () => {
    const random = randomOf(31)
    let given = 0
    for (let round = 0; round < 150; round++) {
      const reader = readerOfRound(round)
      const filter = filterOf(random),
        cutoff = new Counted(random.below(6))
      const part = passing(reader, filter, cutoff),
        whole = new Set(passing(reader, filter))
      expect(part.filter((place) => !whole.has(place))).toEqual([])
      if (cutoff.isPast) given++
      else expect(part.length).toBe(whole.size)
      expect(passing(reader, filter)).toEqual(passing(readerOf(), filter))
    }
    expect(given).toBeGreaterThan(30)
  })
  /** A reader with an empty cache in every third round, and the same reader in the others. */
  let kept = readerOf()
  const readerOfRound = (round: number): CollectionReader => (round % 3 === 0 ? (kept = readerOf()) : kept)
})

describe("a search that ran out of time", () => {
  const withEngine = async (body: (engine: ReturnType<typeof createEngine>) => Promise<void>): Promise<void> => {
    const engine = createEngine()
    try {
      await engine.createCollection("t", schema, 1)
      const written = await engine.write(
        "t",
        "c",
        Array.from({ length: 6_000 }, (_document, i) =>
          putOf({ id: `d${i}`, n: i, place: [i % 90, 10], parts: [{ tag: i % 3 === 0 ? "a" : "b" }] })
        )
      )
      if (!written.ok || !written.value.every(({ result }) => result.ok)) throw new Error("refused")
      await body(engine)
    } finally {
      await engine.close()
    }
  }
  it("says so, finds nothing that the filter or a key's restriction excludes, and the next one finds everything", () =>
    withEngine(async (engine) => {
      const plans = [
        suitePlan("c", { filter: { kind: "not", filter: geo(0, 4_000_000) }, cutoff_ms: -1 }),
        suitePlan("c", {
          filter: element("a"),
          pinnedFilter: { kind: "not", filter: geo(0, 50_000_000) },
          pinned: [{ id: "d1", position: 1 }],
          cutoff_ms: -1
        })
      ]
      for (const plan of plans) {
        const [late] = await engine.search("t", [plan])
        expect(late.ok && [late.value.search_cutoff, late.value.found, late.value.hits]).toEqual([true, 0, []])
        const [whole] = await engine.search("t", [{ ...plan, cutoff_ms: 30_000 }])
        expect(whole.ok && [whole.value.search_cutoff, whole.value.found > 1_000]).toEqual([false, true])
      }
    }))
  it("orders and counts what it has if that takes no time", () =>
    withEngine(async (engine) => {
      const [answer] = await engine.search("t", [
        suitePlan("c", {
          sort: [{ kind: "field", field: "n", type: "int32", missing: "normal", order: "desc" }],
          limit: 3,
          cutoff_ms: -1
        })
      ])
      expect(answer.ok && answer.value.found).toBe(6_000)
      expect(answer.ok && answer.value.hits?.length).toBe(3)
    }))
})
