/**
 * The nearest documents of a vector query (`docs/contract/vectors.md`). The cluster finds them by a graph, or by
 * comparing every vector if a filter leaves few; the search continues with their ids. Distances that are shown, and
 * ranks that are fused, are computed from the documents themselves (`window.ts`).
 */
import { flatten } from "../documents/mod.ts"
import { fail, invalid, ok, type Result } from "../errors.ts"
import type { SearchPlan, VectorQuery } from "../plan.ts"
import type { CollectionSchema } from "../schema.ts"
import type { ClusterClient } from "./client.ts"
import { spaceOf } from "./mapping.ts"
import { KEY_LENGTH } from "./placement.ts"
import type { CollectionRecord } from "./record.ts"
import { storedById } from "./scan.ts"
import type { SearchRequests, VectorFacts } from "./search-requests.ts"
import { slotsFor, type VectorSlot } from "./slots.ts"
import { documentOf, indexedVector, type StoredForm } from "./stored-form.ts"
import { askAll } from "./trips.ts"

/** Maximum neighbours of one search, the cluster's limit. */
const NEAREST_MAX = 10_000
/** Minimum candidates of a graph search; with this many, its ten best are almost always the true ones. */
const CANDIDATES_MIN = 100

interface Findings extends VectorFacts {
  /** Documents whose vectors serve as the query. */ readonly like: ReadonlyArray<StoredForm>
}

/** `requests`: those of the plan without its vectors. */
export const findVectors = async (
  client: ClusterClient,
  record: CollectionRecord,
  plan: SearchPlan,
  requests: SearchRequests,
  left: () => number
): Promise<Result<Findings>> => {
  const like: StoredForm[] = []
  let nearest: ReadonlyArray<string> | undefined
  let nearness: object | undefined
  for (const query of vectorsIn(plan)) {
    const asked = await askedVector(client, record, query)
    if (!asked.ok) return asked
    if (asked.value.like !== undefined) like.push(asked.value.like)
    const slot = slotsFor(record.slots, query.field)?.vector
    const given = asked.value.vector
    const vector = slot === undefined || given === undefined ? undefined : indexedVector(slot, given)
    if (query !== plan.vector) {
      if (slot !== undefined && vector !== undefined) nearness = nearnessTo(slot, vector)
    } else if (plan.matchesNothing || slot === undefined || given === undefined) nearest = []
    else {
      const search = new NearestSearch(client, record, query, { slot, vector, plan, requests, left })
      const found = await search.run()
      if (!found.ok) return found
      nearest = found.value
    }
  }
  return ok({ nearest, like, nearness })
}
const vectorsIn = ({ sort, vector }: SearchPlan): ReadonlyArray<VectorQuery> => [
  ...(vector === undefined ? [] : [vector]),
  ...sort.flatMap((key) => (key.kind === "vector_query" ? [key.query] : []))
]
const nearnessTo = ({ metric, name }: VectorSlot, vector: ReadonlyArray<number>): object => ({
  lang: "knn",
  source: "knn_score",
  params: { field: name, query_value: vector, space_type: spaceOf(metric) }
})

const MISSING = invalid("Document id referenced in vector query is not found.", "vector_query")
/** The query's own vector, or that of the document it names, which may have none. */
const askedVector = async (
  client: ClusterClient,
  { placement, schema }: CollectionRecord,
  { field, likeId, vector }: VectorQuery
): Promise<Result<{ readonly vector: ReadonlyArray<number> | undefined; readonly like: StoredForm | undefined }>> => {
  if (likeId === undefined) return ok({ vector, like: undefined })
  const stored = await storedById(client, placement, [likeId])
  if (!stored.ok) return stored
  const like = stored.value.get(likeId)?.form
  return like === undefined ? fail(MISSING) : ok({ vector: vectorIn(schema, like, field), like })
}
const vectorIn = (schema: CollectionSchema, stored: StoredForm, name: string): ReadonlyArray<number> | undefined => {
  const fields = schema.fields.filter((field) => field.name === name)
  const value = flatten({ ...schema, fields }, documentOf(stored)).get(name)
  return Array.isArray(value) ? (value as ReadonlyArray<number>) : undefined
}

