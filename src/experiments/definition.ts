/**
 * The part of an experiment that its owner writes, parsed by hand so that each mistake is reported with its path.
 * Checks that need the collection (fields, rules, profiles) follow later. Pure.
 */
import { PARAMETER_OWNERS, textParameters } from "@dowser/engine-sdk/query"
import { isStorable } from "../http/body.ts"
import { type Issue, issuesIn } from "../http/checks.ts"
import { isObject } from "../http/json-fields.ts"
import {
  DAYS_MAX,
  type Metric,
  INTERLEAVED,
  METRICS,
  MIN_SAMPLE_MAX,
  MODES,
  NAME_CHARACTERS_MAX,
  UNITS,
  VARIANTS_MAX,
  VARIANTS_MIN,
  WEIGHT_MAX
} from "./schema.ts"

export interface Variant {
  readonly id: string
  readonly name: string
  readonly weight: number
  readonly params?: Readonly<Record<string, string | number | boolean>>
  /** A validated rule set. */ readonly rules?: Readonly<Record<string, unknown>>
  readonly profile?: string
}
export type Target = { readonly preset: string } | { readonly profile: string }
export interface Definition {
  readonly name: string
  readonly collection: string
  readonly variants: ReadonlyArray<Variant>
  readonly target?: Target
  /** `split` if absent. */ readonly mode?: "interleave"
  readonly metric: Metric
  readonly traffic: number
  readonly min_sample: number
  readonly minimum_days: number
  readonly covariate_days: number
  readonly unit: (typeof UNITS)[number]
}

const FIELDS = new Set([
  "name",
  "collection",
  "variants",
  "target",
  "mode",
  "metric",
  "traffic",
  "min_sample",
  "minimum_days",
  "covariate_days",
  "unit"
])
/** A response may be edited and sent back, so fields that the service adds are accepted and ignored. */
const ADDED = new Set([
  "id",
  "status",
  "run",
  "started_at",
  "stopped_at",
  "promoted_variant_id",
  "winner_variant_id",
  "created_at",
  "updated_at"
])
const VARIANT_FIELDS = new Set(["id", "name", "weight", "params", "rules", "profile"])
const KINDS = new Set(["params", "rules", "profile"])
const PARAMS_MAX = 100
/**
 * Parameters that the visitor or the page decides, that cost credits, or that name another configuration: a variant
 * may only say how to search.
 */
const NEVER =
  /^(q|filter_by|page|offset|limit|collection|union|preset|profile|sort|search_policy|voice_query|nl_.*|conversation.*|x_.*|use_cache|cache_ttl|enable_analytics|analytics_tag|debug|facet_query|include_fields|exclude_fields)$/

const text = (value: unknown, charactersMax: number): string | undefined =>
  typeof value !== "string" || value.trim() === "" || [...value].length > charactersMax
    ? `A text of 1 to ${charactersMax} characters`
    : isStorable(value)
      ? undefined
      : "No NUL character and no half surrogate pair"
const number = (value: unknown, min: number, max: number, isWhole: boolean): string | undefined =>
  typeof value === "number" && value >= min && value <= max && (!isWhole || Number.isInteger(value))
    ? undefined
    : `A ${isWhole ? "whole number" : "number"} from ${min} to ${max}`
const oneOf = (value: unknown, list: ReadonlyArray<string>): string | undefined =>
  typeof value === "string" && list.includes(value) ? undefined : `One of ${list.join(", ")}`
const id = (value: unknown): string | undefined =>
  typeof value === "string" && /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/.test(value)
    ? undefined
    : "1 to 64 letters, digits, `_`, `.` and `-`"

