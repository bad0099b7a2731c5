/**
 * Grades of documents from what visitors took of lists: how much a document was taken, over how much it was looked at.
 * What stands high is looked at more, so each showing counts by how likely anybody looked there: clicks over expected
 * clicks, with the propensities of the linear model's trainer. Few showings are pulled towards what is usual.
 */
import { propensityOf } from "../rerank/propensity.ts"

/**
 * What a visitor did with a document of a list; the most of it counts once for a list.
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

/** A grade from nothing known counts as so many looks. */
const PRIOR_LOOKS = 5
/** Documents of a query that are counted: those that came first. Ids are what senders of events write. */
const PAIRS_MAX = 1_000
const PAIR_BYTES = 120
/** Of the best of the query, or of what is usual where that is more. */
const GRADES_FROM = [0.15, 0.4, 0.75]

/**
 * Pairs of one query.
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

  /** In memory, about. */
  get bytes(): number {
    return this.#bytes
  }
  /**
   * A list that was shown `times`, best first, and what was taken of it in all: gains by document. What was taken and
   * is not in the list says nothing, since nobody knows where it stood.
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

  /** Of all that was shown: what is taken for a look. */
  get totals(): { readonly looks: number; readonly gains: number } {
    let looks = 0,
      gains = 0
    for (const pair of this.#pairs.values()) {
      looks += pair.looks
      gains += pair.gains
    }
    return { looks, gains }
  }

  /** Those shown at least `impressionsMin` times. `usual`: gains over looks of all queries. O(pairs). */
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
