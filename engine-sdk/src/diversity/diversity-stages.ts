/**
 * The diversity rules of a set as stages, in this order: near-duplicates of all entries, then caps and minimum values,
 * then MMR.
 */
import type { Candidate, Stage, StageContext } from "../stage/stage.ts"
import type { FieldValue } from "../plan.ts"
import type { DiversityRule, Mmr, NearDuplicate } from "../rules/rule-set.ts"
import { capPerValue, ensureValues, type Values } from "./caps.ts"
import { greedyMmr } from "./mmr.ts"
import { separateDuplicates } from "./near-duplicate.ts"
import { textSimilarity, vectorSimilarity } from "./similarity.ts"

/** Budget of each stage in milliseconds; when it is used up, what has been done so far is kept. */
const diversityBudgets = { near_duplicate: 20, max_min: 10, mmr: 30 } as const

/**
 * The stages for diversity rules, in the order in which they run.
 *
 * @example
 * ```ts
 * import { createSearch } from "@dowser/engine-sdk"
 * import { diversityStages } from "@dowser/engine-sdk/diversity"
 *
 * const products = createSearch({ stages: diversityStages([{ field: "brand", max: 2, from: 1 }]) })
 * ```
 */
export const diversityStages = (rules: ReadonlyArray<DiversityRule>): ReadonlyArray<Stage> => [
  ...rules.flatMap(({ near_duplicate }) => (near_duplicate === undefined ? [] : [nearDuplicateStage(near_duplicate)])),
  ...rules.flatMap((rule) => (rule.max === undefined && rule.min === undefined ? [] : [maxMinStage(rule)])),
  ...rules.flatMap(({ mmr }) => (mmr === undefined ? [] : [mmrStage(mmr)]))
]

/**
 * A stage that moves hits back if their fields say the same as those of an earlier hit.
 *
 * @example
 * ```ts
 * import { createSearch } from "@dowser/engine-sdk"
 * import { nearDuplicateStage } from "@dowser/engine-sdk/diversity"
 *
 * const products = createSearch({ stages: [nearDuplicateStage({ fields: ["title"], threshold: 0.8 })] })
 * ```
 */
export const nearDuplicateStage = ({ fields, threshold }: NearDuplicate): Stage => ({
  name: "near_duplicate",
  budget_ms: diversityBudgets.near_duplicate,
  fallback: "keep_order",
  fields,
  run: (candidates, context) => {
    const { order, like } = separateDuplicates(
      candidates.map((candidate) => textOf(candidate, fields)),
      threshold,
      () => context.timeLeft_ms() <= 0
    )
    return reordered(candidates, order, context, (i) => {
      const found = like.get(i)
      return found === undefined ? undefined : `${found.similarity.toFixed(2)} like ${candidates[found.earlier].id}`
    })
  }
})

/**
 * A stage that caps how many hits share a value, and ensures how many values a page has.
 *
 * @example
 * ```ts
 * import { createSearch } from "@dowser/engine-sdk"
 * import { maxMinStage } from "@dowser/engine-sdk/diversity"
 *
 * const products = createSearch({ stages: [maxMinStage({ field: "brand", max: 2, from: 1 })] })
 * ```
 */
export const maxMinStage = ({ field, max, min, from }: DiversityRule): Stage => ({
  name: "max_min",
  budget_ms: diversityBudgets.max_min,
  fallback: "keep_order",
  fields: [field],
  run: (candidates, context) => {
    const values = candidates.map((candidate) => valuesOf(candidate, field))
    const capped = max === undefined ? values.map((_own, i) => i) : capPerValue(values, max, from)
    const { firstPage, pageEnds = [firstPage] } = context.request
    let kept = capped,
      start = 0
    if (min !== undefined)
      for (const end of pageEnds) {
        kept = ensureValues(
          kept.map((i) => values[i]),
          min,
          Math.max(from, start + 1),
          end
        ).map((i) => kept[i])
        start = end
      }
    const last = pageEnds.at(-1) ?? firstPage
    const place = placesOf(capped)
    return reordered(candidates, kept, context, (i, to) =>
      place[i] > i
        ? `over ${max} of ${values[i].join(", ")}`
        : to < place[i] && place[i] >= (pageEnds.find((end) => to < end) ?? last)
          ? `brings ${values[i].join(", ")} to ${pageEnds.findIndex((end) => to < end) < 1 ? "the first page" : "its page"}`
          : undefined
    )
  }
})
const placesOf = (order: ReadonlyArray<number>): Int32Array => {
  const places = new Int32Array(order.length)
  order.forEach((i, to) => {
    places[i] = to
  })
  return places
}