const paramsIssues = (params: unknown, path: string): ReadonlyArray<Issue> => {
  if (!isObject(params)) return [{ path, message: "An object of search parameters" }]
  const names = Object.keys(params)
  if (names.length > PARAMS_MAX) return [{ path, message: `At most ${PARAMS_MAX} parameters` }]
  return names.flatMap((name) => {
    const value = params[name]
    const refuse = (message: string) => [{ path: `${path}.${name.slice(0, 80)}`, message }]
    if (NEVER.test(name)) return refuse("A variant says how to search, not what to search for, nor for whom")
    if (!Object.hasOwn(PARAMETER_OWNERS, name)) return refuse("There is no such search parameter")
    if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean")
      return refuse("A text, a number or a boolean")
    const read = textParameters({ [name]: value })
    if (!read.ok) return refuse(read.error.message)
    return isStorable(String(value)) ? [] : refuse("No NUL character and no half surrogate pair")
  })
}

const kindsOf = (variant: Readonly<Record<string, unknown>>): ReadonlyArray<string> =>
  Object.entries(variant).flatMap(([name, value]) => (KINDS.has(name) && value !== undefined ? [name] : []))
const variantIssues = (variant: unknown, path: string): ReadonlyArray<Issue> => {
  if (!isObject(variant)) return [{ path, message: "An object" }]
  return [
    ...issuesIn([
      [`${path}.id`, variant.id === undefined ? undefined : id(variant.id)],
      [`${path}.name`, variant.name === undefined ? undefined : text(variant.name, NAME_CHARACTERS_MAX)],
      [
        `${path}.weight`,
        variant.weight === undefined ||
        (typeof variant.weight === "number" && variant.weight > 0 && variant.weight <= WEIGHT_MAX)
          ? undefined
          : `A number above 0, at most ${WEIGHT_MAX}`
      ],
      [`${path}.profile`, variant.profile === undefined ? undefined : text(variant.profile, 64)],
      [path, kindsOf(variant).length > 1 ? "At most one of `params`, `rules` and `profile`" : undefined],
      ...unknown(variant, VARIANT_FIELDS, `${path}.`)
    ]),
    ...(variant.params === undefined ? [] : paramsIssues(variant.params, `${path}.params`)),
    ...(variant.rules === undefined || isObject(variant.rules)
      ? []
      : [{ path: `${path}.rules`, message: "A rule set is an object" }])
  ]
}
const unknown = (
  value: Readonly<Record<string, unknown>>,
  fields: ReadonlySet<string>,
  path = ""
): ReadonlyArray<readonly [string, string]> =>
  Object.keys(value)
    .filter((field) => !fields.has(field))
    .map((field) => [`${path}${field.slice(0, 80)}`, "Unknown field"])