interface NearestParts {
  readonly slot: VectorSlot
  /** undefined: the vector has no direction, so all documents are equally far. */
  readonly vector: ReadonlyArray<number> | undefined
  readonly plan: SearchPlan
  readonly requests: SearchRequests
  readonly left: () => number
}
class NearestSearch {
  readonly #client: ClusterClient
  readonly #record: CollectionRecord
  readonly #query: VectorQuery
  readonly #parts: NearestParts
  /** Documents placed elsewhere, and the one the query refers to. */ readonly #excluded: ReadonlyArray<string>

  constructor(client: ClusterClient, record: CollectionRecord, query: VectorQuery, parts: NearestParts) {
    this.#client = client
    this.#record = record
    this.#query = query
    this.#parts = parts
    const { injected = [], pinned } = parts.plan
    this.#excluded = [
      ...pinned.map(({ id }) => id),
      ...injected.flatMap(({ target }) => ("id" in target ? [target.id] : [])),
      ...(query.likeId === undefined ? [] : [query.likeId])
    ]
  }
  async run(): Promise<Result<ReadonlyArray<string>>> {
    const { flatSearchCutoff, k } = this.#query
    const { vector } = this.#parts
    if (k > NEAREST_MAX)
      return fail(invalid(`The search engine finds at most the ${NEAREST_MAX} nearest.`, "vector_query"))
    const cutoff = this.#parts.plan.filter === undefined ? 0 : Math.min(flatSearchCutoff, NEAREST_MAX)
    if (cutoff > 0) {
      const few = await this.#isFewerThan(cutoff)
      if (!few.ok) return few
      // All of a filtered set below the cutoff is returned, without a bound on neighbours.
      if (few.value) return this.#found(vector === undefined ? this.#having() : this.#exact(vector), cutoff)
    }
    return this.#found(vector === undefined ? this.#having() : this.#byGraph(vector), k)
  }
  async #isFewerThan(cutoff: number): Promise<Result<boolean>> {
    const { left, requests } = this.#parts
    const counted = await this.#ask({ ...requests.near(this.#excluded, left()), size: 0, track_total_hits: cutoff })
    return counted.ok ? ok((counted.value.hits?.total?.value ?? 0) < cutoff) : counted
  }
  async #found(query: object, most: number): Promise<Result<ReadonlyArray<string>>> {
    const { left } = this.#parts
    const size = Math.max(1, most)
    const answer = await this.#ask({
      query,
      size,
      _source: false,
      sort: ["_score", { seq: "desc" }],
      track_total_hits: false,
      timeout: `${Math.ceil(left())}ms`
    })
    if (!answer.ok) return answer
    const bound = this.#query.distanceThreshold ?? Infinity
    const hits = (answer.value.hits?.hits ?? []).slice(0, most)
    return ok(hits.filter(({ _score = 0 }) => this.#distance(_score) <= bound).map(({ _id }) => _id.slice(KEY_LENGTH)))
  }
  async #ask(body: object) {
    const answers = await askAll(this.#client, this.#record.placement, [body], this.#parts.left())
    return answers.ok ? ok(answers.value[0]) : answers
  }
  #byGraph(vector: ReadonlyArray<number>): object {
    const { left, requests, slot } = this.#parts
    const { ef, k: wanted } = this.#query
    const k = Math.min(NEAREST_MAX, Math.max(wanted, ef, CANDIDATES_MIN))
    return { knn: { [slot.name]: { vector, k, filter: requests.near(this.#excluded, left()).query } } }
  }
  #exact(vector: ReadonlyArray<number>): object {
    // For a document without a vector, the script returns a very large distance instead of none.
    return { script_score: { query: this.#having(), script: nearnessTo(this.#parts.slot, vector) } }
  }
  /** Documents that have a vector, all with the score of distance one. */
  #having(): object {
    const { left, requests, slot } = this.#parts
    const { query } = requests.near(this.#excluded, left())
    const filter = { bool: { filter: [query, { exists: { field: slot.name } }] } }
    return { constant_score: { filter, boost: slot.metric === "cosine" ? 0.5 : 1 } }
  }
  /** The cluster's scores increase with nearness, in single precision. */
  #distance(score: number): number {
    if (this.#parts.slot.metric === "cosine") return 2 - 2 * score
    return score >= 1 ? 2 - score : 1 / score
  }
}
