/**
 * A rule set prepared for matching: filters are parsed once, conditions indexed, and everything that can fire is
 * described in advance. Immutable; compile again when the set or the schema changes.
 */
import type { Result } from "../errors.ts"
import type { Filter } from "../filter.ts"
import { ConditionIndex, type Condition } from "./condition-index.ts"
import { parseInstant } from "./instant.ts"
import type { FiredRule, MatchedBoosts, MatchedPin, MatchedRules, MatchedSlot, RuleKind } from "./matched-rules.ts"
import type { RuleSet } from "./rule-set.ts"

export interface RuleContext {
  /** The tree of a filter text under the collection's schema; undefined for an empty text. */ readonly parseFilter: (
    text: string
  ) => Result<Filter | undefined>
}
/** The effect of a condition when it holds. */
type Effect =
  | { readonly kind: "redirect"; readonly url: string }
  | { readonly kind: "banner"; readonly banner: MatchedRules["banners"][number] }
  | { readonly kind: "suggestion"; readonly suggestions: ReadonlyArray<string> }
  | { readonly kind: "pin"; readonly pin: MatchedPin }
  | { readonly kind: "sponsored"; readonly slot: MatchedSlot }
export interface CompiledRules {
  readonly ruleSet: RuleSet
  /** Unix milliseconds. */ readonly starts_ms: number
  readonly ends_ms: number
  /** In the order in which effects of one kind apply: by priority, then as written. */
  readonly effects: ReadonlyArray<Effect>
  /** For each of `effects`, the rule to report. */ readonly firings: ReadonlyArray<FiredRule>
  readonly conditions: ConditionIndex
  readonly exclusion: MatchedRules["exclusion"]
  readonly boosts: MatchedBoosts | undefined
  /** Rules that act on every search while the set is active. */ readonly standing: ReadonlyArray<FiredRule>
  /** Rules that cannot act because their filter no longer parses under this schema. */
  readonly inert: ReadonlyArray<FiredRule>
}

interface Draft {
  readonly condition: Condition
  readonly priority: number
  readonly effect: Effect
  readonly fired: FiredRule
}

/**
 * O(rules). Never fails. Decision: a filter that was valid when it was written but no longer is (its field was dropped)
 * makes its rule inert, as in curation (`docs/contract/curation.md#placeholders`), because a schema change must not
 * break a shop's search.
 *
 * @example
 * ```ts
 * import { ok } from "@dowser/engine-sdk"
 * import { compileRules, emptyRuleSet } from "@dowser/engine-sdk/rules"
 *
 * const rules = compileRules(
 *   { ...emptyRuleSet, redirects: [{ query: "returns", match: "exact", url: "/returns", priority: 0 }] },
 *   { parseFilter: () => ok(undefined) }
 * )
 * ```
 */
export const compileRules = (ruleSet: RuleSet, context: RuleContext): CompiledRules => {
  const inert: FiredRule[] = []
  const parse = (text: string, kind: RuleKind, index: number): Filter | undefined => {
    const parsed = context.parseFilter(text)
    if (!parsed.ok) inert.push({ kind, index, why: parsed.error.message })
    return parsed.ok ? parsed.value : undefined
  }
  const drafts = draftsOf(ruleSet, parse).sort((a, b) => a.priority - b.priority)
  const exclusion = parse(ruleSet.exclusion_filter_by, "exclusion", 0)
  const boosts = ruleSet.boosts.flatMap(({ filter_by, weight }, i) => {
    const filter = parse(filter_by, "boost", i)
    return filter === undefined ? [] : [{ filter, score: weight, index: i }]
  })
  return {
    ruleSet,
    starts_ms: parseInstant(ruleSet.starts_at ?? "") ?? -Infinity,
    ends_ms: parseInstant(ruleSet.ends_at ?? "") ?? Infinity,
    effects: drafts.map(({ effect }) => effect),
    firings: drafts.map(({ fired }) => fired),
    conditions: new ConditionIndex(drafts.map(({ condition }) => condition)),
    exclusion: exclusion === undefined ? undefined : { filter: exclusion, filter_by: ruleSet.exclusion_filter_by },
    boosts:
      boosts.length === 0
        ? undefined
        : { cases: boosts.map(({ filter, score }) => ({ filter, score })), overrideSort: ruleSet.boosts_override_sort },
    standing: standingOf(
      ruleSet,
      exclusion !== undefined,
      boosts.map(({ index }) => index)
    ),
    inert
  }
}

