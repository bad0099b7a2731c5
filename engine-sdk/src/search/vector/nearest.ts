/**
 * The nearest documents of a vector query over all segments (`docs/contract/vectors.md`): through a segment's graph if
 * it has one and the filter leaves enough documents, else over every allowed vector. Distances always come from the
 * stored vectors, so only the choice of candidates is ever approximate.
 */
import { countBits, hasBit, type ReadonlyBits } from "../../index/bits.ts"
import type { VectorColumn } from "../../index/columns.ts"
import { sortSpending, spend } from "../../budget/cutoff.ts"
import type { CollectionReader } from "../../index/reader.ts"
import { Heap } from "../../index/heap.ts"
import type { GraphSearch } from "../../index/graph-search.ts"
import type { Segment } from "../../index/segment.ts"
import { distanceTo, graphOf, normOf, rescoredOf, type VectorGraph, widthOf } from "../../index/vector-graph.ts"
import type { VectorQuery } from "../../plan.ts"
import { isCosineField, queryVector } from "./vectors.ts"

export interface Neighbour {
  readonly s: number
  readonly doc: number
  readonly distance: number
}
interface NearestRequest {
  readonly query: VectorQuery
  readonly k: number
  readonly isFiltered: boolean
  /** Per segment, the documents that may be found (without deleted ones); undefined = everything. */
  readonly allowed: ReadonlyArray<ReadonlyBits | undefined>
  /** Documents that are placed elsewhere or hidden. */ readonly excluded: ReadonlyArray<{
    readonly s: number
    readonly doc: number
  }>
}
/**
 * Examining one candidate of a graph costs about as much as scanning this many vectors in sequence (measured: 9 to 15
 * with 20,000 vectors, 14 to 38 with 100,000).
 */
const CANDIDATE_COST = 24
/** Vectors whose bytes are compared between two checks of the time budget. */
const ESTIMATED = 1_024
/** Documents that are collected before their vectors are read. */
const TOGETHER = 64
/**
 * Cost per candidate and dimension, in steps; the time is not checked during a graph search. 216 candidates of 384
 * dimensions take 1 ms, 3 ns a step.
 */
const CANDIDATE_STEPS = 4

/**
 * Nearest first, newest first at equal distance. At most `k`, unless the filtered set is below `flat_search_cutoff`.
 */
export const nearest = (reader: CollectionReader, request: NearestRequest): Neighbour[] => {
  const { query, k, isFiltered } = request
  const vector = queryVector(query, reader)
  if (vector === undefined) return []
  const passing = reader.views.map(({ segment }, s) => {
    const set = request.allowed[s]
    return set === undefined ? segment.docs : countBits(set)
  })
  const isSmall = isFiltered && passing.reduce((sum, n) => sum + n, 0) < query.flatSearchCutoff
  const search = new NearestSearch(reader, request, vector, isFiltered && query.flatSearchCutoff > 0 ? Infinity : k)
  let isExact = true
  reader.views.forEach(({ segment }, s) => {
    const column = segment.vectors(query.field)
    if (column === undefined || passing[s] === 0) return
    const graph = graphOf(segment, query.field)
    if (!isSmall && graph !== undefined && search.approximate(s, column, graph, passing[s])) isExact = false
    else if (!search.byBytes(s, column, segment, graph)) search.exact(s, column, segment)
  })
  // All of a filtered set below the cutoff is returned, whatever `k` is.
  return search.best(isSmall || (isExact && isFiltered && search.count < query.flatSearchCutoff) ? Infinity : k)
}

