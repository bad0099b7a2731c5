/**
 * What the API needs several searches for: random plans with documents placed by rules and callers, boosts and windows,
 * run on a server and on the engine in memory.
 */
import { expect, it } from "vitest"
import type { SearchEngine } from "../../engine-sdk/src/engine.ts"
import { createEngine } from "../../engine-sdk/src/mod.ts"
import type { Hit, SearchAnswer, SearchPlan } from "../../engine-sdk/src/plan.ts"
import type { Filter } from "../../engine-sdk/src/filter.ts"
import { TypesenseEngine } from "../../engine-sdk/src/typesense/mod.ts"
import { putOf, suiteField, suitePlan, suiteSchema, suiteText } from "../../engine-sdk/src/testing/engine-suite.ts"
import { seeded } from "../support/engine-lab.ts"
import { keepingToTheApi, startNode } from "../support/typesense-node.ts"

const DOCUMENTS = 80
const FIELDS = ["brand", "n", "maker.name", "tags", "near", "big"]
const schema = suiteSchema("goods", [
  suiteField("title", "string"),
  suiteField("brand", "string", { facet: true }),
  suiteField("tags", "string[]", { facet: true }),
  suiteField("n", "int32"),
  suiteField("big", "int64"),
  suiteField("maker", "object", { sort: false }),
  suiteField("maker.name", "string"),
  suiteField("near", "float[]", { num_dim: 2, sort: false, hnsw_params: { M: 16, ef_construction: 200 } })
])
const words = ["cup", "mug", "cups", "red", "blue"]
const random = seeded(22_11)
const below = (n: number): number => Math.floor(random() * n)
const pick = <A>(of: ReadonlyArray<A>): A => of[below(of.length)]!
const maybe = <A>(share: number, make: () => A): A | undefined => (random() < share ? make() : undefined)
const documents = Array.from({ length: DOCUMENTS }, (_, i) => ({
  id: `d${i}`,
  title: `${pick(words)} ${pick(words)} ${i}`,
  brand: pick(["Alpha", "Beta", "Gamma"]),
  tags: words.filter(() => random() < 0.4),
  n: below(20),
  ...(random() < 0.8 ? { big: 9_007_199_254_740_993n + BigInt(i) } : {}),
  maker: { name: pick(["x", "y"]) },
  near: [random() - 0.5, random() + 0.1]
}))

const brand = (name: string): Filter => ({
  kind: "string",
  field: "brand",
  values: [{ tokens: [name], match: "equals", prefix: false }],
  prefixCandidates: 4
})
const atLeast = (min: number): Filter => ({
  kind: "number",
  field: "n",
  type: "int32",
  ranges: [{ min, max: 2_147_483_647 }]
})
const anyFilter = (): Filter => pick([() => brand(pick(["alpha", "beta"])), () => atLeast(below(15))])()
const id = (): string => `d${below(DOCUMENTS + 6)}`
const several = <A>(most: number, make: () => A): ReadonlyArray<A> => Array.from({ length: below(most + 1) }, make)
const facet = (field: string, topK: boolean) =>
  ({ field, ranges: [], order: { kind: "count" }, topK, strategy: "automatic", returnParent: false }) as const

