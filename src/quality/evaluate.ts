/**
 * Evaluates judged queries against a collection as it is: each is searched as visitors search, one after another, so
 * that other work gets the searching thread in between. Nothing is charged or reported.
 */
import { mean, scoreOf } from "@dowser/engine-sdk/judging"
import { isAway } from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import { JobFailed } from "../jobs/job-worker.ts"
import type { RankAsked, RankFailure } from "../search/ranked.ts"
import type { Search } from "../search/search.ts"
import type { StoredJudgment } from "./suite-input.ts"

interface QueryFigure {
  readonly q: string
  readonly ndcg_at_10: number
}
export interface Evaluated {
  readonly ndcg_at_10: number
  readonly mrr: number
  readonly recall_at_100: number
  readonly judged_at_10: number
  /** In the order of the judgments; queries without a relevant document are left out. */
  readonly queries: ReadonlyArray<QueryFigure>
}
interface Asked {
  readonly organizationId: string
  readonly collection: string
  /** Parameters without `q`. */ readonly parameters: Readonly<Record<string, string>>
  /** An unsaved profile. */ readonly profile?: RankAsked["profile"]
  readonly judgments: ReadonlyArray<StoredJudgment>
  /** If there are more queries, this many are taken evenly from all. */ readonly queriesMax?: number
}

/** Recall is measured over the first hundred. */
const DEPTH = 100
const ATTEMPTS_MAX = 5
/** After each query the thread is left to others for half of the query's duration, because nobody waits for a run. */
const REST = 0.5
const REST_MAX_MS = 50

const byQuery = (judgments: ReadonlyArray<StoredJudgment>): ReadonlyMap<string, ReadonlyMap<string, number>> => {
  const queries = new Map<string, Map<string, number>>()
  for (const [q, documentId, grade] of judgments) {
    let own = queries.get(q)
    if (own === undefined) queries.set(q, (own = new Map()))
    own.set(documentId, grade)
  }
  return queries
}
/** Queries that are informative about a ranking, at most `max` of them. */
const askedOf = (
  judgments: ReadonlyArray<StoredJudgment>,
  max: number
): ReadonlyArray<readonly [q: string, grades: ReadonlyMap<string, number>]> => {
  const all = [...byQuery(judgments)].filter(([, grades]) => [...grades.values()].some((grade) => grade > 0))
  return all.length <= max ? all : Array.from({ length: max }, (_, i) => all[Math.floor((i * all.length) / max)]!)
}
export const hasRelevant = (judgments: ReadonlyArray<StoredJudgment>): boolean =>
  judgments.some(([, , grade]) => grade > 0)

/** Ids found by one query; an unavailable engine is retried, then the job fails. */
export const ranked = Effect.fnUntraced(function* (
  search: Search["Service"],
  asked: Pick<Asked, "collection" | "organizationId" | "parameters" | "profile">,
  q: string,
  depth: number
): Effect.fn.Return<ReadonlyArray<string>, JobFailed> {
  const { collection, organizationId, parameters, profile } = asked
  const searched = { organizationId, collection, ...(profile === undefined ? {} : { profile }) }
  const failed = (error: RankFailure) => new JobFailed({ message: `The query \`${q.slice(0, 80)}\`: ${error.message}` })
  for (let attempt = 1; ; attempt++) {
    const found = yield* Effect.promise((signal) =>
      search.rank({ ...searched, parameters: { ...parameters, q }, depth, signal })
    )
    if (found.ok) return found.value
    const { error } = found
    if ("_tag" in error || !isAway(error) || attempt >= ATTEMPTS_MAX) return yield* failed(error)
    yield* Effect.sleep(100 * 2 ** attempt)
  }
})

/** One search per query. `report`: called with the share of queries done. */
export const evaluate = Effect.fnUntraced(function* (
  search: Search["Service"],
  asked: Asked,
  report: (progress: number) => Effect.Effect<void> = () => Effect.void
): Effect.fn.Return<Evaluated, JobFailed> {
  const queries = askedOf(asked.judgments, asked.queriesMax ?? Infinity)
  const scored: Array<QueryFigure & { readonly mrr: number; readonly recall: number; readonly judged: number }> = []
  for (const [i, [q, grades]] of queries.entries()) {
    const began = performance.now()
    const score = scoreOf(yield* ranked(search, asked, q, DEPTH), grades)!
    scored.push({ q, ndcg_at_10: score.ndcg10, mrr: score.mrr, recall: score.recall100, judged: score.judged10 })
    yield* report((i + 1) / queries.length)
    yield* Effect.sleep(Math.min(REST_MAX_MS, REST * (performance.now() - began)))
  }
  return {
    ndcg_at_10: mean(scored.map(({ ndcg_at_10 }) => ndcg_at_10)),
    mrr: mean(scored.map(({ mrr }) => mrr)),
    recall_at_100: mean(scored.map(({ recall }) => recall)),
    judged_at_10: mean(scored.map(({ judged }) => judged)),
    queries: scored.map(({ ndcg_at_10, q }) => ({ q, ndcg_at_10 }))
  }
})
