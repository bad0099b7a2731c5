/** The contents of a rule set: the checker reports every problem at once, and what it accepts is complete. */
import { describe, expect, it } from "vitest"
import { fail, invalid, ok } from "../src/errors.ts"
import { checkRuleSet, emptyRuleSet, type RuleSetContext } from "../src/rules/mod.ts"

const context: RuleSetContext = {
  parseFilter: (text) =>
    text.includes("??")
      ? fail(invalid("Could not parse the filter query.", "filter_by"))
      : ok(text === "" ? undefined : { kind: "all" }),
  hasField: (name) => ["brand", "title", "embedding", "price"].includes(name)
}
const issuesOf = (body: unknown): ReadonlyArray<string> => {
  const checked = checkRuleSet(body, context)
  return checked.ok ? [] : checked.issues.map(({ path, message }) => `${path} ${message}`)
}

describe("checkRuleSet", () => {
  it("gives omitted fields their defaults", () => {
    expect(checkRuleSet({}, context)).toEqual({ ok: true, value: emptyRuleSet })
  })

  it("keeps a complete set as it is", () => {
    const set = {
      exclusion_filter_by: "brand:Old",
      zero_hits_fallback: "drop_filters",
      fallback_model_id: "",
      boosts: [{ filter_by: "brand:New", weight: -1.5, name: "new", priority: 2 }],
      boosts_override_sort: true,
      pins: [{ query: "lamp", match: "partial", filter_contains: "brand", doc_id: "7", position: 2, priority: 1 }],
      diversity: [
        {
          field: "brand",
          max: 2,
          min: 3,
          from: 2,
          near_duplicate: { fields: ["title"], threshold: 0.9 },
          mmr: { lambda: 0.5, vector_field: "embedding", text_fields: ["title"], k: 20 }
        }
      ],
      redirects: [{ query: "returns", match: "exact", url: "https://shop.example/returns", priority: 0 }],
      suggestions: [{ query: "lam", match: "prefix", suggestions: ["lamp"] }],
      facet_suggestions: { fields: ["brand"], limit: 5 },
      starts_at: "2026-05-01T00:00:00Z",
      ends_at: "2026-06-01T00:00:00+02:00",
      device: "mobile",
      language: "en",
      country: "GB",
      banners: [{ id: "b", query: "", match: "any", filter_contains: "", content: { html: "hello" }, priority: 0 }],
      sponsored: [
        {
          id: "s",
          query: "",
          match: "any",
          filter_by: "brand:Paid",
          label: "Ad",
          campaign_id: "c1",
          position: 1,
          priority: 0
        }
      ],
      rerank: {
        enabled: true,
        model: "linear",
        top_k: 30,
        fields: ["title", "price"],
        timeout_ms: 20,
        min_hits: 3,
        fallback: "error"
      }
    }
    expect(checkRuleSet(set, context)).toEqual({ ok: true, value: set })
  })

  it("names every problem with its path", () => {
    expect(
      issuesOf({
        exclusion_filter_by: "brand:??",
        zero_hits_fallback: "semantic",
        colour: 1,
        device: "fridge",
        language: "??",
        boosts: [{ filter_by: "", weight: "much", name: "", priority: 0.5 }],
        pins: [
          { query: "x", doc_id: "1", position: 0, match: "fuzzy" },
          { query: "", match: "exact", doc_id: "", position: 1.5 },
          7
        ],
        diversity: [
          { max: 1 },
          { near_duplicate: { fields: [], threshold: 2 } },
          { mmr: { lambda: -1 } },
          { mmr: { lambda: 1, text_fields: ["nowhere"] } }
        ],
        redirects: [{ query: "a", url: "javascript:alert(1)" }],
        starts_at: "2026-02-30T00:00:00Z",
        banners: {},
        sponsored: [{ query: "a", position: 1 }],
        rerank: { top_k: 0, fallback: "none" }
      })
    ).toEqual([
      "exclusion_filter_by Could not parse the filter query.",
      "zero_hits_fallback `semantic` is not available yet",
      "boosts[0].filter_by must not be empty",
      "boosts[0].weight must be a number",
      "boosts[0].priority must be an integer",
      "pins[0].match must be one of `exact`, `partial`, `prefix`, `any`",
      "pins[0].position must be between 1 and 10000",
      "pins[1].query must not be empty with match `exact`",
      "pins[1].doc_id must not be empty",
      "pins[1].position must be an integer",
      "pins[2] must be an object",
      "diversity[0].field is required with `max` or `min`",
      "diversity[1].near_duplicate.fields must name at least one field",
      "diversity[1].near_duplicate.threshold must be between 0 and 1",
      "diversity[2].mmr.lambda must be between 0 and 1",
      "diversity[2].mmr.vector_field or `text_fields` is required",
      "diversity[3].mmr.text_fields[0] the collection has no field `nowhere`",
      "redirects[0].url must be an http or https address, or a path that begins with `/`",
      "starts_at must be an ISO 8601 date-time, e.g. `2026-05-01T00:00:00Z`",
      "device must be one of `any`, `desktop`, `mobile`, `tablet`",
      "language must be a code such as `en`, `en-GB` or `GB`",
      "banners must be an array",
      "sponsored[0].id is required",
      "rerank.top_k must be between 1 and 250",
      "rerank.fallback must be one of `engine_order`, `error`",
      "colour is no field of a rule set"
    ])
  })

  it("refuses a window that ends before it starts, and bodies that are not objects", () => {
    expect(issuesOf({ starts_at: "2026-05-01T00:00:00Z", ends_at: "2026-05-01T00:00:00Z" })).toEqual([
      "ends_at must be later than `starts_at`"
    ])
    expect(issuesOf([])).toEqual([" must be an object"])
  })
  it("accepts fallbacks that the host has", () => {
    const hosted = {
      ...context,
      fallbacks: ["none", "recommendations"] as const,
      modelRefusal: (id: string) => (id === "m" ? undefined : "there is no such model")
    }
    const of = (fallback_model_id: string) => {
      const checked = checkRuleSet({ zero_hits_fallback: "recommendations", fallback_model_id }, hosted)
      return checked.ok ? [] : checked.issues.map(({ message, path }) => `${path} ${message}`)
    }
    expect([of("m"), of("n"), of("")]).toEqual([
      [],
      ["fallback_model_id there is no such model"],
      ["fallback_model_id is required with `recommendations`"]
    ])
    expect(checkRuleSet({ zero_hits_fallback: "semantic" }, { ...context, fallbacks: ["none", "semantic"] }).ok).toBe(
      true
    )
  })
})
