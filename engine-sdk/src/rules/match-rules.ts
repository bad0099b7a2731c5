/** Which rules of a compiled set apply to a request. Pure; a few lookups for any number of rules. */
import type { CompiledRules } from "./compile-rules.ts"
import { queryWords } from "./condition-index.ts"
import type { FiredRule, MatchedPin, MatchedRules, MatchedSlot, RuleRequest } from "./matched-rules.ts"

/**
 * The result for a search without rules: no effects.
 *
 * @example
 * ```ts
 * import { noRules } from "@dowser/engine-sdk/rules"
 *
 * noRules.active // false
 * ```
 */
export const noRules: MatchedRules = {
  active: false,
  redirect: undefined,
  banners: [],
  suggestions: [],
  facetSuggestions: undefined,
  pins: [],
  sponsored: [],
  boosts: undefined,
  exclusion: undefined,
  fallback: "none",
  fallbackModel: "",
  rerank: undefined,
  diversity: [],
  fired: []
}

/**
 * O(words of the query and text of the filter + rules that fire). `words`: pass them if they are already known.
 *
 * @example
 * ```ts
 * import { ok } from "@dowser/engine-sdk"
 * import { compileRules, emptyRuleSet, matchRules } from "@dowser/engine-sdk/rules"
 *
 * const rules = compileRules(
 *   { ...emptyRuleSet, redirects: [{ query: "returns", match: "exact", url: "/returns", priority: 0 }] },
 *   { parseFilter: () => ok(undefined) }
 * )
 * matchRules(rules, { q: "Returns", now_ms: Date.now() }).redirect?.url // "/returns"
 * ```
 */
export const matchRules = (
  rules: CompiledRules,
  request: RuleRequest,
  words: ReadonlyArray<string> = queryWords(request.q)
): MatchedRules => {
  const { ruleSet } = rules
  if (!isFor(rules, request)) return noRules
  let redirect: { readonly url: string } | undefined
  const banners: Array<MatchedRules["banners"][number]> = [],
    suggestions: string[] = [],
    pins: MatchedPin[] = [],
    sponsored: MatchedSlot[] = [],
    fired: FiredRule[] = []
  for (const at of rules.conditions.find(words, request.filter_by ?? "")) {
    const effect = rules.effects[at]
    if (effect.kind === "redirect" && redirect !== undefined) continue
    fired.push(rules.firings[at])
    switch (effect.kind) {
      case "redirect":
        redirect = { url: effect.url }
        break
      case "banner":
        banners.push(effect.banner)
        break
      case "suggestion":
        suggestions.push(...effect.suggestions)
        break
      case "pin":
        pins.push(effect.pin)
        break
      case "sponsored":
        sponsored.push(effect.slot)
        break
    }
  }
  return {
    active: true,
    redirect,
    banners,
    suggestions: [...new Set(suggestions)],
    facetSuggestions: ruleSet.facet_suggestions.fields.length === 0 ? undefined : ruleSet.facet_suggestions,
    pins,
    sponsored,
    boosts: rules.boosts,
    exclusion: rules.exclusion,
    fallback: ruleSet.zero_hits_fallback,
    fallbackModel: ruleSet.fallback_model_id,
    rerank: ruleSet.rerank.enabled ? ruleSet.rerank : undefined,
    diversity: ruleSet.diversity,
    fired: [...rules.standing, ...fired]
  }
}

/** Whether the entire set applies to the request. */
const isFor = (
  { ruleSet, starts_ms, ends_ms }: CompiledRules,
  { now_ms, device, language, country }: RuleRequest
): boolean =>
  now_ms >= starts_ms &&
  now_ms < ends_ms &&
  (ruleSet.device === "any" || ruleSet.device === device?.toLowerCase()) &&
  (ruleSet.language === "" || isWithin(language, ruleSet.language)) &&
  (ruleSet.country === "" || ruleSet.country.toLowerCase() === country?.toLowerCase())
/** `en` matches `en-GB`, but not vice versa. */
const isWithin = (given: string | undefined, wanted: string): boolean => {
  const tag = given?.toLowerCase().replaceAll("_", "-"),
    asked = wanted.toLowerCase().replaceAll("_", "-")
  return tag === asked || tag?.startsWith(`${asked}-`) === true
}