/**
 * Decision: relevance is the discount of the rank (as in DCG), not the rank itself or a score. A list may be sorted by
 * price, and a relevance that falls evenly over 250 hits would give up the first page for a little variety.
 *
 * @example
 * ```ts
 * import { createSearch } from "@dowser/engine-sdk"
 * import { mmrStage } from "@dowser/engine-sdk/diversity"
 *
 * const products = createSearch({
 *   stages: [mmrStage({ lambda: 0.7, vector_field: "", text_fields: ["title"], k: 10 })]
 * })
 * ```
 */
export const mmrStage = ({ lambda, vector_field, text_fields, k }: Mmr): Stage => ({
  name: "mmr",
  budget_ms: diversityBudgets.mmr,
  fallback: "keep_order",
  fields: vector_field === "" ? text_fields : [vector_field],
  run: (candidates, context) => {
    const similarity =
      vector_field === ""
        ? textSimilarity(
            candidates.map((candidate) => textOf(candidate, text_fields)),
            () => context.timeLeft_ms() <= 0
          )
        : vectorSimilarity(candidates.map((candidate) => vectorOf(candidate.value(vector_field))))
    const { order, picked } = greedyMmr({
      size: candidates.length,
      lambda,
      picks: k,
      relevance: (i) => 1 / Math.log2(i + 2),
      similarity,
      isLate: () => context.timeLeft_ms() <= 0
    })
    const wanted = Math.min(k, candidates.length)
    if (picked < wanted) context.note(`${picked} of ${wanted} were picked in time`)
    return reordered(candidates, order, context, (i, to) =>
      to < i ? `less like those above it (λ ${lambda})` : undefined
    )
  }
})

const reordered = (
  candidates: ReadonlyArray<Candidate>,
  order: ReadonlyArray<number>,
  context: StageContext,
  whyOf: (i: number, to: number) => string | undefined
): ReadonlyArray<Candidate> => {
  if (context.moved !== undefined)
    order.forEach((i, to) => {
      const why = i === to ? undefined : whyOf(i, to)
      if (why !== undefined) context.moved?.(candidates[i].id, i, to, why)
    })
  return order.map((i) => candidates[i])
}
const textOf = (candidate: Candidate, fields: ReadonlyArray<string>): string => {
  if (fields.length === 1) {
    const value = candidate.value(fields[0])
    if (typeof value === "string") return value
  }
  let text = ""
  for (const field of fields)
    for (const value of listOf(candidate.value(field))) text += text === "" ? String(value) : ` ${value}`
  return text
}
const valuesOf = (candidate: Candidate, field: string): Values => {
  const value = candidate.value(field)
  return typeof value === "string" ? [value] : [...new Set(listOf(value).map(String))]
}
const listOf = (value: FieldValue | undefined): ReadonlyArray<string | number | boolean> =>
  value === undefined || value instanceof Float32Array ? [] : typeof value === "object" ? value : [value]
/** A vector that is stored but not indexed is returned as numbers. */
const vectorOf = (value: FieldValue | undefined): Float32Array | undefined =>
  value instanceof Float32Array
    ? value
    : Array.isArray(value) && value.every((part) => typeof part === "number")
      ? Float32Array.from(value)
      : undefined