class NearestSearch {
  private readonly reader: CollectionReader
  private readonly request: NearestRequest
  private readonly vector: ArrayLike<number>
  private readonly norm: number
  private readonly isCosine: boolean
  private readonly excluded: ReadonlySet<string>
  private readonly keep: number
  private found: Neighbour[] = []
  private bound: number
  count = 0
  constructor(reader: CollectionReader, request: NearestRequest, vector: ArrayLike<number>, keep: number) {
    this.reader = reader
    this.request = request
    this.vector = vector
    this.norm = normOf(vector)
    this.isCosine = isCosineField(reader, request.query.field)
    this.excluded = new Set(request.excluded.map(({ s, doc }) => `${s}|${doc}`))
    this.keep = keep
    this.bound = request.query.distanceThreshold ?? Infinity
  }
  private counts(s: number, column: VectorColumn, doc: number): boolean {
    const set = this.request.allowed[s]
    return (
      hasBit(column.has, doc) &&
      (set === undefined || hasBit(set, doc)) &&
      (this.excluded.size === 0 || !this.excluded.has(`${s}|${doc}`))
    )
  }
  private take(s: number, column: VectorColumn, doc: number): void {
    const distance = distanceTo(this.vector, this.norm, column, doc, this.isCosine)
    // Written so that a NaN distance is left out.
    if (!(distance <= this.bound)) return
    this.count++
    this.found.push({ s, doc, distance })
    if (this.found.length < this.keep * 2 + 64) return
    // Farther documents can no longer be among the first; equally distant ones may still win by insertion order.
    this.found = this.best(this.keep)
    this.bound = Math.min(this.bound, this.found[this.found.length - 1].distance)
  }
  /**
   * Like `exact`, but if bytes in memory show that most vectors are too far, only the others are read. False if the
   * bytes cannot show it; nothing was added then.
   */
  byBytes(s: number, column: VectorColumn, segment: Segment, graph: VectorGraph | undefined): boolean {
    const index = column.isInFile && this.isCosine && this.norm > 0 ? graph?.index : undefined
    if (index === undefined || this.keep === Infinity) return false
    const docs = new Uint32Array(segment.docs)
    let count = 0
    for (let doc = 0; doc < segment.docs; doc++) {
      if (spend(1)) return true
      if (this.counts(s, column, doc)) docs[count++] = doc
    }
    // In chunks, between which the time is checked.
    const nearest = new Heap(),
      highs: Float32Array[] = []
    for (let from = 0; from < count; from += ESTIMATED) {
      const piece = docs.subarray(from, Math.min(count, from + ESTIMATED))
      const [low, high] = index.cosines(this.vector, this.norm, piece)
      highs.push(high)
      for (let i = 0; i < low.length; i++) {
        if (nearest.size >= this.keep && low[i] <= nearest.keys[0]) continue
        if (nearest.size >= this.keep) nearest.pop()
        nearest.push(low[i], 0)
      }
      if (spend(piece.length * (column.dimensions >>> 2))) break
    }
    const least = nearest.size < this.keep ? -Infinity : nearest.keys[0]
    highs.forEach((high, p) => {
      const from = p * ESTIMATED
      const near = docs.subarray(from, from + high.length).filter((_doc, i) => high[i] >= least)
      spend(near.length * column.dimensions)
      this.takeAll(s, column, near)
    })
    return true
  }
  /** O(documents · dimensions). */
  exact(s: number, column: VectorColumn, segment: Segment): void {
    const next = new Uint32Array(TOGETHER)
    for (let doc = 0; doc < segment.docs;) {
      let count = 0,
        isOver = false
      for (; doc < segment.docs && count < TOGETHER && !isOver; doc++) {
        isOver = spend(1)
        if (!isOver && this.counts(s, column, doc)) next[count++] = doc
      }
      spend(count * column.dimensions)
      this.takeAll(s, column, next.subarray(0, count))
      if (isOver) return
    }
  }
  /** `docs` is ascending, so vectors are read in storage order. */
  private takeAll(s: number, column: VectorColumn, docs: Uint32Array): void {
    column.expect(docs)
    for (const doc of docs) this.take(s, column, doc)
  }
  /** False if the graph is of no use here; nothing was added then. */
  approximate(s: number, column: VectorColumn, { index, record }: VectorGraph, passing: number): boolean {
    if (index === undefined || record.ef === 0) return false
    const wanted = Math.min(passing, this.request.k + this.excluded.size)
    // Of the nearest documents overall, only the share that passes the filter counts.
    const share = Math.min(1, passing / record.vectors)
    const width = Math.ceil(Math.max(record.ef, this.request.query.ef, widthOf(wanted) / share))
    if (width * CANDIDATE_COST > passing) return false
    const candidates = this.candidates(s, column, index, width, rescoredOf(wanted))
    // The passing documents may be far from the query; if too few are found, the graph is of no use.
    if (candidates.length < wanted) return false
    // The selection does not depend on the order; reading in storage order is faster.
    this.takeAll(s, column, candidates.sort())
    return true
  }
  private candidates(s: number, column: VectorColumn, index: GraphSearch, width: number, most: number): Uint32Array {
    const docs = new Uint32Array(Math.min(most, width))
    let found = 0
    spend(width * CANDIDATE_STEPS * column.dimensions)
    for (const doc of index.search(this.vector, width)) {
      if (found === docs.length) break
      if (this.counts(s, column, doc)) docs[found++] = doc
    }
    return docs.subarray(0, found)
  }
  best(most: number): Neighbour[] {
    const seqOf = ({ s, doc }: Neighbour): number => this.reader.views[s].segment.seqs[doc]
    const sorted = sortSpending(this.found, (a, b) => a.distance - b.distance || seqOf(b) - seqOf(a))
    return sorted.length > most ? sorted.slice(0, most) : sorted
  }
}
