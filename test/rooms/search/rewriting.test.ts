/** Which query replaces one that finds too little: what is tried, when it is abandoned, and what is kept. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Lab, openLab } from "../../../bench/inputs/understanding.ts"
import { createEngine, type SearchEngine } from "../../../engine-sdk/src/mod.ts"
import { AnswerBudget, Reach } from "../../../engine-sdk/src/operations/mod.ts"
import { REWRITES_MAX, rewriteOrderOf, rewritten } from "../../../src/search/rewriting.ts"

const schema = { name: "words", fields: [{ name: "title", type: "string" }] }
const documents = ["привет", "кружка", "winter coat"].map((title, i) => ({ id: String(i), title }))
const all = { query_by: "title", query_rewrite: "layout,translit,split" }
let lab: Lab, mute: Lab
beforeAll(async () => {
  lab = await openLab(schema, documents)
  // An engine that cannot say which words it knows.
  const engine: SearchEngine = createEngine()
  Object.defineProperty(engine, "words", { value: undefined })
  mute = await openLab(schema, documents, engine)
})
afterAll(async () => {
  await lab?.close()
  await mute?.close()
})
const trying = (own: Lab, more: object = {}) => ({
  context: own.context,
  reach: new Reach(own.context, {}),
  account: { left: REWRITES_MAX },
  again: async (q: string) => ({ ok: true as const, value: await own.ask({ ...all, q }) }),
  ...more
})

describe("a rewrite", () => {
  it("is guessed if the engine cannot say what it knows", async () => {
    const { found, tried, used } = await mute.rewrite({ ...all, q: "ghbdtn" })
    expect([used, found.answer.found]).toEqual([{ kind: "layout", q: "привет" }, 1])
    expect(tried).toEqual([{ kind: "layout", q: "привет" }])
    expect((await mute.rewrite({ ...all, q: "kruzhka" })).used).toEqual({ kind: "translit", q: "кружка" })
  })
  it("is not tried for a query that finds enough, forbids it, or has no words", async () => {
    const tried = async (parameters: Record<string, string>) => (await lab.rewrite(parameters)).tried
    expect(await tried({ ...all, q: "привет" })).toEqual([])
    expect(await tried({ ...all, q: "*" })).toEqual([])
    expect(await tried({ query_by: "title", q: "ghbdtn" })).toEqual([])
    expect(await tried({ ...all, q: "ghbdtn", query_rewrite_min_found: "0" })).toEqual([])
    expect(await tried({ ...all, q: "" })).toEqual([])
  })
  it("uses the rest of the request's budget, and nothing beyond", async () => {
    const account = { left: 1 }
    const first = await rewritten(trying(mute, { account }), await mute.ask({ ...all, q: "zzqqxw" }))
    expect([first.tried.length, account.left]).toEqual([1, 0])
    const second = await rewritten(trying(mute, { account }), await mute.ask({ ...all, q: "ghbdtn" }))
    expect([second.tried, second.used]).toEqual([[], undefined])
  })
  it("is abandoned if the engine stops answering: the first result stays the answer", async () => {
    const asked = await lab.ask({ ...all, q: "ghbdtn" })
    const again = async () => ({ ok: false as const, error: { kind: "TimedOut", message: "late" } })
    const answered = await rewritten(trying(lab, { again }), asked)
    expect([answered.found === asked.found, answered.used, answered.tried.length]).toEqual([true, undefined, 1])
  })
  it("leaves no trace in the account of bytes if it found nothing", async () => {
    const budget = new AnswerBudget(1_000_000)
    budget.hold(10, "documents")
    const again = async (q: string) => {
      budget.hold(500, "documents")
      return { ok: true as const, value: await mute.ask({ ...all, q }) }
    }
    const context = { ...mute.context, budget }
    await rewritten(trying(mute, { context, again }), await mute.ask({ ...all, q: "zzqqxw" }))
    expect(budget.held).toBe(10)
  })
})

it("orders are read from parameters, and refused if they name something unknown", () => {
  expect(rewriteOrderOf({})).toEqual({ ok: true, value: { kinds: [], minFound: 1 } })
  expect(rewriteOrderOf({ query_rewrite: "translit", query_rewrite_min_found: "5" })).toEqual({
    ok: true,
    value: { kinds: ["translit"], minFound: 5 }
  })
  const wrong: ReadonlyArray<Record<string, string>> = [
    { query_rewrite: "all" },
    { query_rewrite_min_found: "-1" },
    { query_rewrite_min_found: "1.5" },
    { query_rewrite_min_found: "9999999999" }
  ]
  for (const parameters of wrong)
    expect(rewriteOrderOf(parameters)).toMatchObject({ ok: false, error: { kind: "Invalid" } })
})
