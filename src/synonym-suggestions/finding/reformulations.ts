/**
 * What visitors searched, and what they searched instead if it found nothing; each visitor counts once. Bounded:
 * anything beyond the limits is not counted.
 */
import type { ClickedSearch } from "../../clicks/clicked-searches.ts"

/** A visitor who searches again later wants something else. */
const WITHIN_MS = 5 * 60_000
const QUERIES_MAX = 50_000,
  PAIRS_MAX = 50_000,
  VISITORS_MAX = 100_000,
  VISITORS_OF_PAIR_MAX = 200
const WORDS_MAX = 200

export interface AskedQuery {
  readonly q: string
  readonly searches: number
  readonly zero_hits: number
}
/** How many visitors went from one query, which found nothing, to one that did. */
export interface Reformulated {
  readonly from: string
  readonly to: string
  readonly visitors: number
}
type VisitorSearch = Pick<ClickedSearch, "at" | "found" | "q" | "visitor">

export class Reformulations {
  readonly #queries = new Map<string, { searches: number; zero_hits: number }>()
  readonly #pairs = new Map<string, Set<string>>()
  readonly #last = new Map<string, VisitorSearch>()

  add(search: VisitorSearch): void {
    const { at, found, q, visitor } = search
    if (q.length > WORDS_MAX) return
    const known = this.#queries.get(q)
    if (known !== undefined || this.#queries.size < QUERIES_MAX) {
      const query = known ?? { searches: 0, zero_hits: 0 }
      query.searches++
      if (found === 0) query.zero_hits++
      this.#queries.set(q, query)
    }
    if (visitor === "") return
    const last = this.#last.get(visitor)
    if (last === undefined && this.#last.size >= VISITORS_MAX) this.#forget()
    this.#last.set(visitor, { at, found, q, visitor })
    if (last === undefined || last.found > 0 || found === 0 || last.q === q || at < last.at || at - last.at > WITHIN_MS)
      return
    const pair = `${last.q}\u0000${q}`
    const visitors = this.#pairs.get(pair)
    if (visitors !== undefined) {
      if (visitors.size < VISITORS_OF_PAIR_MAX) visitors.add(visitor)
    } else if (this.#pairs.size < PAIRS_MAX) this.#pairs.set(pair, new Set([visitor]))
  }
  /** Drops the last searches of half of the visitors, the oldest first. */
  #forget(): void {
    let left = this.#last.size / 2
    for (const visitor of this.#last.keys()) {
      if (left-- <= 0) return
      this.#last.delete(visitor)
    }
  }
  get queries(): ReadonlyArray<AskedQuery> {
    return Array.from(this.#queries, ([q, counted]) => ({ q, ...counted }))
  }
  get pairs(): ReadonlyArray<Reformulated> {
    return Array.from(this.#pairs, ([pair, visitors]) => {
      const at = pair.indexOf("\u0000")
      return { from: pair.slice(0, at), to: pair.slice(at + 1), visitors: visitors.size }
    })
  }
}
