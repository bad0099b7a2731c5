/**
 * The features of a hit for a linear model: at which rank and how well the engine found it, how much of the query its
 * fields contain, and numbers of the document scaled over the candidates. Every feature is within 0..1.
 */
import type { Candidate } from "../stage/stage.ts"
import type { FieldValue } from "../plan.ts"
import { textWords } from "../rules/condition-index.ts"

/** Row-major: `values[i · names.length + f]`. */
export interface FeatureTable {
  readonly names: ReadonlyArray<string>
  readonly values: Float64Array
  readonly rows: number
}

const ofHit = [
  "rank",
  "discount",
  "text_match",
  "words_matched",
  "exactness",
  "fields_matched",
  "nearness",
  "boosts"
] as const
const ofText = ["coverage", "prefix", "start", "brevity", "adjacent"] as const

/**
 * `fields`: each text field yields five features, each number field one. O(candidates · words of the fields); `isLate`
 * is checked for each row, and when it is true the remaining rows stay 0.
 *
 * @example
 * ```ts
 * import { createSearch } from "@dowser/engine-sdk"
 * import { featuresOf } from "@dowser/engine-sdk/rerank"
 *
 * const products = createSearch({
 *   stages: [
 *     {
 *       name: "own",
 *       budget_ms: 10,
 *       fallback: "keep_order",
 *       fields: ["title"],
 *       run: (candidates, context) => {
 *         const { names, rows } = featuresOf(candidates, context.request.words, ["title"])
 *         context.note(`${rows} rows of ${names.length} features`)
 *         return candidates
 *       }
 *     }
 *   ]
 * })
 * ```
 */
export const featuresOf = (
  candidates: ReadonlyArray<Candidate>,
  words: ReadonlyArray<string>,
  fields: ReadonlyArray<string>,
  isLate: () => boolean = () => false
): FeatureTable => {
  const values = fields.map((field) => candidates.map((candidate) => candidate.value(field)))
  const isNumber = values.map(
    (column) =>
      column.every((value) => value === undefined || typeof value === "number") &&
      column.some((value) => value !== undefined)
  )
  const names = [
    ...ofHit,
    ...fields.flatMap((field, f) => (isNumber[f] ? [`number:${field}`] : ofText.map((name) => `${name}:${field}`)))
  ]
  const table = { names, values: new Float64Array(names.length * candidates.length), rows: candidates.length }
  const scales = values.map((column, f) => (isNumber[f] ? scaleOf(column) : undefined))
  const best = candidates.reduce((most, { hit }) => Math.max(most, Number(hit.text_match ?? 0)), 0)
  const boosts = scaleOf(candidates.map(({ hit }) => hit.boosts))
  for (let i = 0; i < candidates.length && !isLate(); i++) {
    let at = writeHit(table.values, i * names.length, candidates[i], i, candidates.length, words.length, best, boosts)
    fields.forEach((_field, f) => {
      const value = values[f][i],
        scale = scales[f]
      if (scale === undefined) at = writeText(table.values, at, textOf(value), words)
      else table.values[at++] = typeof value === "number" ? scale(value) : 0
    })
  }
  return table
}
/** Scales to 0..1 between the smallest and the largest value; 0 if all are equal. */
const scaleOf = (column: ReadonlyArray<unknown>): ((value: number | undefined) => number) => {
  let low = Infinity,
    high = -Infinity
  for (const value of column)
    if (typeof value === "number") {
      low = Math.min(low, value)
      high = Math.max(high, value)
    }
  return (value) => (value === undefined || high <= low ? 0 : (value - low) / (high - low))
}
const textOf = (value: FieldValue | undefined): string =>
  typeof value === "string"
    ? value
    : Array.isArray(value)
      ? value.join(" ")
      : value === undefined || value instanceof Float32Array
        ? ""
        : String(value)

const writeHit = (
  into: Float64Array,
  at: number,
  { hit }: Candidate,
  place: number,
  count: number,
  words: number,
  bestText: number,
  boosts: (value: number | undefined) => number
): number => {
  const info = hit.text_match_info
  into[at++] = 1 - place / count
  into[at++] = 1 / Math.log2(place + 2)
  into[at++] = bestText > 0 ? Number(hit.text_match ?? 0) / bestText : 0
  into[at++] = info === undefined || words === 0 ? 0 : Math.min(1, info.tokens_matched / words)
  into[at++] = info === undefined ? 0 : 1 - Math.min(255, info.typo_prefix_score) / 255
  into[at++] = info === undefined ? 0 : Math.min(1, info.fields_matched / 8)
  into[at++] = hit.vector_distance === undefined ? 0 : Math.max(0, 1 - hit.vector_distance / 2)
  into[at++] = boosts(hit.boosts)
  return at
}
/**
 * Five features of a text: share of the query's words that it contains as whole words, and as prefixes; how early the
 * first occurs; how short the text is; and adjacent words that are also adjacent in the query.
 */
const writeText = (into: Float64Array, at: number, text: string, words: ReadonlyArray<string>): number => {
  const own = text === "" ? [] : textWords(text)
  if (own.length === 0 || words.length === 0) return at + ofText.length
  let whole = 0,
    begun = 0,
    first = own.length,
    pairs = 0
  for (let w = 0; w < words.length; w++) {
    const place = own.indexOf(words[w])
    if (place >= 0) {
      whole++
      first = Math.min(first, place)
      if (w + 1 < words.length && own[place + 1] === words[w + 1]) pairs++
    }
    if (place >= 0 || own.some((word) => word.startsWith(words[w]))) begun++
  }
  into[at++] = whole / words.length
  into[at++] = begun / words.length
  into[at++] = first === own.length ? 0 : 1 / (1 + first)
  into[at++] = Math.min(1, words.length / own.length)
  into[at++] = words.length < 2 ? 0 : pairs / (words.length - 1)
  return at
}
