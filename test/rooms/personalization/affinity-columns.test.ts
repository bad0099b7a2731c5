/**
 * A personal order from the columns of a window equals the one from reading each hit: a plain implementation is the
 * oracle, and an engine's own columns are compared with the hits' values.
 */
import { describe, expect, it } from "vitest"
import { createEngine } from "../../../engine-sdk/src/mod.ts"
import type { FieldValue, HitWindow, WindowColumn } from "../../../engine-sdk/src/mod.ts"
import type { Candidate, StageContext } from "../../../engine-sdk/src/pipeline/mod.ts"
import { putOf, suiteField, suitePlan, suiteSchema } from "../../../engine-sdk/src/testing/engine-suite.ts"
import { makeRandom } from "../../../fixtures/random.ts"
import { type FieldAffinity, tastesOf } from "../../../src/personalization/affinities.ts"
import { affinityStage } from "../../../src/personalization/affinity-stage.ts"

/** Scores each hit by its best value of each field, then sorts all of them. */
const plainly = (
  affinities: ReadonlyArray<FieldAffinity>,
  strength: number,
  candidates: ReadonlyArray<Candidate>
): ReadonlyArray<string> => {
  const raw = candidates.map(() => 0)
  for (const { field, rest, shares } of affinities) {
    const tastes = candidates.map((candidate) =>
      tastesOf(field, candidate.value(field.name)).filter((taste) => shares.has(taste))
    )
    const lift = (taste: string): number => {
      const hits = tastes.reduce((sum, some) => sum + some.filter((one) => one === taste).length, 0)
      return Math.log1p(shares.get(taste)! / ((hits / candidates.length + 0.1) * rest))
    }
    for (const [at, some] of tastes.entries()) raw[at]! += Math.max(0, ...some.map(lift))
  }
  const least = Math.min(...raw),
    span = Math.max(...raw) - least
  if (span === 0) return candidates.map(({ id }) => id)
  const trust = 1 - affinities[0]!.rest
  const scores = raw.map((sum, at) => (1 - strength) / (at + 1) + (strength * trust * (sum - least)) / span)
  return candidates
    .map((_candidate, at) => at)
    .sort((a, b) => scores[b]! - scores[a]! || a - b)
    .map((at) => candidates[at]!.id)
}

const FIELDS = [
  { name: "brand", isPrice: false },
  { name: "colors", isPrice: false },
  { name: "note", isPrice: false },
  { name: "price", isPrice: true }
]
const random = makeRandom(7)
const word = (of: number) => `${random.pick(["läufer", "鞋", "b"])} ${Math.floor(random.next() * of)}`
const document = (id: number) => ({
  id: String(id),
  title: "lamp",
  ...(random.next() < 0.9 ? { brand: random.next() < 0.05 ? "x".repeat(200) : word(9) } : {}),
  ...(random.next() < 0.9 ? { colors: Array.from({ length: Math.floor(random.next() * 4) }, () => word(3)) } : {}),
  ...(random.next() < 0.5 ? { note: word(200) } : {}),
  ...(random.next() < 0.9 ? { price: Math.round(random.next() * 400) } : {})
})
const schema = suiteSchema("c", [
  suiteField("title", "string"),
  suiteField("brand", "string", { facet: true, optional: true }),
  suiteField("colors", "string[]", { facet: true, optional: true }),
  suiteField("note", "string", { facet: true, optional: true }),
  suiteField("price", "float", { facet: true, optional: true })
])
const affinities = (): ReadonlyArray<FieldAffinity> =>
  FIELDS.map((field) => {
    const liked = Array.from({ length: 30 }, () => document(0) as Record<string, unknown>)
    const shares = new Map(
      liked.flatMap((one) => tastesOf(field, one[field.name])).map((taste) => [taste, 0.05 + random.next() / 2])
    )
    return { field, shares, largest: Math.max(0, ...shares.values()), rest: 0.2 + random.next() / 2 }
  })

/** Windows of one collection in several segments, as an engine has them. */
const withWindows = async (test: (windows: ReadonlyArray<HitWindow>) => void) => {
  const engine = createEngine()
  try {
    await engine.createCollection("t", schema, 1)
    for (let part = 0; part < 6; part++)
      await engine.write(
        "t",
        "c",
        Array.from({ length: 50 }, (_, i) => putOf(document(50 * part + i)))
      )
    const plan = suitePlan("c", { limit: 10, window: { size: 250, fields: FIELDS.map(({ name }) => name) } })
    const answers = await engine.search("t", [plan])
    test(answers.flatMap((answer) => (answer.ok ? [answer.value.window!] : [])))
  } finally {
    await engine.close()
  }
}
const candidatesOf = (window: HitWindow): ReadonlyArray<Candidate> =>
  window.organic.map((hit, rank) => ({ id: window.ids[rank]!, rank, hit, value: (name) => window.value(rank, name) }))

describe("columns of a window", () => {
  it("have every hit's own values, in several segments, and leave missing ones to the hit", async () => {
    await withWindows(([window]) => {
      const told: Array<string> = []
      for (const { name } of FIELDS) {
        const column: WindowColumn | undefined = window!.column!(name)
        if (column === undefined) continue
        told.push(name)
        expect(Array.from(column.places, (place) => column.values[place])).toEqual(
          window!.ids.map((_id, i): FieldValue | undefined => window!.value(i, name))
        )
      }
      expect([window!.ids.length, told]).toEqual([250, ["brand", "note", "price"]])
      expect(window!.column!("title")).toBeUndefined()
    })
  })
  it("give the same order as each hit, also for hits that were moved before", async () => {
    await withWindows(([window]) => {
      for (let round = 0; round < 40; round++) {
        const given = [...candidatesOf(window!)]
        if (round % 2 === 1) given.sort((a, b) => ((a.rank * 7) % 250) - ((b.rank * 7) % 250))
        const own = affinities(),
          strength = [0.1, 0.3, 1][round % 3]!
        const stage = affinityStage(own, strength)
        const ordered = (context: Partial<StageContext>) =>
          (stage.run(given, context as StageContext) as ReadonlyArray<Candidate>).map(({ id }) => id)
        const expected = plainly(own, strength, given)
        expect(ordered({ column: (name) => window!.column!(name) }), `round ${round}`).toEqual(expected)
        expect(ordered({}), `round ${round}`).toEqual(expected)
      }
    })
  })
})
