/**
 * Relevance grades of documents from clicks: how often a document was taken, relative to how often it was looked at.
 * Higher positions are looked at more, so each impression is weighted by how likely it was seen there: clicks over
 * expected clicks, with the propensities of the linear model's trainer. Documents with few impressions are pulled
 * towards the average rate.
 */
import { propensityOf } from "../rerank/propensity.ts"

/**
 * A visitor's action on a document of a list; only the strongest counts per list.
 *
 * @example
 * ```ts
 * import { TAKEN_GAINS } from "@dowser/engine-sdk/judging"
 *
 * TAKEN_GAINS.purchase // 3
 * ```
 */
export const TAKEN_GAINS = { click: 1, add_to_cart: 2, purchase: 3 } as const

interface ClickedGrade {
  readonly documentId: string
  /** 0..3. */ readonly grade: number
  readonly impressions: number
}
interface Pair {
  impressions: number
  /** Sum of propensities. */ looks: number
  /** Sum of gains. */ gains: number
}

/** The prior weighs as much as this many looks. */
const PRIOR_LOOKS = 5
/** Maximum documents counted per query: those that came first. Ids are chosen by senders of events. */
const PAIRS_MAX = 1_000
const PAIR_BYTES = 120
/** Relative to the query's best document, or to the average rate if that is higher. */
const GRADES_FROM = [0.15, 0.4, 0.75]

/**
 * Query-document pairs of one query.
 *
 * @example
 * ```ts
 * import { ClickedGrades } from "@dowser/engine-sdk/judging"
 *
 * const grades = new ClickedGrades()
 * grades.add(["p1", "p2"], 100, new Map([["p2", 30]]))
 * grades.grades(50, 0.1) // grades of documents that were shown fifty times and more
 * ```
 */
export class ClickedGrades {
  readonly #pairs = new Map<string, Pair>()
  #bytes = 0

  /** Approximate memory. */
  get bytes(): number {
    return this.#bytes
  }
  /**
   * Adds a list that was shown `times`, best first, and the gains from it by document. A document that is not in the
   * list is ignored, because its position is unknown.
   */
  add(shown: ReadonlyArray<string>, times: number, gains: ReadonlyMap<string, number>): void {
    shown.forEach((id, row) => {
      let pair = this.#pairs.get(id)
      if (pair === undefined) {
        if (this.#pairs.size >= PAIRS_MAX) return
        this.#pairs.set(id, (pair = { impressions: 0, looks: 0, gains: 0 }))
        this.#bytes += PAIR_BYTES + 2 * id.length
      }
      pair.impressions += times
      pair.looks += times * propensityOf(row)
      pair.gains += gains.get(id) ?? 0
    })
  }

  /** Total looks over all impressions. */
  get totals(): { readonly looks: number; readonly gains: number } {
    let looks = 0,
      gains = 0
    for (const pair of this.#pairs.values()) {
      looks += pair.looks
      gains += pair.gains
    }
    return { looks, gains }
  }

  /** Grades of documents shown at least `impressionsMin` times. `usual`: gains over looks of all queries. O(pairs). */
  grades(impressionsMin: number, usual: number): ReadonlyArray<ClickedGrade> {
    const rated = [...this.#pairs]
      .filter(([, { impressions }]) => impressions >= impressionsMin)
      .map(([documentId, { gains, impressions, looks }]) => ({
        documentId,
        impressions,
        rate: (gains + PRIOR_LOOKS * usual) / (looks + PRIOR_LOOKS)
      }))
    const reference = rated.reduce((best, { rate }) => Math.max(best, rate), usual)
    return rated.map(({ documentId, impressions, rate }) => ({
      documentId,
      impressions,
      grade: reference === 0 ? 0 : GRADES_FROM.filter((from) => rate >= from * reference).length
    }))
  }
}
