/**
 * The composed search: order of application, redirects, fallbacks, slots, extras, explanation, several searches, union,
 * replay.
 */
import { describe, expect, it } from "vitest"
import { ok } from "../src/errors.ts"
import { createEngine, type Filter, type LocalEngine, type SearchPlan } from "../src/mod.ts"
import {
  merchandise,
  merchandiseUnion,
  parseStoredRun,
  recordRun,
  replayRun,
  storedRunText,
  type Merchandised,
  type MerchandisedSearch,
  type MerchandiseEnvironment,
  type RecommendedAsked,
  type Stage
} from "../src/pipeline/mod.ts"
import type { Reranker } from "../src/rerank/mod.ts"
import { compileRules, emptyRuleSet, type CompiledRules, type RuleSet } from "../src/rules/mod.ts"
import { putOf, suiteField, suitePlan, suiteSchema, suiteText } from "../src/testing/engine-suite.ts"

const brands = ["acme", "acme", "acme", "berg", "berg", "holm"]
const documents = brands.map((brand, i) => ({
  id: String(i),
  title: i < 5 ? `lamp ${["red", "red", "blue", "oak", "steel"][i]}` : "desk",
  brand,
  price: i,
  embedding: [i < 3 ? 1 : 0, i < 3 ? 0 : 1, i / 100, 0]
}))
const brandIs = (brand: string): Filter => ({
  kind: "string",
  field: "brand",
  values: [{ tokens: [brand], match: "equals", prefix: false }],
  prefixCandidates: 4
})
const parseFilter = (text: string) => ok(text === "" ? undefined : brandIs(text.replace("brand:=", "")))
const rulesOf = (more: Partial<RuleSet>): CompiledRules => compileRules({ ...emptyRuleSet, ...more }, { parseFilter })
const any = { query: "", match: "any" as const, filter_contains: "", priority: 0 }
const pin = (doc_id: string, position: number) => ({ ...any, doc_id, position })

const using = async (
  body: (environment: MerchandiseEnvironment, engine: LocalEngine) => Promise<void>
): Promise<void> => {
  const engine = createEngine()
  for (const name of ["c", "other"]) {
    await engine.createCollection(
      "t",
      suiteSchema(
        name,
        [
          suiteField("title", "string"),
          suiteField("brand", "string", { facet: true }),
          suiteField("price", "int32"),
          suiteField("embedding", "float[]", { num_dim: 4, sort: false })
        ],
        { default_sorting_field: "price" }
      ),
      1
    )
    await engine.write(
      "t",
      name,
      documents.map((document) => putOf(name === "c" ? document : { ...document, id: `o${document.id}` }))
    )
  }
  let now = 0
  try {
    await body({ engine, namespace: "t", now_us: () => (now += 7), explain: true }, engine)
  } finally {
    await engine.close()
  }
}
const lamps = (more: Partial<SearchPlan> = {}): SearchPlan =>
  suitePlan("c", { text: suiteText(["lamp"], ["title"]), ...more })
const search = (rules: CompiledRules | undefined, more: Partial<MerchandisedSearch> = {}): MerchandisedSearch => ({
  plan: lamps(),
  rules,
  request: { q: "lamp", now_ms: 0 },
  ...more
})
const one = async (environment: MerchandiseEnvironment, asked: MerchandisedSearch): Promise<Merchandised> => {
  const [result] = await merchandise(environment, [asked])
  if (!result.ok) throw new Error(result.error.message)
  return result.value
}
const ids = ({
  answer
}: {
  readonly answer: { readonly hits?: ReadonlyArray<{ readonly document: Record<string, unknown> }> }
}): string => (answer.hits ?? []).map(({ document }) => document.id).join(" ")