const draftsOf = (
  ruleSet: RuleSet,
  parse: (text: string, kind: RuleKind, index: number) => Filter | undefined
): Draft[] => {
  const drafts: Draft[] = []
  const add = (condition: Condition, priority: number, effect: Effect, index: number, id?: string): void => {
    drafts.push({
      condition,
      priority,
      effect,
      fired: { kind: effect.kind, index, ...(id === undefined ? {} : { id }), why: whyOf(condition) }
    })
  }
  ruleSet.redirects.forEach((rule, i) => add(rule, rule.priority, { kind: "redirect", url: rule.url }, i))
  ruleSet.pins.forEach((rule, i) =>
    add(rule, rule.priority, { kind: "pin", pin: { id: rule.doc_id, position: rule.position } }, i, rule.doc_id)
  )
  ruleSet.sponsored.forEach((rule, i) => {
    const filter = rule.filter_by.trim() === "" ? undefined : parse(rule.filter_by, "sponsored", i)
    if (filter === undefined && rule.filter_by.trim() !== "") return
    const target = filter === undefined ? { id: rule.id } : { filter, filter_by: rule.filter_by }
    add(
      rule,
      rule.priority,
      {
        kind: "sponsored",
        slot: { target, position: rule.position, label: rule.label, campaign_id: rule.campaign_id }
      },
      i,
      rule.id
    )
  })
  ruleSet.banners.forEach((rule, i) =>
    add(rule, rule.priority, { kind: "banner", banner: { id: rule.id, content: rule.content } }, i, rule.id)
  )
  ruleSet.suggestions.forEach((rule, i) => add(rule, 0, { kind: "suggestion", suggestions: rule.suggestions }, i))
  return drafts
}
const whyOf = ({ query, match, filter_contains = "" }: Condition): string => {
  const words =
    match === "any"
      ? "any query"
      : match === "exact"
        ? `the query is \`${query}\``
        : match === "prefix"
          ? `the query begins with \`${query}\``
          : `the query contains \`${query}\``
  return filter_contains === "" ? words : `${words}; the filter contains \`${filter_contains}\``
}
const standingOf = (
  ruleSet: RuleSet,
  hasExclusion: boolean,
  boosts: ReadonlyArray<number>
): ReadonlyArray<FiredRule> => [
  ...(hasExclusion ? [{ kind: "exclusion" as const, index: 0, why: ruleSet.exclusion_filter_by }] : []),
  ...boosts.map((index) => {
    const { name, filter_by, weight } = ruleSet.boosts[index]
    return { kind: "boost" as const, index, ...(name === "" ? {} : { id: name }), why: `${weight} where ${filter_by}` }
  }),
  ...(ruleSet.facet_suggestions.fields.length > 0
    ? [{ kind: "facet_suggestion" as const, index: 0, why: ruleSet.facet_suggestions.fields.join(", ") }]
    : []),
  ...(ruleSet.rerank.enabled ? [{ kind: "rerank" as const, index: 0, why: ruleSet.rerank.model }] : []),
  ...ruleSet.diversity.map((rule, index) => ({
    kind: "diversity" as const,
    index,
    why: [
      rule.near_duplicate === undefined ? "" : "near_duplicate",
      rule.max === undefined ? "" : `max ${rule.max} per ${rule.field}`,
      rule.min === undefined ? "" : `min ${rule.min} of ${rule.field}`,
      rule.mmr === undefined ? "" : "mmr"
    ]
      .filter((part) => part !== "")
      .join(", ")
  }))
]
