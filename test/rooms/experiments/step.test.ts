/** The step of a search that applies an experiment, and what is kept in memory for it. Pure. */
import { describe, expect, it } from "vitest"
import { answerKeyOf } from "../../../src/experiments/answer-key.ts"
import { definitionOf } from "../../../src/experiments/definition.ts"
import { shownBy, unitOf, withParams } from "../../../src/experiments/experiment-step.ts"
import type { StoredExperiment } from "../../../src/experiments/experiments-repository.ts"
import { ExperimentTable } from "../../../src/experiments/running-experiments.ts"
import { NO_TRAITS, visitorOf } from "../../../src/identity/visitor.ts"

const stored = (id: string, over: object = {}): StoredExperiment => {
  const read = definitionOf({
    name: id,
    collection: "goods",
    metric: "ctr",
    variants: [{ id: "a" }, { id: "b", params: { num_typos: 1 } }],
    ...over
  })
  if ("issues" in read) throw new Error(JSON.stringify(read.issues))
  return {
    organization_id: "org_1",
    id,
    definition: read.definition,
    status: "running",
    run: 2,
    started_at: 0,
    stopped_at: null,
    winner_variant_id: null,
    promotion: null,
    created_at: 0,
    updated_at: 0
  }
}
const tableOf = (...rows: ReadonlyArray<StoredExperiment>) => {
  const damaged: Array<string> = []
  const table = new ExperimentTable(({ id }) => damaged.push(id))
  table.replace("all", rows)
  return { table, damaged }
}
const asked = (over: object = {}) => ({
  preset: undefined,
  profile: undefined,
  sessionId: "s1",
  parameters: {},
  mayForce: false,
  ...over
})

describe("a search", () => {
  it("is in the experiment whose target it names, else in the one of the whole collection, and in only one", () => {
    const { table } = tableOf(
      stored("exp_all"),
      stored("exp_preset", { target: { preset: "p" } }),
      stored("exp_profile", { target: { profile: "p" } })
    )
    const running = table.of("org_1", "goods")!
    const inWhich = (over: object) => {
      const shown = shownBy(running, asked(over))
      return shown.ok ? shown.value?.experiment.id : shown.error.message
    }
    expect([inWhich({}), inWhich({ preset: "p" }), inWhich({ profile: "p" }), inWhich({ preset: "q" })]).toEqual([
      "exp_all",
      "exp_preset",
      "exp_profile",
      "exp_all"
    ])
    expect([table.of("org_1", "others"), table.of("org_2", "goods")]).toEqual([undefined, undefined])
  })
  it("is assigned by its session, else its anonymous id or its user, and without any of them not at all", () => {
    const unit = (kind: "session" | "user", over: object) => unitOf({ unit: kind }, asked(over))
    const parameters = { x_anonymous_id: "a", x_user_id: "u" }
    expect(unit("session", { parameters })).toEqual({ kind: "session", id: "s1" })
    expect(unit("session", { parameters, sessionId: undefined })).toEqual({ kind: "anonymous", id: "a" })
    expect(unit("session", { parameters: { x_user_id: "u" }, sessionId: undefined })).toBeUndefined()
    expect(unit("user", { parameters })).toEqual({ kind: "user", id: "u" })
    expect(unit("user", { parameters: { x_anonymous_id: "a" } })).toBeUndefined()
  })
  it("reports assignments, and nothing that was forced", () => {
    const running = tableOf(stored("exp_1")).table.of("org_1", "goods")!
    const drawn = shownBy(running, asked())
    expect(drawn.ok && drawn.value?.exposure).toMatchObject({ id: "exp_1", run: 2, unit: "session" })
    const parameters = { x_experiment_variant: "b" }
    const forced = shownBy(running, asked({ parameters, mayForce: true, sessionId: undefined }))
    expect(forced.ok && [forced.value?.variant.id, forced.value?.exposure]).toEqual(["b", undefined])
    const asAnybody = shownBy(running, asked({ parameters, sessionId: undefined }))
    expect(asAnybody).toEqual({ ok: true, value: undefined })
  })
  it("keeps what its key embeds, whatever a variant says", () => {
    const own = { q: "x", limit_hits: "5", sort_by: "a:asc" }
    expect(withParams(own, { limit_hits: "500", sort_by: "b:asc" }, { limit_hits: 5 })).toEqual({
      q: "x",
      limit_hits: "5",
      sort_by: "b:asc"
    })
  })
})

describe("an interleaved search", () => {
  it("applies to every participant, by one of the run's 64 drafts, and answers are cached for each separately", () => {
    const variants = [{ id: "a" }, { id: "b", profile: "p" }]
    const { table } = tableOf(stored("exp_1", { variants, mode: "interleave", traffic: 0.5 }))
    const seeds = new Set<string>()
    const keys = new Set<string>()
    let taking = 0
    for (let i = 0; i < 2_000; i++) {
      const shown = shownBy(table.of("org_1", "goods")!, asked({ sessionId: `s${i}`, parameters: { q: "lamp" } }))
      if (!shown.ok || shown.value === undefined) continue
      taking++
      expect(shown.value).toMatchObject({
        variant: { id: "a" },
        against: { variant: { id: "b" } },
        exposure: { variant: 0 }
      })
      seeds.add(shown.value.against!.seed)
      keys.add(JSON.stringify(answerKeyOf(table, "org_1", {}, visitorOf({}, NO_TRAITS, `s${i}`), 0)))
    }
    expect([seeds.size, keys.size]).toEqual([64, 64])
    expect(Math.abs(taking - 1_000)).toBeLessThan(90)
    const seedOf = (q: string) => {
      const sessionId = [...Array(99).keys()].map((i) => `s${i}`).find((one) => variantIsDrawn(one))!
      const shown = shownBy(table.of("org_1", "goods")!, asked({ sessionId, parameters: { q } }))
      return shown.ok ? shown.value?.against?.seed : undefined
    }
    const variantIsDrawn = (sessionId: string) => {
      const shown = shownBy(table.of("org_1", "goods")!, asked({ sessionId }))
      return shown.ok && shown.value !== undefined
    }
    expect(seedOf("lamp")).toBe(seedOf("lamp"))
    expect(seedOf("lamp")).not.toBe(seedOf("shade"))
  })
})

describe("what is kept in memory", () => {
  it("omits a damaged row, and caches answers by what each visitor is shown", () => {
    const broken = { ...stored("exp_broken"), definition: JSON.parse('{"variants":[{"weight":0}]}') }
    const { damaged, table } = tableOf(stored("exp_1"), broken)
    expect([damaged, table.size]).toEqual([["exp_broken"], 1])
    const key = (session: string | undefined) =>
      JSON.stringify(answerKeyOf(table, "org_1", {}, visitorOf({}, NO_TRAITS, session), 0))
    const keys = new Set(Array.from({ length: 40 }, (_, i) => key(`s${i}`)))
    expect(keys.size).toBe(2)
    expect(keys.has(key(undefined))).toBe(false)
    const before = key("s1")
    table.replace([{ organizationId: "org_1", id: "exp_1" }], [{ ...stored("exp_1"), run: 3 }])
    expect(key("s1")).not.toBe(before)
    table.replace([{ organizationId: "org_1", id: "exp_1" }], [])
    expect(table.of("org_1", "goods")).toBeUndefined()
    expect(answerKeyOf(table, "org_2", {}, visitorOf({}, NO_TRAITS, "s"), 0)).toEqual([])
  })
})
