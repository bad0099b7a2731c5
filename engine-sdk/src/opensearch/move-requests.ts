/** Cluster requests of a move: the progress of a shard, checksums of ranges of documents, and document ids. */
import { fail, ok, type Result } from "../errors.ts"
import type { ClusterClient } from "./client.ts"
import { allOf } from "./compile-filter.ts"
import type { Revision } from "./record.ts"
import type { Row, Sums, SumsByRange } from "./move.ts"
import { KEY_LENGTH, ownFilter, type Placement } from "./placement.ts"
import type { Refreshes } from "./refreshes.ts"

/** Interval at which a shard is checked until all its copies are up to date, and maximum number of checks. */
const LOOK_MS = 10,
  LOOKS_MAX = 300

/** Sequence numbers of the documents themselves, or of the originals that they are copies of. */
type ChangeField = "_seq_no" | "o"

interface ShardAnswer {
  readonly routing: { readonly primary: boolean }
  readonly seq_no?: { readonly max_seq_no: number; readonly global_checkpoint: number }
}
/** For a collection's shard: its last change, and the change up to which every copy is complete. */
const progressOf = async (
  client: ClusterClient,
  { index }: Placement,
  shard: number
): Promise<Result<{ readonly last: number; readonly everywhere: number }>> => {
  const stats = await client.ask<{
    readonly indices: Readonly<
      Record<string, { readonly shards: Readonly<Record<string, ReadonlyArray<ShardAnswer>>> }>
    >
  }>({
    method: "GET",
    path: `/${index}/_stats/docs?level=shards&filter_path=indices.*.shards.*.routing.primary,indices.*.shards.*.seq_no`,
    isRepeatable: true
  })
  if (!stats.ok) return stats
  const copies = stats.value.indices?.[index]?.shards[String(shard)] ?? []
  const numbers = copies.find(({ routing }) => routing.primary)?.seq_no
  return numbers === undefined
    ? fail({ kind: "Unavailable", message: "A part of the search cluster did not answer." })
    : ok({ last: numbers.max_seq_no, everywhere: numbers.global_checkpoint })
}
const shardOf = async (client: ClusterClient, { index, key }: Placement): Promise<Result<number>> => {
  const found = await client.ask<{ readonly shards: ReadonlyArray<ReadonlyArray<{ readonly shard: number }>> }>({
    method: "GET",
    path: `/${index}/_search_shards?routing=${key}`,
    isRepeatable: true
  })
  if (!found.ok) return found
  const shard = found.value.shards[0]?.[0]?.shard
  return shard === undefined
    ? fail({ kind: "Unavailable", message: "A part of the search cluster did not answer." })
    : ok(shard)
}
/**
 * The last change of a collection's shard, once searches see it and every earlier one. A search that starts afterwards
 * and sees no later change has seen exactly those.
 */
export const settledChange = async (
  client: ClusterClient,
  refreshes: Refreshes,
  placement: Placement
): Promise<Result<number>> => {
  const shard = await shardOf(client, placement)
  if (!shard.ok) return shard
  const begun = await progressOf(client, placement, shard.value)
  if (!begun.ok) return begun
  const { last } = begun.value
  let { everywhere } = begun.value
  for (let looks = 0; everywhere < last; looks++) {
    if (looks === LOOKS_MAX)
      return fail({ kind: "Unavailable", message: "A copy of a part of the search cluster does not follow." })
    await new Promise((settle) => setTimeout(settle, LOOK_MS))
    const now = await progressOf(client, placement, shard.value)
    if (!now.ok) return now
    everywhere = now.value.everywhere
  }
  const seen = await refreshes.visible(placement.index)
  return seen.ok ? ok(last) : seen
}

const pathOf = ({ index, key }: Placement): string =>
  `/${index}/_search?routing=${key}&allow_partial_search_results=false`