const targetIssues = (target: unknown): ReadonlyArray<Issue> => {
  if (target === undefined) return []
  const names = isObject(target) ? Object.keys(target) : []
  const [kind] = names
  return isObject(target) && names.length === 1 && (kind === "preset" || kind === "profile")
    ? issuesIn([[`target.${kind}`, text(target[kind], 256)]])
    : [{ path: "target", message: "`{preset}` or `{profile}`" }]
}
const idsOf = (variants: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  variants.map((variant, i) => (isObject(variant) && variant.id !== undefined ? variant.id : idAt(i)))
const idAt = (i: number): string => (i === 0 ? "control" : `variant_${i}`)

const variantsIssues = (variants: unknown): ReadonlyArray<Issue> => {
  if (!Array.isArray(variants) || variants.length < VARIANTS_MIN || variants.length > VARIANTS_MAX)
    return [{ path: "variants", message: `${VARIANTS_MIN} to ${VARIANTS_MAX} variants, the control first` }]
  const ids = idsOf(variants)
  return [
    ...variants.flatMap((variant, i) => variantIssues(variant, `variants[${i}]`)),
    ...ids.flatMap((own, i) =>
      ids.indexOf(own) < i ? [{ path: `variants[${i}].id`, message: "Another variant has this id" }] : []
    )
  ]
}
/** Interleaving compares exactly two rankings, by the hits that visitors take from each. */
const interleaveIssues = (variants: unknown, metric: unknown): ReadonlyArray<Issue> => [
  ...(Array.isArray(variants) && variants.length !== 2
    ? [{ path: "variants", message: "Exactly two variants in the mode `interleave`" }]
    : []),
  ...(Array.isArray(variants) ? variants : []).flatMap((variant, i) => [
    ...(isObject(variant) && variant.params !== undefined
      ? [
          {
            path: `variants[${i}].params`,
            message: "`rules` or `profile` in the mode `interleave`: it compares rankings"
          }
        ]
      : []),
    ...(isObject(variant) && variant.id === INTERLEAVED
      ? [{ path: `variants[${i}].id`, message: `Not \`${INTERLEAVED}\`, which marks answers of both variants` }]
      : [])
  ]),
  ...(metric === "ctr" || metric === "conversion_rate"
    ? []
    : [
        {
          path: "metric",
          message: "ctr or conversion_rate in the mode `interleave`, which compares clicks and purchases"
        }
      ])
]
const variantOf = (variant: Readonly<Record<string, unknown>>, i: number): Variant => {
  const own = (variant.id as string | undefined) ?? idAt(i)
  return {
    id: own,
    name: ((variant.name as string | undefined) ?? own).trim(),
    weight: (variant.weight as number | undefined) ?? 1,
    ...(variant.params === undefined ? {} : { params: variant.params as NonNullable<Variant["params"]> }),
    ...(variant.rules === undefined ? {} : { rules: variant.rules as NonNullable<Variant["rules"]> }),
    ...(variant.profile === undefined ? {} : { profile: variant.profile as string })
  }
}

/** A body as a complete definition, or everything that is wrong with it. Omitted fields get defaults. */
export const definitionOf = (
  body: unknown
): { readonly definition: Definition } | { readonly issues: ReadonlyArray<Issue> } => {
  if (!isObject(body)) return { issues: [{ path: "body", message: "An experiment is an object" }] }
  const {
    covariate_days = 14,
    min_sample = 1_000,
    minimum_days = 7,
    traffic = 1,
    unit = "session",
    mode = "split"
  } = body
  const { collection, metric, name, target, variants } = body
  const issues = [
    ...issuesIn([
      ["name", text(name, NAME_CHARACTERS_MAX)],
      ["collection", text(collection, 256)],
      ["metric", oneOf(metric, METRICS)],
      ["traffic", number(traffic, 0, 1, false)],
      ["min_sample", number(min_sample, 1, MIN_SAMPLE_MAX, true)],
      ["minimum_days", number(minimum_days, 0, DAYS_MAX, true)],
      ["covariate_days", number(covariate_days, 0, DAYS_MAX, true)],
      ["unit", oneOf(unit, UNITS)],
      ...unknown(body, new Set([...FIELDS, ...ADDED]))
    ]),
    ...issuesIn([["mode", oneOf(mode, MODES)]]),
    ...targetIssues(target),
    ...variantsIssues(variants),
    ...(mode === "interleave" ? interleaveIssues(variants, metric) : [])
  ]
  if (issues.length > 0) return { issues }
  return {
    definition: {
      name: (name as string).trim(),
      collection: collection as string,
      variants: (variants as ReadonlyArray<Readonly<Record<string, unknown>>>).map(variantOf),
      ...(target === undefined ? {} : { target: target as Target }),
      ...(mode === "interleave" ? { mode: "interleave" as const } : {}),
      metric: metric as Metric,
      traffic: traffic as number,
      min_sample: min_sample as number,
      minimum_days: minimum_days as number,
      covariate_days: covariate_days as number,
      unit: unit as Definition["unit"]
    }
  }
}

/** Two experiments that run at the same time must not have this in common: collection and target. */
export const placeOf = ({ collection, target }: Pick<Definition, "collection" | "target">): string =>
  JSON.stringify([collection, target ?? null])