describe("merchandise", () => {
  it("leaves the answer to a search without rules unchanged", () =>
    using(async (environment, engine) => {
      const [plain] = await engine.search("t", [lamps()])
      const { answer, extras } = await one(environment, search(undefined))
      expect([answer, extras]).toEqual([plain.ok ? plain.value : undefined, {}])
    }))
  it("answers a redirect without calling the engine", () =>
    using(async (environment) => {
      const silent: MerchandiseEnvironment = {
        ...environment,
        engine: {
          ...environment.engine,
          capabilities: () => environment.engine.capabilities(),
          describeCollection: () => undefined,
          search: () => {
            throw new Error("asked")
          }
        }
      }
      const { answer, extras, asked } = await one(
        silent,
        search(rulesOf({ redirects: [{ ...any, url: "/lamps" }], banners: [{ ...any, id: "b", content: {} }] }))
      )
      expect([answer.found, answer.hits, extras, asked]).toEqual([0, [], { redirect: { url: "/lamps" } }, false])
    }))
  it("marks what rules inject, with its position", () =>
    using(async (environment) => {
      const { answer, trace } = await one(
        environment,
        search(
          rulesOf({
            pins: [pin("5", 2)],
            sponsored: [{ ...any, id: "s", filter_by: "brand:=berg", label: "Ad", campaign_id: "k", position: 2 }]
          })
        )
      )
      expect(ids({ answer })).toBe("3 5 4 2 1 0")
      expect(answer.found).toBe(6)
      expect(answer.hits?.map(({ pinned, sponsored, curated }) => [pinned, sponsored, curated]).slice(1, 3)).toEqual([
        [true, undefined, true],
        [undefined, { label: "Ad", campaign_id: "k" }, true]
      ])
      expect(trace.hits.map(({ position, injected }) => [position, injected]).slice(0, 3)).toEqual([
        [1, undefined],
        [2, "pin"],
        [3, "sponsored"]
      ])
      expect(trace.fired.map(({ kind, id }) => [kind, id])).toEqual([
        ["pin", "5"],
        ["sponsored", "s"]
      ])
    }))
  it("adds banners, suggestions and facet suggestions, and keeps the request's facets unchanged", () =>
    using(async (environment) => {
      const { answer, extras } = await one(
        environment,
        search(
          rulesOf({
            banners: [{ ...any, id: "b", content: { a: 1 } }],
            suggestions: [{ ...any, suggestions: ["lamp shade"] }],
            facet_suggestions: { fields: ["brand", "title"], limit: 1 }
          })
        )
      )
      expect(extras).toEqual({
        banners: [{ id: "b", content: { a: 1 } }],
        suggestions: ["lamp shade"],
        facet_suggestions: [{ field: "brand", values: [{ value: "acme", count: 3 }] }]
      })
      expect(answer.facet_counts).toEqual([])
    }))
  it("explains boosts, and never sends them to clients", () =>
    using(async (environment) => {
      const { answer, trace } = await one(
        environment,
        search(
          rulesOf({
            boosts: [
              { filter_by: "brand:=berg", weight: 1.5, name: "", priority: 0 },
              { filter_by: "brand:=berg", weight: 1, name: "", priority: 0 }
            ]
          })
        )
      )
      expect(trace.hits[0].scores).toMatchObject({ boosts: 2.5 })
      expect(trace.plan?.sort_by).toEqual(["_boosts:desc", "_text_match:desc"])
      expect(
        JSON.stringify(answer, (_key, value: unknown) => (typeof value === "bigint" ? String(value) : value))
      ).not.toContain("boosts")
    }))

  describe("that finds nothing", () => {
    const holm = brandIs("holm")
    const nothing = { plan: lamps({ filter: holm }), request: { q: "lamp", filter_by: "brand:=holm", now_ms: 0 } }
    it("drops the caller's filter, never restrictions and exclusions; pins must still pass the caller's", () =>
      using(async (environment) => {
        const rules = rulesOf({
          zero_hits_fallback: "drop_filters",
          exclusion_filter_by: "brand:=berg",
          pins: [pin("3", 1), pin("0", 1), pin("5", 1)]
        })
        const { answer, trace } = await one(
          environment,
          search(rules, { ...nothing, plan: { ...nothing.plan, pinnedFilter: undefined } })
        )
        expect([ids({ answer }), trace.fallback]).toEqual(["5 2 1 0", "drop_filters"])
        const restricted: SearchPlan = lamps({
          filter: { kind: "and", left: holm, right: brandIs("berg") },
          pinnedFilter: brandIs("berg")
        })
        expect(
          ids(
            await one(
              environment,
              search(rulesOf({ zero_hits_fallback: "drop_filters" }), { ...nothing, plan: restricted })
            )
          )
        ).toBe("4 3")
        expect(
          (
            await one(
              environment,
              search(rulesOf({ zero_hits_fallback: "drop_filters" }), {
                plan: lamps({ text: suiteText(["zzzzzz"], ["title"]) })
              })
            )
          ).trace.fallback
        ).toBeUndefined()
      }))
    it("shows popular documents that pass the caller's filter", () =>
      using(async (environment) => {
        const unknown = search(rulesOf({ zero_hits_fallback: "popular" }), {
          plan: lamps({ text: suiteText(["zzzzzz"], ["title"]), filter: brandIs("acme") })
        })
        expect(ids(await one({ ...environment, popular: () => ["4", "1", "gone", "0"] }, unknown))).toBe("1 0")
        expect(ids(await one({ ...environment, popular: async () => ["0", "2"] }, unknown))).toBe("0 2")
        expect(ids(await one(environment, unknown))).toBe("2 1 0")
        expect(
          ids(await one({ ...environment, popular: () => ["4", "1", "0"] }, { ...unknown, filterCuratedHits: false }))
        ).toBe("4 1 0")
      }))
    it("shows what a model recommends to the visitor, else popular documents; filters and exclusions apply", () =>
      using(async (environment) => {
        const asked: Array<RecommendedAsked> = []
        const advised = (ids: ReadonlyArray<string>, later = false): MerchandiseEnvironment => ({
          ...environment,
          popular: () => ["5", "2"],
          recommended: (one) => {
            asked.push(one)
            return later ? Promise.resolve(ids) : ids
          }
        })
        const rules = { zero_hits_fallback: "recommendations", fallback_model_id: "m" } as const
        const unknown = search(rulesOf(rules), {
          plan: lamps({ text: suiteText(["zzzzzz"], ["title"]) }),
          visitor: { session: "s", person: "ann" }
        })
        const first = await one(advised(["4", "gone", "1", "0"]), unknown)
        expect([ids(first), first.trace.fallback]).toEqual(["4 1 0", "recommendations"])
        expect(asked).toEqual([{ collection: "c", model: "m", visitor: { session: "s", person: "ann" }, limit: 250 }])
        expect(ids(await one(advised(["0", "2"], true), unknown))).toBe("0 2")
        expect(ids(await one(advised([]), unknown))).toBe("5 2")
        expect(ids(await one(environment, unknown))).toBe("5 4 3 2 1 0")
        const restricted = { ...unknown, plan: { ...unknown.plan, filter: brandIs("acme") } }
        expect(ids(await one(advised(["4", "1", "0"]), restricted))).toBe("1 0")
        expect(ids(await one(advised(["4", "1", "0"]), { ...restricted, filterCuratedHits: false }))).toBe("4 1 0")
        const excluding = search(rulesOf({ ...rules, exclusion_filter_by: "brand:=berg" }), { plan: unknown.plan })
        expect(ids(await one(advised(["4", "1", "0"]), excluding))).toBe("1 0")
        const pinned = { ...unknown, plan: { ...unknown.plan, filter: brandIs("acme"), pinnedFilter: brandIs("acme") } }
        expect(ids(await one(advised(["4", "1", "0"]), { ...pinned, filterCuratedHits: false }))).toBe("1 0")
        // A request for one hit gets the same count as a request for ten.
        const short = { ...unknown, plan: { ...unknown.plan, limit: 1 } }
        expect((await one(advised(["4", "1", "0"]), short)).answer.found).toBe(3)
      }))
    it("reranks and diversifies what a fallback found", () =>
      using(async (environment) => {
        const { trace } = await one(
          environment,
          search(
            rulesOf({ zero_hits_fallback: "drop_filters", diversity: [{ field: "brand", max: 1, from: 1 }] }),
            nothing
          )
        )
        expect(trace.stages.map(({ name }) => name)).toEqual([
          "rules",
          "engine",
          "fallback",
          "max_min",
          "place",
          "render"
        ])
      }))
  })

  it("runs its stages in the contract's order, a tenant's own stage between rerank and diversity", () =>
    using(async (environment) => {
      const own: Stage = { name: "own", budget_ms: 5, fallback: "keep_order", run: (given) => given }
      const rules = rulesOf({
        rerank: { ...emptyRuleSet.rerank, enabled: true, fields: ["title"] },
        diversity: [
          { field: "brand", max: 2, from: 1, mmr: { lambda: 1, vector_field: "embedding", text_fields: [], k: 5 } },
          { field: "", from: 1, near_duplicate: { fields: ["title"], threshold: 0.9 } }
        ]
      })
      const { trace } = await one(environment, search(rules, { stages: [own] }))
      expect(trace.stages.map(({ name }) => name)).toEqual([
        "rules",
        "engine",
        "rerank",
        "own",
        "near_duplicate",
        "max_min",
        "mmr",
        "place",
        "render"
      ])
    }))
  it("diversifies by stored vectors, whichever fields of the documents are shown", () =>
    using(async (environment) => {
      const mmr = (lambda: number) =>
        rulesOf({
          diversity: [{ field: "", from: 1, mmr: { lambda, vector_field: "embedding", text_fields: [], k: 5 } }]
        })
      const plan = lamps({ selection: { include: ["title"], exclude: [], joins: [] } })
      const titles = ({ answer }: Merchandised): string =>
        (answer.hits ?? []).map(({ document }) => String(document.title)).join(", ")
      const plain = titles(await one(environment, search(undefined, { plan })))
      expect(titles(await one(environment, search(mmr(1), { plan })))).toBe(plain)
      expect(titles(await one(environment, search(mmr(0.3), { plan })))).not.toBe(plain)
    }))
  it("keeps the engine's order if no model is known, and fails if the rules say so", () =>
    using(async (environment) => {
      const rerank = { ...emptyRuleSet.rerank, enabled: true, model: "nobody" }
      expect((await one(environment, search(rulesOf({ rerank })))).trace.stages[2]).toMatchObject({
        name: "rerank",
        outcome: "failed",
        note: "no model `nobody`"
      })
      // A rerank without its own fields reads the searched ones; a request's own rerank applies if no rule has any.
      const seen: Array<ReadonlyArray<string>> = []
      const spy: Reranker = {
        name: "spy",
        score: ({ fields, scores }) => {
          seen.push(fields)
          scores.fill(0)
        }
      }
      const known = { ...environment, reranker: () => spy }
      await one(known, search(rulesOf({ rerank: { ...emptyRuleSet.rerank, enabled: true } })))
      await one(known, { ...search(undefined), rerank: { ...emptyRuleSet.rerank, enabled: true, fields: ["brand"] } })
      await one(known, {
        ...search(rulesOf({ rerank: { ...emptyRuleSet.rerank, enabled: true, fields: ["title"] } })),
        rerank: { ...emptyRuleSet.rerank, enabled: true, fields: ["brand"] }
      })
      expect(seen).toEqual([["title"], ["brand"], ["title"]])
      const [failed] = await merchandise(environment, [search(rulesOf({ rerank: { ...rerank, fallback: "error" } }))])
      expect(failed).toMatchObject({ ok: false, error: { kind: "Unavailable" } })
    }))
  it("shows the documents as of the engine's answer, however long a stage waits", () =>
    using(async (environment, engine) => {
      const waiting: Stage = {
        name: "waiting",
        budget_ms: 5_000,
        fallback: "error",
        run: async (given) => {
          for (let i = 0; i < 5; i++)
            await engine.write("t", "c", [
              putOf({ ...documents[i], title: "gone", brand: "gone", embedding: [0, 0, 0, 1] }),
              { kind: "delete", id: "4" }
            ])
          return given
        }
      }
      const rules = rulesOf({
        diversity: [
          { field: "brand", max: 1, from: 1, mmr: { lambda: 0.5, vector_field: "embedding", text_fields: [], k: 5 } }
        ]
      })
      const before = await one(environment, search(rules))
      const after = await one(environment, search(rules, { stages: [waiting] }))
      expect(after.answer.hits?.map(({ document, highlight }) => ({ document, highlight }))).toEqual(
        before.answer.hits?.map(({ document, highlight }) => ({ document, highlight }))
      )
      expect((await one(environment, search(undefined))).answer.found).toBe(0)
    }))
  it("stops when its request is cancelled", () =>
    using(async (environment) => {
      const gone = new AbortController()
      gone.abort()
      expect((await merchandise({ ...environment, signal: gone.signal }, [search(undefined)]))[0]).toMatchObject({
        ok: false,
        error: { kind: "TimedOut" }
      })
    }))
  it("calls the engine once for several searches, each with its own rules", () =>
    using(async (environment) => {
      let calls = 0
      const counting: MerchandiseEnvironment = {
        ...environment,
        engine: {
          capabilities: () => environment.engine.capabilities(),
          describeCollection: () => undefined,
          union: () => {
            throw new Error("no union")
          },
          search: (namespace, plans) => {
            calls++
            return environment.engine.search(namespace, plans)
          }
        }
      }
      const results = await merchandise(counting, [
        search(rulesOf({ pins: [pin("5", 1)] })),
        search(rulesOf({ redirects: [{ ...any, url: "/x" }] })),
        search(undefined),
        search(rulesOf({}), { plan: suitePlan("missing") })
      ])
      expect(results.map((result) => (result.ok ? ids(result.value) : result.error.kind))).toEqual([
        "5 4 3 2 1 0",
        "",
        "4 3 2 1 0",
        "NotFound"
      ])
      expect(calls).toBe(1)
    }))
  it("leaves groups in the engine's order and says so", () =>
    using(async (environment) => {
      const plan = lamps({ group: { fields: ["brand"], limit: 2, missingValues: true } })
      const { answer, trace } = await one(
        environment,
        search(rulesOf({ pins: [pin("4", 1)], diversity: [{ field: "brand", max: 1, from: 1 }] }), { plan })
      )
      expect(answer.grouped_hits?.[0].hits[0]).toMatchObject({ pinned: true })
      expect(trace.stages.find(({ name }) => name === "max_min")).toMatchObject({
        outcome: "skipped",
        note: "groups keep the engine's order"
      })
    }))

  describe("as a union", () => {
    const page = { removeDuplicates: true, offset: 0, limit: 20, hits_max: 1_000 }
    const union = async (
      environment: MerchandiseEnvironment,
      searches: ReadonlyArray<MerchandisedSearch>,
      more: Partial<typeof page> = {}
    ) => {
      const result = await merchandiseUnion(environment, searches, { ...page, ...more })
      if (!result.ok) throw new Error(result.error.message)
      return result.value
    }
    const other = (rules: CompiledRules | undefined): MerchandisedSearch =>
      search(rules, { plan: lamps({ collection: "other" }) })
    it("applies the rules of each collection and counts what both inject once", () =>
      using(async (environment) => {
        const pins = rulesOf({ pins: [pin("5", 1)], banners: [{ ...any, id: "b", content: {} }] })
        const { answer, extras, trace } = await union(environment, [
          search(pins),
          search(pins),
          other(rulesOf({ exclusion_filter_by: "brand:=acme", pins: [pin("o5", 2)] }))
        ])
        expect(ids({ answer })).toBe("5 o5 4 3 2 1 0 o4 o3")
        expect(answer.found).toBe(9)
        expect(extras.banners).toHaveLength(1)
        expect(trace.fired.map(({ kind }) => kind)).toEqual(["pin", "banner", "pin", "banner", "exclusion", "pin"])
      }))
    it("compares boosts across plans, and diversifies the merged list page by page", () =>
      using(async (environment) => {
        const boosted = rulesOf({ boosts: [{ filter_by: "brand:=berg", weight: 1, name: "", priority: 0 }] })
        expect(ids(await union(environment, [search(undefined), other(boosted)]))).toBe("o4 o3 4 3 2 1 0 o2 o1 o0")
        const capped = [search(rulesOf({ diversity: [{ field: "brand", max: 1, from: 1 }] })), other(undefined)]
        const whole = ids(await union(environment, capped))
        expect(whole).toBe("4 2 3 1 0 o4 o3 o2 o1 o0")
        expect(
          [
            ids(await union(environment, capped, { limit: 4 })),
            ids(await union(environment, capped, { limit: 4, offset: 4 }))
          ].join(" ")
        ).toBe(whole.slice(0, whole.indexOf(" o1")))
      }))
    it("redirects, falls back, and refuses what does not fit together", () =>
      using(async (environment) => {
        expect(
          (await union(environment, [search(undefined), other(rulesOf({ redirects: [{ ...any, url: "/x" }] }))])).extras
        ).toEqual({ redirect: { url: "/x" } })
        const nothing = lamps({ text: suiteText(["zzzzzz"], ["title"]) })
        const { answer, trace } = await union(
          { ...environment, popular: (collection) => (collection === "c" ? ["4"] : ["o1"]) },
          [
            search(rulesOf({ zero_hits_fallback: "popular" }), { plan: nothing }),
            search(rulesOf({ zero_hits_fallback: "popular" }), { plan: { ...nothing, collection: "other" } })
          ]
        )
        expect([ids({ answer }), trace.fallback]).toEqual(["4 o1", "popular"])
        expect(
          await merchandiseUnion(environment, [search(undefined), search(undefined, { plan: suitePlan("c") })], page)
        ).toMatchObject({ ok: false })
      }))
  })

  describe("stored", () => {
    const slow: Reranker = {
      name: "slow",
      score: async ({ candidates, context, scores }) => {
        await new Promise((resolve) => {
          setTimeout(resolve, 3)
        })
        void context.timeLeft_ms()
        candidates.forEach((_candidate, i) => {
          scores[i] = (i * 7) % 5
        })
      }
    }
    const rules = rulesOf({
      zero_hits_fallback: "popular",
      pins: [pin("5", 2)],
      boosts: [{ filter_by: "brand:=berg", weight: 0.5, name: "", priority: 0 }],
      rerank: { ...emptyRuleSet.rerank, enabled: true, model: "slow", timeout_ms: 1_000 },
      diversity: [
        {
          field: "brand",
          max: 1,
          from: 1,
          near_duplicate: { fields: ["title"], threshold: 0.4 },
          mmr: { lambda: 0.5, vector_field: "embedding", text_fields: [], k: 5 }
        }
      ]
    })
    it("gives the same trace byte for byte", () =>
      using(async (environment, engine) => {
        const searches = [
          search(rules),
          search(rules, { plan: lamps({ text: suiteText(["zzzzzz"], ["title"]) }) }),
          search(rulesOf({ zero_hits_fallback: "recommendations", fallback_model_id: "m" }), {
            plan: lamps({ text: suiteText(["zzzzzz"], ["title"]) })
          }),
          search(undefined)
        ]
        const real: MerchandiseEnvironment = {
          ...environment,
          now_us: () => performance.now() * 1_000,
          reranker: (model) => (model === "slow" ? slow : undefined),
          popular: async () => ["4", "1", "0"],
          recommended: async () => ["3", "1"]
        }
        const recorded = recordRun(real)
        const traces = (await merchandise(recorded.environment, searches)).map((result) =>
          result.ok ? JSON.stringify(result.value.trace) : ""
        )
        const stored = parseStoredRun(storedRunText(recorded.stored()))
        for (let again = 0; again < 2; again++) {
          const replayed = await merchandise(replayRun(stored, { namespace: "t", explain: true, engine }), searches)
          expect(replayed.map((result) => (result.ok ? JSON.stringify(result.value.trace) : ""))).toEqual(traces)
        }
        expect(traces[0]).toContain('"rerank"')
        expect(traces[1]).toContain('"fallback":"popular"')
        expect(traces[2]).toContain('"fallback":"recommendations"')
      }))
    it("is refused if it belongs to other searches", () =>
      using(async (environment, engine) => {
        const recorded = recordRun(environment)
        await merchandise(recorded.environment, [search(undefined)])
        const replay = replayRun(recorded.stored(), { namespace: "t", engine })
        await expect((async () => merchandise(replay, [search(undefined), search(undefined)]))()).rejects.toThrow(
          "belongs to other searches"
        )
      }))
    it("also replays a union", () =>
      using(async (environment, engine) => {
        const searches = [
          search(rulesOf({ diversity: [{ field: "brand", max: 1, from: 1 }] })),
          search(undefined, { plan: lamps({ collection: "other" }) })
        ]
        const page = { removeDuplicates: true, offset: 0, limit: 5, hits_max: 100 }
        const recorded = recordRun({ ...environment, now_us: () => performance.now() * 1_000 })
        const first = await merchandiseUnion(recorded.environment, searches, page)
        const second = await merchandiseUnion(
          replayRun(parseStoredRun(storedRunText(recorded.stored())), { namespace: "t", explain: true, engine }),
          searches,
          page
        )
        expect(JSON.stringify(second.ok && second.value.trace)).toBe(JSON.stringify(first.ok && first.value.trace))
      }))
  })
})