const drawn = (): SearchPlan => {
  const restricted = maybe(0.4, anyFilter)
  const own = maybe(0.5, anyFilter)
  const filter: Filter | undefined =
    restricted === undefined || own === undefined ? (restricted ?? own) : { kind: "and", left: own, right: restricted }
  const boosts = maybe(0.4, () => ({
    kind: "boosts" as const,
    order: "desc" as const,
    cases: Array.from({ length: 1 + below(4) }, () => ({ filter: anyFilter(), score: pick([-2, 0.5, 1, 3]) }))
  }))
  const isText = random() < 0.7
  const group = maybe(0.2, () => ({ fields: ["brand"], limit: 2, missingValues: true }))
  return suitePlan("goods", {
    ...(isText ? { text: suiteText([pick(words)], ["title"]) } : {}),
    filter,
    ...(restricted === undefined ? {} : { pinnedFilter: restricted }),
    sort: [
      ...(boosts === undefined ? [] : [boosts]),
      ...(isText ? [{ kind: "text_match", order: "desc" } as const] : []),
      { kind: "field", field: "n", type: "int32", missing: "normal", order: "asc" }
    ],
    pinned: several(4, () => ({ id: id(), position: 1 + below(6) })).toSorted((a, b) => a.position - b.position),
    hidden: several(3, id),
    filterCuratedHits: random() < 0.3,
    ...maybe(0.8, () => ({
      injected: several(4, () => ({
        kind: pick(["pin", "sponsored"] as const),
        target: { id: id() },
        position: 1 + below(6),
        mustPassFilter: random() < 0.5
      })).map((one) => (one.kind === "pin" ? one : { ...one, sponsored: { label: "Ad", campaign_id: "c1" } })),
      ...maybe(0.2, () => ({ injectedFilter: anyFilter() }))
    })),
    group,
    ...(group === undefined ? maybe(0.5, () => ({ window: { size: 1 + below(60), fields: FIELDS } })) : {}),
    facets: [facet("brand", false), facet("tags", false)],
    selection: pick([
      { include: [], exclude: [], joins: [] },
      { include: ["title"], exclude: [], joins: [] },
      { include: [], exclude: ["id", "tags"], joins: [] },
      { include: ["id", "maker*"], exclude: ["brand"], joins: [] }
    ]),
    offset: pick([0, 0, 4]),
    limit: pick([0, 5, 12])
  })
}

const shown = ({ boosts: _boosts, ...hit }: Hit): unknown => hit
/** The parts of an answer that are the same every time; vectors are rounded to five digits. */
const told = (answer: SearchAnswer): unknown => {
  const { search_time_ms: _time, window, ...rest } = answer
  const parts = {
    ...rest,
    ...(rest.hits === undefined ? {} : { hits: rest.hits.map(shown) }),
    ...(rest.grouped_hits === undefined
      ? {}
      : { grouped_hits: rest.grouped_hits.map((group) => ({ ...group, hits: group.hits.map(shown) })) }),
    ...(window === undefined
      ? {}
      : {
          window: {
            organic: window.organic.map(shown),
            ids: window.ids,
            injected: window.injected.map((one) => ({ ...one, hit: shown(one.hit) })),
            values: window.ids.map((_id, i) => FIELDS.map((field) => window.value(i, field)))
          }
        })
  }
  return JSON.parse(
    JSON.stringify(parts, (_key, value) =>
      typeof value === "bigint"
        ? String(value)
        : value instanceof Float32Array
          ? Array.from(value, (each) => each.toFixed(5))
          : value
    )
  )
}
const asked = async (engine: SearchEngine, plan: SearchPlan): Promise<unknown> => {
  const [answer] = await engine.search("a", [plan])
  return answer!.ok ? told(answer!.value) : answer
}

it("six hundred plans with placed documents, boosts and windows are answered as by the engine in memory", async () => {
  const node = await startNode(keepingToTheApi())
  const opened = await TypesenseEngine.open({ nodes: [node.address], apiKey: "k" })
  if (!opened.ok) throw new Error(opened.error.message)
  const engines: readonly [SearchEngine, SearchEngine] = [createEngine(), opened.value]
  try {
    for (const engine of engines) {
      const made = await engine.createCollection("a", schema, 1)
      expect(made.ok || made.error).toBe(true)
      const written = await engine.write(
        "a",
        "goods",
        documents.map((document) => putOf(document as never))
      )
      expect(written.ok && written.value.filter(({ result }) => !result.ok)).toEqual([])
    }
    let placed = 0,
      windows = 0
    for (let i = 0; i < 600; i++) {
      const plan = drawn()
      const [wanted, found] = await Promise.all(engines.map((engine) => asked(engine, plan)))
      expect(found, JSON.stringify(plan)).toEqual(wanted)
      if (/"(pinned|sponsored)":/.test(JSON.stringify(found))) placed++
      if (plan.window !== undefined) windows++
    }
    expect([placed > 100, windows > 100]).toEqual([true, true])
  } finally {
    for (const engine of engines) await engine.close()
    await node.stop()
  }
})
