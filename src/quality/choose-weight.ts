/**
 * How much meaning should count relative to words, chosen from a few weights by judged queries. The benefit of each
 * weight is measured on queries that did not choose it (cross-validation), so that a suite too small to decide chooses
 * none. Pure.
 */
import { createHash } from "node:crypto"

/** Relative to words; 0: words only. */
export const WEIGHTS = [0, 0.1, 0.3, 0.5, 1] as const
const FOLDS = 5
/** With a smaller gain, another suite of the same kind may show the opposite. */
const GAIN_MIN = 0.002

interface Scored {
  readonly q: string
  readonly ndcg_at_10: number
}
interface ChosenWeight {
  readonly weight: number
  readonly queries: number
  readonly ndcg_at_10: ReadonlyArray<{ readonly weight: number; readonly ndcg_at_10: number }>
  /** nDCG of each query with the weight chosen by the others. */ readonly cross_validated: number
}

const foldOf = (q: string): number => createHash("sha1").update(q).digest()[0]! % FOLDS
const mean = (numbers: ReadonlyArray<number>): number =>
  numbers.length === 0 ? 0 : numbers.reduce((sum, number) => sum + number, 0) / numbers.length
const round = (figure: number): number => Math.round(figure * 10_000) / 10_000
/** Index of the highest figure; of equal ones, the lowest index. */
const best = (figures: ReadonlyArray<number>): number =>
  figures.reduce((top, figure, place) => (figure > figures[top]! + 1e-9 ? place : top), 0)

/** `measured`: for each of `WEIGHTS`, the same queries in the same order. O(weights × queries). */
export const chooseWeight = (measured: ReadonlyArray<ReadonlyArray<Scored>>): ChosenWeight => {
  const queries = measured[0]!
  // Assigned by the query's own text, so that a growing suite keeps its folds.
  const folds = queries.map(({ q }) => foldOf(q))
  const meansOf = (keeps: (place: number) => boolean) =>
    measured.map((scores) => mean(scores.flatMap(({ ndcg_at_10 }, place) => (keeps(place) ? [ndcg_at_10] : []))))
  const validated = Array.from({ length: FOLDS }, (_, fold) => {
    const chosen = best(meansOf((place) => folds[place] !== fold))
    return measured[chosen]!.filter((_each, place) => folds[place] === fold).map(({ ndcg_at_10 }) => ndcg_at_10)
  })
  const all = meansOf(() => true)
  const cross_validated = mean(validated.flat())
  const isWorth = cross_validated >= all[0]! + GAIN_MIN
  return {
    weight: isWorth ? WEIGHTS[best(all)]! : 0,
    queries: queries.length,
    ndcg_at_10: WEIGHTS.map((weight, place) => ({ weight, ndcg_at_10: round(all[place]!) })),
    cross_validated: round(cross_validated)
  }
}
