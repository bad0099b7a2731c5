/** Matching through indexes, compared with the plainest matcher over random rules and queries; gates; priorities. */
import { describe, expect, it } from "vitest"
import { ok } from "../src/errors.ts"
import {
  compileRules,
  emptyRuleSet,
  matchRules,
  queryWords,
  type Pin,
  type RuleRequest,
  type RuleSet
} from "../src/rules/mod.ts"
import { randomOf } from "./random.ts"

const compile = (more: Partial<RuleSet>) =>
  compileRules({ ...emptyRuleSet, ...more }, { parseFilter: (text) => ok(text === "" ? undefined : { kind: "all" }) })
const request = (q: string, more: Partial<RuleRequest> = {}): RuleRequest => ({ q, now_ms: 1_000, ...more })

const holds = ({ query, match, filter_contains }: Pin, { q, filter_by = "" }: RuleRequest): boolean => {
  if (filter_contains !== "" && !filter_by.includes(filter_contains)) return false
  if (match === "any") return true
  const wanted = queryWords(query).join(" "),
    asked = queryWords(q).join(" ")
  if (wanted === "") return false
  if (match === "exact") return asked === wanted
  return match === "prefix" ? asked.startsWith(wanted) : ` ${asked} `.includes(` ${wanted} `)
}

describe("matchRules", () => {
  it("fires the rules that a brute-force matcher fires", () => {
    const random = randomOf(5)
    const words = ["red", "Shoe", "shoes", "LED", "lamp", "café", "x", "42"],
      filters = ["", "", "brand:=Acme", "brand:=Ac", "a", "price:<10 && brand:=Acme", "in_stock:true"]
    const phrase = (): string =>
      Array.from({ length: 1 + random.below(3) }, () => random.pick(words)).join(random.pick([" ", "  ", "-"]))
    for (let round = 0; round < 40; round++) {
      const pins = Array.from({ length: 60 }, (_pin, i): Pin => ({
        query: random.chance(0.1) ? "!!" : phrase(),
        match: random.pick(["exact", "partial", "prefix", "any"] as const),
        filter_contains: random.pick(filters),
        doc_id: `d${i}`,
        position: 1,
        priority: random.below(3)
      }))
      const rules = compile({ pins })
      for (let n = 0; n < 30; n++) {
        const asked = request(
          random.chance(0.1) ? "*" : Array.from({ length: 1 + random.below(3) }, phrase).join(" "),
          { filter_by: random.pick(filters) + random.pick(["", " && in_stock:true"]) }
        )
        const expected = pins
          .map((pin, i) => ({ pin, i }))
          .filter(({ pin }) => holds(pin, asked))
          .sort((a, b) => a.pin.priority - b.pin.priority || a.i - b.i)
          .map(({ pin }) => pin.doc_id)
        expect(
          matchRules(rules, asked).pins.map(({ id }) => id),
          JSON.stringify(asked)
        ).toEqual(expected)
      }
    }
  })

  it("respects window, device, language and country; an unknown one matches only rules without that gate", () => {
    const rules = compile({
      starts_at: "1970-01-01T00:00:01Z",
      ends_at: "1970-01-01T00:00:02Z",
      device: "mobile",
      language: "en",
      country: "GB"
    })
    const right = { device: "mobile", language: "en-GB", country: "gb" }
    const active = (more: Partial<RuleRequest>): boolean =>
      matchRules(rules, request("q", { ...right, ...more })).active
    expect([
      active({}),
      active({ now_ms: 999 }),
      active({ now_ms: 1_999 }),
      active({ now_ms: 2_000 }),
      active({ device: "desktop" }),
      active({ device: undefined }),
      active({ language: "english" }),
      active({ language: "en" }),
      active({ country: undefined })
    ]).toEqual([true, false, true, false, false, false, false, true, false])
  })

  it("takes the redirect with the lowest priority number, banners by priority, suggestions once", () => {
    const any = { query: "", match: "any" as const }
    const matched = matchRules(
      compile({
        redirects: [
          { ...any, url: "/b", priority: 2 },
          { ...any, url: "/a", priority: 1 }
        ],
        banners: [
          { ...any, filter_contains: "", id: "late", content: {}, priority: 9 },
          { ...any, filter_contains: "", id: "early", content: { n: 1 }, priority: 1 }
        ],
        suggestions: [
          { ...any, suggestions: ["x", "y"] },
          { query: "q", match: "exact", suggestions: ["y", "z"] }
        ]
      }),
      request("Q")
    )
    expect(matched.redirect).toEqual({ url: "/a" })
    expect(matched.banners).toEqual([
      { id: "early", content: { n: 1 } },
      { id: "late", content: {} }
    ])
    expect(matched.suggestions).toEqual(["x", "y", "z"])
    expect(matched.fired.filter(({ kind }) => kind === "redirect")).toEqual([
      { kind: "redirect", index: 1, why: "any query" }
    ])
  })
})