interface Valued {
  readonly value: number | null
}
/** The highest insertion number; -1 if there are no documents. */
export const lastSeqOf = async (client: ClusterClient, placement: Placement): Promise<Result<number>> => {
  const answer = await client.ask<{ readonly aggregations: { readonly seq: Valued } }>({
    method: "POST",
    path: pathOf(placement),
    body: { size: 0, query: ownFilter(placement), aggs: { seq: { max: { field: "seq" } } } },
    isRepeatable: true
  })
  return answer.ok ? ok(answer.value.aggregations.seq.value ?? -1) : answer
}
interface SumsAnswer {
  readonly aggregations: {
    readonly last: Valued
    readonly ranges: {
      readonly buckets: ReadonlyArray<{
        readonly key: number
        readonly doc_count: number
        readonly seqs: Valued
        readonly changes: Valued
      }>
    }
  }
}
export interface Summed {
  readonly ranges: SumsByRange
  readonly documents: number
  /** The newest change of any document. */ readonly last: number
}
/** Checksums of a collection at one moment. */
export const sumsOf = async (
  client: ClusterClient,
  placement: Placement,
  field: ChangeField,
  interval: number
): Promise<Result<Summed>> => {
  const answer = await client.ask<SumsAnswer>({
    method: "POST",
    path: pathOf(placement),
    body: {
      size: 0,
      query: ownFilter(placement),
      aggs: {
        last: { max: { field } },
        ranges: {
          histogram: { field: "seq", interval, min_doc_count: 1 },
          aggs: { seqs: { sum: { field: "seq" } }, changes: { sum: { field } } }
        }
      }
    },
    isRepeatable: true
  })
  if (!answer.ok) return answer
  const { last, ranges } = answer.value.aggregations
  let documents = 0
  const sums = ranges.buckets.map(({ changes, doc_count, key, seqs }): readonly [number, Sums] => {
    documents += doc_count
    return [key, { count: doc_count, seqs: seqs.value ?? 0, changes: changes.value ?? 0 }]
  })
  return ok({ ranges: new Map(sums), documents, last: last.value ?? -1 })
}

/** A row with the revision that the cluster needs to replace the document. */
export interface FoundRow extends Row, Revision {}
interface RowHit extends Revision {
  readonly _id: string
  readonly fields?: { readonly o?: ReadonlyArray<number> }
}
/** Documents whose insertion numbers are in a range. */
export const rowsOf = async (
  client: ClusterClient,
  placement: Placement,
  field: ChangeField,
  { first, interval }: { readonly first: number; readonly interval: number }
): Promise<Result<ReadonlyArray<FoundRow>>> => {
  const range = { range: { seq: { gte: first, lt: first + interval } } }
  const answer = await client.ask<{ readonly hits: { readonly hits: ReadonlyArray<RowHit> } }>({
    method: "POST",
    path: pathOf(placement),
    body: {
      size: interval,
      query: allOf([ownFilter(placement), range]),
      sort: ["_doc"],
      _source: false,
      docvalue_fields: field === "o" ? ["o"] : [],
      seq_no_primary_term: true,
      track_total_hits: false
    },
    isRepeatable: true
  })
  if (!answer.ok) return answer
  return ok(
    answer.value.hits.hits.map(({ _id, _primary_term, _seq_no, fields }) => ({
      id: _id.slice(KEY_LENGTH),
      change: field === "o" ? (fields?.o?.[0] ?? -1) : _seq_no,
      _seq_no,
      _primary_term
    }))
  )
}

/** Removes everything at a placement. */
export const removePlacement = async (client: ClusterClient, placement: Placement): Promise<Result<unknown>> => {
  const removed = await (placement.kind === "own"
    ? client.ask({ method: "DELETE", path: `/${placement.index}`, isRepeatable: true })
    : client.ask({
        method: "POST",
        path: `/${placement.index}/_delete_by_query?routing=${placement.key}&conflicts=proceed&wait_for_completion=false`,
        body: { query: ownFilter(placement) },
        isRepeatable: true
      }))
  return !removed.ok && removed.error.kind === "NotFound" ? ok(undefined) : removed
}
