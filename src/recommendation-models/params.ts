/** Types of models: the parameters they accept, and by which links an answer of each is filled. Pure. */
import {
  KINDS,
  NEXT_ITEMS,
  type NextItemsParameters,
  POPULAR,
  TASTE,
  TOGETHER,
  TRENDING
} from "@dowser/engine-sdk/recommend"
import { isObject } from "../http/json-fields.ts"
import type { Link, ListParameters } from "./live/messages.ts"

export const MODEL_TYPES = [
  "also_viewed",
  "frequently_bought_together",
  "personalized",
  "trending",
  "popular",
  "similar"
] as const
export type ModelType = (typeof MODEL_TYPES)[number]
/** The sources of the hits in an answer. */
export type HitKind = Link | "similar" | "newest"

const EVENTS: ReadonlyArray<string> = [...KINDS, "any"]
const FIELDS_MAX = 16

type Check = (value: unknown) => string | undefined
const number =
  (min: number, max: number, isWhole = false): Check =>
  (value) =>
    typeof value !== "number" || !(value >= min && value <= max) || (isWhole && !Number.isInteger(value))
      ? `a ${isWhole ? "whole " : ""}number from ${min} to ${max}`
      : undefined
const fieldName: Check = (value) =>
  typeof value !== "string" || value === "" || value.length > 256 ? "the name of a field" : undefined
const CHECKS: ReadonlyMap<string, ReadonlyMap<string, Check>> = new Map([
  [
    "frequently_bought_together",
    new Map([
      ["popularity_bias", number(0, 1)],
      ["min_support", number(1, 1_000, true)]
    ])
  ],
  [
    "trending",
    new Map([
      ["window_hours", number(1, 168, true)],
      ["baseline_days", number(1, 30, true)]
    ])
  ],
  [
    "popular",
    new Map<string, Check>([
      ["half_life_days", number(0.1, 365)],
      ["event", (value) => (EVENTS.includes(value as string) ? undefined : `one of ${EVENTS.join(", ")}`)]
    ])
  ],
  [
    "similar",
    new Map<string, Check>([
      [
        "fields",
        (value) =>
          Array.isArray(value) && value.length <= FIELDS_MAX && value.every((name) => fieldName(name) === undefined)
            ? undefined
            : `up to ${FIELDS_MAX} names of fields`
      ],
      ["vector_field", fieldName]
    ])
  ]
])

/** What is wrong with the parameters of a type, as a sentence. */
export const paramsIssue = (type: string, params: unknown): string | undefined => {
  const checks = CHECKS.get(type)
  if (params === undefined || !isObject(params)) return undefined
  const wrong = Object.entries(params).flatMap(([name, value]) => {
    const check = checks?.get(name)
    if (check === undefined) return [`\`params.${name}\` is no parameter of \`${type}\``]
    const should = check(value)
    return should === undefined ? [] : [`\`params.${name}\` must be ${should}`]
  })
  return wrong.length === 0 ? undefined : `${wrong.join("; ")}.`
}

export type Params = Readonly<Record<string, unknown>>
const together: Params = { popularity_bias: TOGETHER.popularityBias, min_support: TOGETHER.minSupport }
const trending: Params = { window_hours: TRENDING.windowHours, baseline_days: TRENDING.baselineDays }
const popular: Params = { half_life_days: POPULAR.halfLifeDays, event: "any" }
const DEFAULTS: ReadonlyMap<ModelType, Params> = new Map([
  ["frequently_bought_together", together],
  ["trending", trending],
  ["popular", popular]
])
export const withDefaults = (type: ModelType, params: Params | undefined): Params => ({
  ...DEFAULTS.get(type),
  ...params
})

/** Parameters for reading visits that a training may set, by their names in the API. */
const READING: ReadonlyMap<string, keyof NextItemsParameters> = new Map([
  ["transition_decay", "transitionDecay"],
  ["similar_decay", "similarDecay"],
  ["age_days", "ageDays"],
  ["distance", "distance"],
  ["neighbours", "neighbours"]
])
const readingOf = (defaults: NextItemsParameters, params: Params): NextItemsParameters => {
  const own: Partial<Record<keyof NextItemsParameters, number>> = {}
  for (const [name, key] of READING) {
    const value = params[name]
    if (typeof value === "number") own[key] = value
  }
  return { ...defaults, ...own }
}

/** For the lists of a chain; the parameters of the model's own type apply only to it. */
export const listParameters = (params: Params, type?: ModelType): ListParameters => {
  const all: Params = { ...together, ...trending, ...popular, ...params }
  const number = (name: string) => all[name] as number
  const kind = (KINDS as ReadonlyArray<unknown>).indexOf(all.event)
  return {
    popularity_bias: number("popularity_bias"),
    min_support: number("min_support"),
    window_hours: number("window_hours"),
    baseline_days: number("baseline_days"),
    half_life_days: number("half_life_days"),
    kind: kind < 0 ? undefined : kind,
    ...(type === "also_viewed" ? { next: readingOf(NEXT_ITEMS, params) } : {}),
    ...(type === "personalized" ? { taste: readingOf(TASTE, params) } : {})
  }
}

const CHAIN: ReadonlyArray<Link> = ["also_viewed", "trending", "popular"]
/** Links of an answer in order; the engine's `newest` follows all of them. */
export const chainOf = (type: ModelType): ReadonlyArray<Link> => {
  switch (type) {
    case "similar":
    case "also_viewed":
      return CHAIN
    case "frequently_bought_together":
    case "personalized":
      return [type, ...CHAIN]
    case "trending":
      return ["trending", "popular"]
    case "popular":
      return ["popular"]
  }
}
