/**
 * Turns a body into a complete rule set, or lists every problem it has (unknown fields are problems). Omitted fields
 * get their defaults, so replacing a set keeps nothing of the previous one.
 */
import { isObject } from "../documents/json.ts"
import type { Result } from "../errors.ts"
import type { Filter } from "../filter.ts"
import { BodyReader, type RuleIssue } from "./body-reader.ts"
import { parseInstant } from "./instant.ts"
import {
  defaultRerank,
  emptyRuleSet,
  MMR_POSITIONS,
  type Banner,
  type Boost,
  type Device,
  type DiversityRule,
  type FacetSuggestions,
  type Pin,
  type QueryCondition,
  type QueryMatch,
  type Redirect,
  type RerankSettings,
  type RuleSet,
  type SponsoredSlot,
  type SuggestionRule,
  type ZeroHitsFallback
} from "./rule-set.ts"

export interface RuleSetContext {
  readonly parseFilter: (text: string) => Result<Filter | undefined>
  /** Whether the collection has a field; absent if that is not known. */ readonly hasField?: (name: string) => boolean
  /** The fallbacks that this installation supports; others are refused as not available yet. */
  readonly fallbacks?: ReadonlyArray<ZeroHitsFallback>
  /** The reason why a model cannot be the fallback; absent if that is not known. */
  readonly modelRefusal?: (id: string) => string | undefined
}
export type CheckedRuleSet =
  | { readonly ok: true; readonly value: RuleSet }
  | { readonly ok: false; readonly issues: ReadonlyArray<RuleIssue> }

/**
 * Maximum rules in one list.
 *
 * @example
 * ```ts
 * import { RULES_MAX } from "@dowser/engine-sdk/rules"
 *
 * const pins: ReadonlyArray<unknown> = []
 * if (pins.length > RULES_MAX) throw new Error(`At most ${RULES_MAX} pins.`)
 * ```
 */
export const RULES_MAX = 10_000
/**
 * Every boost is evaluated once for every document of a segment.
 *
 * @example
 * ```ts
 * import { BOOSTS_MAX } from "@dowser/engine-sdk/rules"
 *
 * const isTooMany = (boosts: ReadonlyArray<unknown>) => boosts.length > BOOSTS_MAX
 * ```
 */
export const BOOSTS_MAX = 1_000
const POSITION_MAX = 10_000
const PRIORITY_MAX = 1_000_000_000
const WEIGHT_MAX = 1_000_000
const FILTER_LENGTH_MAX = 4_000
const FIELDS_MAX = 50
const WINDOW_MAX = 250
const matches: ReadonlyArray<QueryMatch> = ["exact", "partial", "prefix", "any"]
const devices: ReadonlyArray<Device> = ["any", "desktop", "mobile", "tablet"]
const fallbacks: ReadonlyArray<ZeroHitsFallback> = ["none", "drop_filters", "popular", "recommendations", "semantic"]
const available: ReadonlyArray<ZeroHitsFallback> = ["none", "drop_filters", "popular"]

/**
 * O(body).
 *
 * @example
 * ```ts
 * import { ok } from "@dowser/engine-sdk"
 * import { checkRuleSet } from "@dowser/engine-sdk/rules"
 *
 * const checked = checkRuleSet({ pins: [{ query: "shoe", position: 0 }] }, { parseFilter: () => ok(undefined) })
 * if (!checked.ok) checked.issues.map(({ message, path }) => `${path} ${message}`)
 * ```
 */
export const checkRuleSet = (body: unknown, context: RuleSetContext): CheckedRuleSet => {
  if (!isObject(body)) return { ok: false, issues: [{ path: "", message: "must be an object" }] }
  const issues: RuleIssue[] = []
  const reader = new BodyReader(body, "", issues)
  const value = new Check(context).ruleSet(reader)
  reader.refuseUnknown()
  return issues.length === 0 ? { ok: true, value } : { ok: false, issues }
}

class Check {
  readonly #context: RuleSetContext
  constructor(context: RuleSetContext) {
    this.#context = context
  }

