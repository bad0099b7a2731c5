/**
 * What a training keeps of the searches of a range: per query, who chose what. Pure; bounded by the number of searches
 * and of queries, and by documents per search.
 */
import { ClickedGrades } from "@dowser/engine-sdk/judging"
import type { FeatureTable } from "@dowser/engine-sdk/rerank"
import type { ClickedSearch } from "../clicks/clicked-searches.ts"

/** Searches in which something was chosen. */
const CLICKED_MAX = 5_000
const QUERIES_MAX = 1_000
const TAKEN_MAX = 20

interface TrainedQuery {
  readonly q: string
  readonly searches: Array<ReadonlyArray<string>>
  shown: number
  /** Gains by document, over all searches. */ readonly gains: Map<string, number>
}
/** A query as it is ranked without the model. */
export interface RankedQuery {
  readonly query: TrainedQuery
  readonly ids: ReadonlyArray<string>
  readonly features: FeatureTable
}

export class TrainedQueries {
  readonly #queries = new Map<string, TrainedQuery>()
  #clicked = 0

  add({ q, taken }: ClickedSearch): void {
    let query = this.#queries.get(q)
    if (query === undefined) {
      if (taken.size === 0 || this.#queries.size >= QUERIES_MAX) return
      this.#queries.set(q, (query = { q, searches: [], shown: 0, gains: new Map() }))
    }
    query.shown++
    if (taken.size === 0 || this.#clicked >= CLICKED_MAX) return
    this.#clicked++
    query.searches.push([...taken.keys()].slice(0, TAKEN_MAX))
    for (const [id, gain] of [...taken].slice(0, TAKEN_MAX)) query.gains.set(id, gain + (query.gains.get(id) ?? 0))
  }
  get clicked(): number {
    return this.#clicked
  }
  get queries(): ReadonlyArray<TrainedQuery> {
    return [...this.#queries.values()]
  }
}

/** One query in five is held out, always the same ones. */
export const isHeldOut = (q: string): boolean => {
  let hash = 0x811c9dc5
  for (let i = 0; i < q.length; i++) hash = Math.imul(hash ^ q.charCodeAt(i), 0x01000193)
  return (hash >>> 0) % 5 === 0
}
/** Rows chosen in each search of the query, if they are in its list. */
export const clickedRows = ({ ids, query }: RankedQuery): ReadonlyArray<ReadonlyArray<number>> => {
  const rows = new Map(ids.map((id, row) => [id, row]))
  return query.searches
    .map((taken) => taken.flatMap((id) => rows.get(id) ?? []))
    .filter((clicked) => clicked.length > 0)
}
/** Grades of the list's documents, by how often each was chosen per impression. */
export const gradesOf = ({ ids, query }: RankedQuery): ReadonlyMap<string, number> => {
  const grades = new ClickedGrades()
  grades.add(ids, query.shown, query.gains)
  const { gains, looks } = grades.totals
  return new Map(grades.grades(1, looks === 0 ? 0 : gains / looks).map(({ documentId, grade }) => [documentId, grade]))
}
