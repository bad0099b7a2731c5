/** What a rule set may say: the checker names every problem at once, and what it accepts is complete. */
import { describe, expect, it } from "vitest"
import { MOVES_MAX } from "../src/pipeline/mod.ts"
import { noneReranker } from "../src/rerank/mod.ts"
import { emptyRuleSet } from "../src/rules/mod.ts"

describe("rule set", () => {
  it("starts empty, with every list of the specification", () => {
    expect(Object.keys(emptyRuleSet).sort()).toEqual(["banners", "boosts", "boosts_override_sort", "country", "device", "diversity", "exclusion_filter_by", "facet_suggestions", "fallback_model_id", "language", "pins", "redirects", "rerank", "sponsored", "suggestions", "zero_hits_fallback"])
    expect([noneReranker.name, MOVES_MAX]).toEqual(["none", 250])
  })
})