  ruleSet(body: BodyReader): RuleSet {
    return {
      exclusion_filter_by: this.#filter(body, "exclusion_filter_by"),
      ...this.#fallback(body),
      boosts: body.list("boosts", BOOSTS_MAX, (boost) => this.#boost(boost)),
      boosts_override_sort: body.flag("boosts_override_sort", false),
      pins: body.list("pins", RULES_MAX, (pin) => this.#pin(pin)),
      diversity: body.list("diversity", FIELDS_MAX, (rule) => this.#diversity(rule)),
      redirects: body.list("redirects", RULES_MAX, (redirect) => this.#redirect(redirect)),
      suggestions: body.list("suggestions", RULES_MAX, (rule): SuggestionRule => ({
        ...this.#condition(rule),
        suggestions: rule.texts("suggestions", FIELDS_MAX)
      })),
      facet_suggestions:
        body.object("facet_suggestions", (rule): FacetSuggestions => ({
          fields: this.#fields(rule, "fields"),
          limit: rule.integer("limit", 10, 1, WINDOW_MAX)
        })) ?? emptyRuleSet.facet_suggestions,
      ...this.#window(body),
      device: body.choice("device", devices, "any"),
      language: this.#tag(body, "language"),
      country: this.#tag(body, "country"),
      banners: body.list("banners", RULES_MAX, (banner) => this.#banner(banner)),
      sponsored: body.list("sponsored", RULES_MAX, (slot) => this.#slot(slot)),
      rerank: body.object("rerank", (rerank) => this.#rerank(rerank)) ?? defaultRerank
    }
  }

  #filter(body: BodyReader, name: string, required = false): string {
    const text = body.text(name, { required, length_max: FILTER_LENGTH_MAX })
    const parsed = this.#context.parseFilter(text)
    if (!parsed.ok) body.refuse(name, parsed.error.message)
    return text
  }
  #field(body: BodyReader, name: string): string {
    const field = body.text(name, { length_max: 256 })
    if (field !== "" && !this.#isField(field)) body.refuse(name, `the collection has no field \`${field}\``)
    return field
  }
  #fields(body: BodyReader, name: string): ReadonlyArray<string> {
    const fields = body.texts(name, FIELDS_MAX)
    fields.forEach((field, i) => {
      if (!this.#isField(field)) body.refuse(`${name}[${i}]`, `the collection has no field \`${field}\``)
    })
    return fields
  }
  #isField(field: string): boolean {
    return this.#context.hasField?.(field) ?? true
  }

  #fallback(body: BodyReader): Pick<RuleSet, "zero_hits_fallback" | "fallback_model_id"> {
    const fallback = body.choice("zero_hits_fallback", fallbacks, "none")
    const model = body.text("fallback_model_id", { length_max: 256 })
    if (!(this.#context.fallbacks ?? available).includes(fallback))
      body.refuse("zero_hits_fallback", `\`${fallback}\` is not available yet`)
    else if (fallback === "recommendations") {
      const refusal = model === "" ? "is required with `recommendations`" : this.#context.modelRefusal?.(model)
      if (refusal !== undefined) body.refuse("fallback_model_id", refusal)
    }
    return { zero_hits_fallback: fallback, fallback_model_id: model }
  }
  /** Languages and countries are only compared, not interpreted. */
  #tag(body: BodyReader, name: string): string {
    const tag = body.text(name, { length_max: 35 })
    if (tag !== "" && !/^[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8})*$/.test(tag))
      body.refuse(name, "must be a code such as `en`, `en-GB` or `GB`")
    return tag
  }
  #window(body: BodyReader): Pick<RuleSet, "starts_at" | "ends_at"> {
    const [starts_at, ends_at] = (["starts_at", "ends_at"] as const).map((name) => {
      const text = body.text(name, { length_max: 64 })
      if (text !== "" && parseInstant(text) === undefined)
        body.refuse(name, "must be an ISO 8601 date-time, e.g. `2026-05-01T00:00:00Z`")
      return text === "" ? undefined : text
    })
    const start = parseInstant(starts_at ?? ""),
      end = parseInstant(ends_at ?? "")
    if (start !== undefined && end !== undefined && end <= start)
      body.refuse("ends_at", "must be later than `starts_at`")
    return { ...(starts_at === undefined ? {} : { starts_at }), ...(ends_at === undefined ? {} : { ends_at }) }
  }
  /** A rule without a query and without a kind of match applies to every query. */
  #condition(body: BodyReader): QueryCondition {
    const query = body.text("query")
    const match = body.choice("match", matches, query.trim() === "" ? "any" : "exact")
    if (match !== "any" && query.trim() === "") body.refuse("query", `must not be empty with match \`${match}\``)
    return { query, match }
  }
  #priority(body: BodyReader): number {
    return body.integer("priority", 0, -PRIORITY_MAX, PRIORITY_MAX)
  }
  #boost(body: BodyReader): Boost {
    return {
      filter_by: this.#filter(body, "filter_by", true),
      weight: body.number("weight", undefined, -WEIGHT_MAX, WEIGHT_MAX),
      name: body.text("name", { length_max: 256 }),
      priority: this.#priority(body)
    }
  }
  #pin(body: BodyReader): Pin {
    return {
      ...this.#condition(body),
      filter_contains: body.text("filter_contains", { length_max: FILTER_LENGTH_MAX }),
      doc_id: body.text("doc_id", { required: true }),
      position: body.integer("position", undefined, 1, POSITION_MAX),
      priority: this.#priority(body)
    }
  }
  #redirect(body: BodyReader): Redirect {
    const condition = this.#condition(body)
    const url = body.text("url", { required: true, length_max: 2_048 })
    // Anything else (`javascript:`, `data:`) would be executed by the page that follows the redirect.
    if (url !== "" && !/^(https?:\/\/|\/(?!\/))\S*$/i.test(url))
      body.refuse("url", "must be an http or https address, or a path that begins with `/`")
    return { ...condition, url, priority: this.#priority(body) }
  }
  #banner(body: BodyReader): Banner {
    return {
      id: body.text("id", { required: true, length_max: 256 }),
      ...this.#condition(body),
      filter_contains: body.text("filter_contains", { length_max: FILTER_LENGTH_MAX }),
      content: body.free("content", 16_384),
      priority: this.#priority(body)
    }
  }
  #slot(body: BodyReader): SponsoredSlot {
    const filter_by = this.#filter(body, "filter_by")
    return {
      id: body.text("id", { required: filter_by.trim() === "" }),
      ...this.#condition(body),
      filter_by,
      label: body.text("label", { length_max: 256 }),
      campaign_id: body.text("campaign_id", { length_max: 256 }),
      position: body.integer("position", undefined, 1, POSITION_MAX),
      priority: this.#priority(body)
    }
  }
  #rerank(body: BodyReader): RerankSettings {
    return {
      enabled: body.flag("enabled", defaultRerank.enabled),
      model: body.text("model", { fallback: defaultRerank.model, length_max: 256 }),
      top_k: body.integer("top_k", defaultRerank.top_k, 1, WINDOW_MAX),
      fields: this.#fields(body, "fields"),
      timeout_ms: body.integer("timeout_ms", defaultRerank.timeout_ms, 1, 10_000),
      min_hits: body.integer("min_hits", defaultRerank.min_hits, 0, WINDOW_MAX),
      fallback: body.choice("fallback", ["engine_order", "error"] as const, defaultRerank.fallback)
    }
  }
  #diversity(body: BodyReader): DiversityRule {
    const field = this.#field(body, "field")
    const max = body.has("max") ? body.integer("max", undefined, 1, WINDOW_MAX) : undefined
    const min = body.has("min") ? body.integer("min", undefined, 1, WINDOW_MAX) : undefined
    if (field === "" && (max !== undefined || min !== undefined))
      body.refuse("field", "is required with `max` or `min`")
    const near_duplicate = body.object("near_duplicate", (rule) => {
      const fields = this.#fields(rule, "fields")
      if (fields.length === 0) rule.refuse("fields", "must name at least one field")
      return { fields, threshold: rule.number("threshold", 0.8, 0, 1) }
    })
    const mmr = body.object("mmr", (rule) => {
      const found = {
        lambda: rule.number("lambda", 0.7, 0, 1),
        vector_field: this.#field(rule, "vector_field"),
        text_fields: this.#fields(rule, "text_fields"),
        k: rule.integer("k", MMR_POSITIONS, 1, WINDOW_MAX)
      }
      if (found.vector_field === "" && found.text_fields.length === 0)
        rule.refuse("vector_field", "or `text_fields` is required")
      return found
    })
    return {
      field,
      from: body.integer("from", 1, 1, WINDOW_MAX),
      ...(max === undefined ? {} : { max }),
      ...(min === undefined ? {} : { min }),
      ...(near_duplicate === undefined ? {} : { near_duplicate }),
      ...(mmr === undefined ? {} : { mmr })
    }
  }
}
