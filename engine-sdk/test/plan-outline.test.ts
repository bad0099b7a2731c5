/** A plan that another thread restores from a base equals the plan that was sent. */
import { describe, expect, it } from "vitest"
import { collectionsIn } from "../src/lane/collections-in.ts"
import type { SentPlan } from "../src/lane/messages.ts"
import { basesToSend, type KnownBases, PlanBases, ReceivedBases } from "../src/lane/plan-outline.ts"
import type { SearchPlan } from "../src/plan.ts"
import { compileSearch } from "../src/query/mod.ts"
import type { SearchContext } from "../src/query/query-context.ts"
import { suiteField, suiteSchema } from "../src/testing/engine-suite.ts"
import { randomOf } from "./random.ts"
import { forcedBrand, searchContextOf } from "./search-context.ts"

const schema = suiteSchema("c", [
  suiteField("title", "string"),
  suiteField("brand", "string", { facet: true }),
  suiteField("price", "float", { facet: true })
])
const planOf = (parameters: Readonly<Record<string, string>>, more?: Partial<SearchContext>): SearchPlan => {
  const plan = compileSearch(parameters, searchContextOf(schema, more))
  if (!plan.ok) throw new Error(plan.error.message)
  return plan.value
}
/** As a message: JSON would lose infinite bounds. */
const sentOver = <A>(value: A): A => structuredClone(value)
/** A thread, and what is recorded of it. */
const threadOf = (bases: PlanBases) => {
  const known: KnownBases = { numbers: new Set(), from: 1 },
    received = new ReceivedBases()
  return (plan: SearchPlan): { readonly sent: SentPlan; readonly plan: SearchPlan; readonly bases: number } => {
    const outline = bases.outline({ kind: "search", plans: [plan] })
    const needed = sentOver(basesToSend(outline, known))
    expect(new Set([...collectionsIn(plan)].filter((name) => !outline.names.has(name)))).toEqual(new Set())
    if (outline.work.kind !== "search") throw new Error("the kind of work changed")
    received.receive(outline.basesFrom, needed)
    const [sent] = sentOver(outline.work.plans)
    return { sent, plan: received.restored(sent), bases: needed.length }
  }
}

describe("plans for other threads", () => {
  it("arrive as they were sent, whichever plans came before", () => {
    for (let seed = 1; seed <= 60; seed++) {
      const { next: random, pick } = randomOf(seed)
      const maybe = (name: string, values: ReadonlyArray<string>): Record<string, string> =>
        random() < 0.3 ? { [name]: pick(values) } : {}
      // Small enough that all bases are dropped now and then.
      const bases = new PlanBases(20_000),
        threads = [threadOf(bases), threadOf(bases)]
      for (let n = 0; n < 80; n++) {
        const plan = planOf(
          {
            q: pick(["shoe", 'red "dark shoe" -blue', "*", "-only", "Ünï code", "a b c"]),
            query_by: pick(["title", "title,brand"]),
            ...maybe("filter_by", ["price:<10", "brand:=Acme", "price:[1..2]"]),
            ...maybe("facet_by", ["brand", "brand,price"]),
            ...maybe("ranking", ["relevance"]),
            ...maybe("hidden_hits", ["a,b"])
          },
          random() < 0.3 ? { forcedFilter: forcedBrand } : {}
        )
        expect(pick(threads)(plan).plan, `${seed} ${n}`).toEqual(plan)
        expect(bases.bytes).toBeLessThanOrEqual(20_000)
      }
    }
  })
  it("are sent whole twice, then as their words alone, and share their parts", () => {
    const thread = threadOf(new PlanBases(1_000_000))
    const parameters = { query_by: "title,brand", filter_by: "price:<11", facet_by: "brand" }
    const sent = ["red", "red sho", "red shoe"].map((q) => thread(planOf({ ...parameters, q })))
    expect(sent.map(({ bases }) => bases)).toEqual([0, 1, 0])
    expect("base" in sent[0]!.sent).toBe(false)
    expect(JSON.stringify(sent[2]!.sent).length).toBeLessThan(JSON.stringify(sent[0]!.sent).length / 5)
    const parts = ({ plan }: (typeof sent)[number]): ReadonlyArray<unknown> => [
      plan.highlight,
      plan.selection,
      plan.filter,
      plan.facets,
      plan.text?.fields
    ]
    parts(sent[1]!).forEach((part, i) => expect(parts(sent[2]!)[i]).toBe(part))
    expect(sent[2]!.plan.echo.q).toBe("red shoe")
  })
  it("that are larger than the bound have no base, and leave those of others alone", () => {
    const bases = new PlanBases(5_000),
      thread = threadOf(bases)
    const small = { query_by: "title", filter_by: "price:<13" },
      hidden_hits = Array.from({ length: 500 }, (_, i) => `hidden-${i}`).join(","),
      large = planOf({ q: "a", query_by: "title,brand", hidden_hits })
    for (const q of ["a", "b"]) thread(planOf({ ...small, q }))
    for (let n = 0; n < 3; n++) expect("base" in thread(large).sent).toBe(false)
    expect(thread(planOf({ ...small, q: "c" }))).toMatchObject({ bases: 0, sent: { base: 1 } })
  })
  it("of a caller with a restriction keep it, and those of others do not get it", () => {
    const thread = threadOf(new PlanBases(1_000_000)),
      parameters = { query_by: "title", filter_by: "price:<12" }
    const restricted = (q: string): SearchPlan => planOf({ ...parameters, q }, { forcedFilter: forcedBrand })
    for (const q of ["a", "b"]) thread(restricted(q))
    const open = thread(planOf({ ...parameters, q: "c" })),
      closed = thread(restricted("d"))
    expect([open.plan.pinnedFilter, "base" in open.sent]).toEqual([undefined, true])
    expect(closed.plan.pinnedFilter).toEqual(forcedBrand)
    expect(open.plan.filter).toMatchObject({ field: "price" })
  })
})
