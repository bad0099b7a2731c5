/**
 * Counts the searches of a range, by query. Pure; bounded in queries and bytes: beyond that, the least searched so far
 * are dropped, which keeps those searched often enough to be judged.
 */
import { ClickedGrades } from "@dowser/engine-sdk/judging"
import type { ClickedSearch } from "../clicks/clicked-searches.ts"
import { DOCUMENT_ID_BYTES_MAX, JUDGMENTS_MAX, QUERIES_MAX, QUERY_BYTES_MAX, SUITE_BYTES_MAX } from "./schema.ts"
import type { StoredJudgment } from "./suite-input.ts"

export interface ClickedQuery {
  readonly q: string
  searches: number
  /** Number of searches that do not record what they showed. */ unlisted: number
  /** Gains of those searches, by document. */ readonly gains: Map<string, number>
  gainBytes: number
  readonly grades: ClickedGrades
}
const COUNTED_MAX = 100_000
const BYTES_MAX = 96_000_000
const QUERY_BYTES = 500,
  GAIN_BYTES = 100
const GAINS_MAX = 1_000

const bytesOf = ({ gainBytes, grades, q }: ClickedQuery): number =>
  QUERY_BYTES + 2 * q.length + gainBytes + grades.bytes

export class ClickedQueries {
  readonly #queries = new Map<string, ClickedQuery>()
  #floor = 1
  /** Approximate memory. */ #bytes = 0
  #searches = 0

  add({ q, shown, taken }: ClickedSearch): void {
    this.#searches++
    let query = this.#queries.get(q)
    if (query === undefined) {
      if (this.#queries.size >= COUNTED_MAX || this.#bytes >= BYTES_MAX) this.#forget()
      query = { q, searches: 0, unlisted: 0, gains: new Map(), gainBytes: 0, grades: new ClickedGrades() }
      this.#queries.set(q, query)
      this.#bytes += bytesOf(query)
    }
    query.searches++
    const before = bytesOf(query)
    if (shown !== undefined) query.grades.add(shown, 1, taken)
    else this.#unlisted(query, taken)
    this.#bytes += bytesOf(query) - before
  }
  #unlisted(query: ClickedQuery, taken: ReadonlyMap<string, number>): void {
    query.unlisted++
    for (const [id, gain] of taken) {
      const known = query.gains.get(id)
      if (known === undefined && query.gains.size >= GAINS_MAX) continue
      if (known === undefined) query.gainBytes += GAIN_BYTES + 2 * id.length
      query.gains.set(id, gain + (known ?? 0))
    }
  }
  get searches(): number {
    return this.#searches
  }
  /** Queries searched at least this often, most searched first. */
  often(searchesMin: number): ReadonlyArray<ClickedQuery> {
    return [...this.#queries.values()]
      .filter(({ q, searches }) => searches >= searchesMin && Buffer.byteLength(q) <= QUERY_BYTES_MAX)
      .sort((a, b) => b.searches - a.searches || (a.q < b.q ? -1 : 1))
      .slice(0, QUERIES_MAX)
  }
  #forget(): void {
    for (; this.#queries.size > COUNTED_MAX / 2 || this.#bytes > BYTES_MAX / 2; this.#floor++)
      for (const [q, query] of this.#queries)
        if (query.searches <= this.#floor) {
          this.#queries.delete(q)
          this.#bytes -= bytesOf(query)
        }
  }
}

interface Merged {
  readonly judgments: ReadonlyArray<StoredJudgment>
  /** Judgments from clicks. */ readonly added: number
  /** Judgments from clicks for which the suite has no room. */ readonly left_out: number
}
/**
 * A person's judgments stay; those from earlier clicks are replaced. `clicked` has the most searched queries first.
 * What does not fit into a suite is dropped.
 */
export const merged = (current: ReadonlyArray<StoredJudgment>, clicked: ReadonlyArray<StoredJudgment>): Merged => {
  const own = current.filter(([, , , isOfClicks]) => isOfClicks !== 1)
  const keyOf = ([q, documentId]: StoredJudgment) => JSON.stringify([q, documentId])
  const known = new Set(own.map(keyOf))
  const queries = new Set(own.map(([q]) => q))
  const judgments = [...own]
  const bytesOf = ([q, documentId]: StoredJudgment) => Buffer.byteLength(q) + Buffer.byteLength(documentId) + 16
  let bytes = own.reduce((sum, judgment) => sum + bytesOf(judgment), 0)
  let left_out = 0
  for (const judgment of clicked) {
    const [q, documentId] = judgment
    if (known.has(keyOf(judgment))) continue
    bytes += bytesOf(judgment)
    if (
      judgments.length >= JUDGMENTS_MAX ||
      bytes > SUITE_BYTES_MAX ||
      (queries.size >= QUERIES_MAX && !queries.has(q)) ||
      Buffer.byteLength(documentId) > DOCUMENT_ID_BYTES_MAX
    ) {
      left_out++
      continue
    }
    queries.add(q)
    judgments.push(judgment)
  }
  return { judgments, added: judgments.length - own.length, left_out }
}
