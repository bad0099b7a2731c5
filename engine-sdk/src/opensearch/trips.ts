/** One request to the cluster that contains several searches, and which of their results are used. */
import { fail, ok, type EngineError, type Result } from "../errors.ts"
import { errorOf, type ClusterClient } from "./client.ts"
import type { Aggregations } from "./aggregations.ts"
import type { Placement } from "./placement.ts"
import type { Fetching, SearchRequests } from "./search-requests.ts"
import type { Stage } from "./stages.ts"
import { formOf, type StoredForm, type StoredHit } from "./stored-form.ts"

/** Network time, added to the time that the cluster may take. */
const WAY_MS = 250
/** Retries of a search, with growing pauses. */
const AGAIN_MAX = 5,
  PAUSE_MS = 50

/** The cluster's result for a plan. */
export interface Trip {
  readonly documents: ReadonlyArray<StoredForm>
  /** Placed by the plan, whether or not they match. */ readonly placed: ReadonlyArray<StoredForm>
  readonly total: number
  /** Hits, not counting documents placed by rules. */ readonly organic: number
  /** Those of `organic` that match by words. */ readonly worded: number
  readonly aggregations: Aggregations | undefined
  readonly isCutOff: boolean
  /** The query of the words, for further requests. */ readonly words: object
}
/** A result with the request that produced it. */
export interface Found extends Trip {
  readonly fetching: Fetching
  readonly requests: SearchRequests
  /** Number of documents that the plan's vector found. */ readonly neighbours?: number
}
interface TripBeside extends Trip {
  /** Responses to the additional requests. */ readonly beside: ReadonlyArray<SearchResponse>
}
export interface SearchResponse {
  readonly status?: number
  readonly error?: { readonly type?: string; readonly reason?: string }
  readonly timed_out?: boolean
  readonly _shards?: { readonly failed: number }
  readonly hits?: { readonly total?: { readonly value: number }; readonly hits: ReadonlyArray<StoredHit> }
  readonly aggregations?: Aggregations
}

/** Chooses one of several queries, and returns how many matches it has. */
export const countTried = async (
  client: ClusterClient,
  placement: Placement,
  requests: SearchRequests,
  tried: Stage["tried"],
  left_ms: number
): Promise<Result<{ readonly query: object; readonly organic: number }>> => {
  const bodies = tried.map(({ query }) => requests.counting(query, false, left_ms))
  const counted = await askAll(client, placement, bodies, left_ms)
  if (!counted.ok) return counted
  const enough = tried.findIndex(({ isEnough }, i) => isEnough(organicOf(counted.value[i])))
  const at = enough < 0 ? tried.length - 1 : enough
  return ok({ query: tried[at].query, organic: organicOf(counted.value[at]) })
}
/** Fetches hits, counts, and documents that the plan places in one request, along with `beside`. */
export const fetchFound = async (
  client: ClusterClient,
  placement: Placement,
  requests: SearchRequests,
  query: object,
  left_ms: number,
  beside: ReadonlyArray<object> = []
): Promise<Result<TripBeside>> => {
  const parts = [...requests.parts(query, left_ms), ...requests.nearby(left_ms)]
  const asked = [requests.counting(query, true, left_ms), ...parts, ...requests.placing(query, left_ms)]
  const answers = await askAll(client, placement, [...asked, ...beside], left_ms)
  if (!answers.ok) return answers
  const [main, ...others] = answers.value.slice(0, asked.length)
  const found = [main, ...others.slice(0, parts.length)]
  return ok({
    beside: answers.value.slice(asked.length),
    documents: parts.length === 0 ? documentsOf(main) : eachOnce(found.flatMap(documentsOf)),
    placed: others.slice(parts.length).flatMap(documentsOf),
    total: main.hits?.total?.value ?? 0,
    organic: organicOf(main),
    worded: main.aggregations?.worded?.doc_count ?? organicOf(main),
    aggregations: main.aggregations,
    isCutOff: answers.value.some(({ timed_out }) => timed_out === true),
    words: query
  })
}
const documentsOf = ({ hits }: SearchResponse): StoredForm[] => (hits?.hits ?? []).map(({ _source }) => formOf(_source))
const eachOnce = (documents: ReadonlyArray<StoredForm>): StoredForm[] => [
  ...new Map(documents.map((stored) => [stored.seq, stored])).values()
]
const organicOf = ({ hits, aggregations }: SearchResponse): number =>
  aggregations?.organic?.doc_count ?? hits?.total?.value ?? 0

/** Sends searches; if a shard of the cluster does not answer, they are sent again as long as there is time. */
export const askAll = async (
  client: ClusterClient,
  { index, key }: Placement,
  bodies: ReadonlyArray<object>,
  left_ms: number
): Promise<Result<ReadonlyArray<SearchResponse>>> => {
  const header = JSON.stringify({ index, routing: key })
  const body = bodies.map((one) => `${header}\n${JSON.stringify(one)}\n`).join("")
  const until = performance.now() + left_ms
  for (let again = 0; ; again++) {
    const answered = await client.ask<{ readonly responses: ReadonlyArray<SearchResponse> }>({
      method: "POST",
      path: "/_msearch",
      body,
      timeout_ms: Math.max(0, until - performance.now()) + WAY_MS,
      isRepeatable: true
    })
    if (!answered.ok) return answered
    const { responses } = answered.value
    const failure = responses.map(failureOf).find((error) => error !== undefined)
    if (failure === undefined) return ok(responses)
    const pause_ms = PAUSE_MS * 2 ** again
    if (failure.kind !== "Unavailable" || again === AGAIN_MAX || performance.now() + pause_ms > until)
      return fail(failure)
    await new Promise((settle) => setTimeout(settle, pause_ms))
  }
}
/** A response with hits missing because a shard failed would look like a complete one. */
const failureOf = ({ status = 200, error, _shards }: SearchResponse): EngineError | undefined =>
  error !== undefined
    ? errorOf(status, error.type ?? "", error.reason ?? "")
    : (_shards?.failed ?? 0) > 0
      ? { kind: "Unavailable", message: "A part of the search cluster did not answer." }
      : undefined
