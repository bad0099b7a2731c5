/**
 * The approximate index of one vector field in one segment: an HNSW graph whose links are computed by the optional
 * library `usearch`. This file builds and measures a graph. Its memory layout is in `graph-layout.ts`, its traversal in
 * `graph-search.ts`, the decision when to build one in `store/vector-graphs.ts`, and its use by a search in
 * `search/vector/nearest.ts`.
 */
import { hasOptionalPackage, optionalPackage } from "../optional-package.ts"
import type { Field } from "../schema.ts"
import { hasBit, type Bits } from "./bits.ts"
import type { VectorColumn } from "./columns.ts"
import { layOutGraph, linksIn } from "./graph-layout.ts"
import { GraphSearch } from "./graph-search.ts"
import type { Allocate, Region, SegmentMeta } from "./sections.ts"
import type { Segment } from "./segment.ts"

/** The parts of the library's index that are used here. Keys are document numbers of the segment. */
interface NativeIndex {
  add(key: bigint, vector: Float32Array, threads: number): void
  save(path: string): void
  /** Replaces the index's contents and frees their memory. */ load(path: string): void
}
interface NativeOptions {
  readonly dimensions: number
  readonly metric: "cos" | "ip"
  readonly quantization: "i8" | "f16"
  readonly connectivity: number
  readonly expansion_add: number
  readonly expansion_search: number
  readonly multi: false
}
interface Library {
  readonly Index: new (options: NativeOptions) => NativeIndex
}

/** Metadata of a graph; plain JSON, so it can be sent in messages and stored in manifests. */
export interface GraphRecord {
  readonly field: string
  readonly dimensions: number
  readonly metric: "cos" | "ip"
  readonly M: number
  readonly ef_construction: number
  readonly vectors: number
  /** Memory used for all threads together. */ readonly bytes: number
  /**
   * Candidates that a search must take to reach the recall below; 0 = no width tried reached it, so the segment stays
   * exact.
   */
  readonly ef: number
  /** Share of the true ten nearest that were among the candidates, measured when the graph was built. */
  readonly recall: number
  /** Name of the file in the journal's folder; "" if nothing is stored on disk. */ readonly name: string
  /** Memory layout; absent if there is no graph, and in records of older versions. */ readonly meta?: SegmentMeta
  /** SHA-1 of the file. */ readonly hash?: string
}
export class VectorGraph {
  readonly record: GraphRecord
  /** undefined if there is no usable graph. */ readonly region: Region | undefined
  readonly failure: string | undefined
  #search: GraphSearch | undefined
  constructor(record: GraphRecord, region: Region | undefined, failure?: string) {
    this.record = record
    this.region = region
    this.failure = failure
  }
  /** Created when a search of this thread first uses it. */
  get index(): GraphSearch | undefined {
    const { meta } = this.record
    if (this.region === undefined || meta === undefined) return undefined
    return (this.#search ??= new GraphSearch(meta, this.region))
  }
}

let loaded: { readonly library: Library | undefined; readonly reason: string } | undefined
/** The library, loaded on first use. Without it searches stay exact and `reason` explains why. */
export const vectorLibrary = (): { readonly library: Library | undefined; readonly reason: string } => {
  if (loaded !== undefined) return loaded
  try {
    loaded = { library: optionalPackage("usearch", "The approximate vector index") as Library, reason: "" }
  } catch (error) {
    loaded = {
      library: undefined,
      reason: `The library of the approximate vector index cannot be loaded: ${error instanceof Error ? error.message.split("\n")[0] : String(error)}`
    }
  }
  return loaded
}

/** Whether the library is installed, without loading it; false once loading has failed. */
export const hasVectorLibrary = (): boolean => {
  if (loaded !== undefined) return loaded.library !== undefined
  return hasOptionalPackage("usearch")
}

const keyOf = (field: string): string => `graph|${field}`
export const graphOf = (segment: Segment, field: string): VectorGraph | undefined =>
  segment.derived.get(keyOf(field)) as VectorGraph | undefined
export const attachGraph = (segment: Segment, graph: VectorGraph): void => {
  segment.derived.set(keyOf(graph.record.field), graph)
}
export const graphsOf = (segment: Segment): VectorGraph[] =>
  segment.meta.fields.flatMap((field) => graphOf(segment, field) ?? [])

type GraphShape = Pick<GraphRecord, "dimensions" | "metric" | "M" | "ef_construction">

// ---- distances ------------------------------------------------------------------------------------------------------

export const normOf = (vector: ArrayLike<number>): number => {
  let sum = 0
  for (let i = 0; i < vector.length; i++) sum += vector[i] * vector[i]
  return Math.sqrt(sum)
}
/**
 * Distance of a document's vector, in single precision (`docs/contract/vectors.md`). Uses four sums, so that the
 * processor can overlap them.
 */
export const distanceTo = (
  vector: ArrayLike<number>,
  vectorNorm: number,
  column: VectorColumn,
  doc: number,
  isCosine: boolean
): number => {
  let at = column.find(doc)
  const { numbers: values, dimensions } = column
  const sums = column.sumsOf(vector, at)
  let d0 = 0,
    d1 = 0,
    d2 = 0,
    d3 = 0,
    n0 = 0,
    n1 = 0,
    n2 = 0,
    n3 = 0
  let i = 0
  if (sums !== undefined) {
    d0 = sums[0]
    d1 = sums[1]
    d2 = sums[2]
    d3 = sums[3]
    n0 = sums[4]
    n1 = sums[5]
    n2 = sums[6]
    n3 = sums[7]
    i = dimensions & ~3
    at += i
  }
  for (const end = dimensions - 3; i < end; i += 4, at += 4) {
    const a = values[at],
      b = values[at + 1],
      c = values[at + 2],
      d = values[at + 3]
    d0 += vector[i] * a
    d1 += vector[i + 1] * b
    d2 += vector[i + 2] * c
    d3 += vector[i + 3] * d
    n0 += a * a
    n1 += b * b
    n2 += c * c
    n3 += d * d
  }
  for (; i < dimensions; i++, at++) {
    d0 += vector[i] * values[at]
    n0 += values[at] * values[at]
  }
  const dot = d0 + d1 + (d2 + d3)
  return Math.fround(isCosine ? 1 - dot / (vectorNorm * Math.sqrt(n0 + n1 + (n2 + n3)) || 1) : 1 - dot)
}

// ---- building -------------------------------------------------------------------------------------------------------

const paramsOf = (field: Field, dimensions: number): GraphShape => ({
  dimensions,
  metric: field.vec_dist === "ip" ? "ip" : "cos",
  M: field.hnsw_params?.M ?? 16,
  ef_construction: field.hnsw_params?.ef_construction ?? 200
})
/** Marks a graph that could not be built, so that the build is not repeated. */
export const failedGraph = (field: Field, failure: string): VectorGraph =>
  new VectorGraph(
    { field: field.name, ...paramsOf(field, field.num_dim), vectors: 0, bytes: 0, ef: 0, recall: 0, name: "" },
    undefined,
    failure
  )

/**
 * How many of the nearest are rescored exactly: enough that imprecise bytes exclude none of them. Each costs a read
 * from the file.
 */
export const rescoredOf = (wanted: number): number => wanted + (wanted >>> 2) + 16

/** Minimum candidates of a search for this many neighbours: the last of them are found less reliably. */
export const widthOf = (wanted: number): number => wanted * 2 + 16

/** Widths tried, smallest first, until the graph reaches the target recall. */
const WIDTHS = [64, 96, 128, 192, 256, 384, 512, 768, 1_024, 1_536, 2_048, 4_096]
const RECALL_AIM = 0.98
/** Higher than the promised 0.95, because real queries may be a little less accurate than the samples. */
const RECALL_MIN = 0.97
const SAMPLES = 64
const NEAREST = 10
/**
 * A width beyond this share of the vectors saves little over a full scan. Data without any structure (uniform, hundreds
 * of dimensions) needs more and stays exact, which is then both faster and more accurate.
 */
const WIDTH_SHARE_MAX = 1 / 64
/**
 * Length of a sample query's deviation from the document it is derived from: real queries are near documents, not on
 * them.
 */
const DEVIATION = 0.5
/** Vectors per step; each is compared with every sample. */
const SCAN_STEP = 8

/** A graph as the library holds it, until its links are extracted. */
export interface NativeGraph {
  readonly index: NativeIndex
  /** An empty index file, which replaces the contents of an index. */ readonly empty: NativeIndex
  readonly vectors: number
}
/**
 * Inserts every live vector in document order, so equal segments give equal graphs. Yields after each insertion. Cost:
 * 0.3 to 0.5 ms per vector of 384 dimensions. The library compares directions with one byte per number, and uses half
 * precision where lengths matter, because bytes do not preserve them.
 */
export function* insertVectors(
  segment: Segment,
  column: VectorColumn,
  live: Bits | undefined,
  field: Field
): Generator<void, NativeGraph | undefined> {
  const { library } = vectorLibrary()
  if (library === undefined) return undefined
  const { ef_construction, M, metric } = paramsOf(field, column.dimensions)
  const options = {
    dimensions: column.dimensions,
    metric,
    quantization: metric === "ip" ? "f16" : "i8",
    connectivity: M,
    expansion_add: ef_construction,
    expansion_search: 1,
    multi: false
  } as const
  const index = new library.Index(options)
  let vectors = 0
  for (let doc = 0; doc < segment.docs; doc++) {
    if (!hasBit(column.has, doc) || (live !== undefined && !hasBit(live, doc))) continue
    index.add(BigInt(doc), column.vector(doc), 1)
    vectors++
    yield
  }
  return { index, empty: new library.Index(options), vectors }
}
/**
 * `bytes`: the links in the library's file format. A caller that starts it must run it to the end, because it reserves
 * memory.
 */
export function* placedGraph(
  bytes: Uint8Array,
  vectors: number,
  column: VectorColumn,
  field: Field,
  allocate: Allocate
): Generator<void, VectorGraph> {
  const params = paramsOf(field, column.dimensions)
  const links = yield* linksIn(bytes, vectors)
  const { meta, region } = yield* layOutGraph(links, column, params.metric === "cos", allocate)
  return new VectorGraph(
    { field: field.name, ...params, vectors, bytes: meta.bytes, ef: 0, recall: 0, name: "", meta },
    region
  )
}
/**
 * Measures the width that searches need: it depends on the data, and a fixed one would be wasteful for some data and
 * too low for other. Cost: 64 exact searches in one pass over the vectors.
 */
export function* measuredGraph(
  segment: Segment,
  column: VectorColumn,
  graph: VectorGraph
): Generator<void, VectorGraph> {
  const { record, region } = graph
  return new VectorGraph({ ...record, ...(yield* measuredWidth(segment, column, graph)) }, region)
}

function* measuredWidth(
  segment: Segment,
  column: VectorColumn,
  graph: VectorGraph
): Generator<void, { ef: number; recall: number }> {
  const index = graph.index!,
    docs = index.docs.slice().sort(),
    isCosine = graph.record.metric === "cos"
  const samples: Sample[] = []
  const count = Math.min(SAMPLES, docs.length)
  for (let i = 0; i < count; i++) {
    const doc = docs[Math.floor(((i + 0.5) * docs.length) / count)]
    const query = sampleQuery(column, doc, segment.seqs[doc])
    samples.push({ query, norm: normOf(query), best: [] })
  }
  const nearest = yield* trueNearest(column, docs, samples, isCosine)
  let last = { ef: 0, recall: 0 }
  for (const ef of WIDTHS) {
    if (ef > WIDTHS[0] && ef > docs.length * WIDTH_SHARE_MAX) break
    let hits = 0,
      wanted = 0
    for (let s = 0; s < count; s++) {
      const found = index.search(samples[s].query, ef)
      for (let i = 0; i < found.length && i < rescoredOf(NEAREST); i++) if (nearest[s].has(found[i])) hits++
      wanted += nearest[s].size
      yield
    }
    last = { ef, recall: wanted === 0 ? 1 : hits / wanted }
    if (last.recall >= RECALL_AIM) return last
  }
  return last.recall >= RECALL_MIN ? last : { ef: 0, recall: last.recall }
}
interface Sample {
  readonly query: Float32Array
  readonly norm: number
  /** Nearest first. */ readonly best: Array<{ readonly doc: number; readonly distance: number }>
}
/** The document's vector moved in a direction derived from its insertion number. */
const sampleQuery = (column: VectorColumn, doc: number, seq: number): Float32Array => {
  const own = column.vector(doc)
  const direction = new Float32Array(column.dimensions)
  let state = Math.imul(seq + 1, 0x9e3779b1)
  for (let i = 0; i < direction.length; i++) {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5) | 0
    direction[i] = ((state ^ (state >>> 13)) >>> 0) / 0xffffffff - 0.5
  }
  const scale = (DEVIATION * normOf(own)) / (normOf(direction) || 1)
  return direction.map((part, i) => own[i] + part * scale)
}
/** The true nearest documents of every sample, in one pass: each vector is read once. */
function* trueNearest(
  column: VectorColumn,
  docs: ArrayLike<number>,
  samples: ReadonlyArray<Sample>,
  isCosine: boolean
): Generator<void, ReadonlyArray<ReadonlySet<number>>> {
  for (let i = 0; i < docs.length; i++) {
    for (const { best, norm, query } of samples) {
      const distance = distanceTo(query, norm, column, docs[i], isCosine)
      if (best.length === NEAREST && distance >= best[NEAREST - 1].distance) continue
      best.push({ doc: docs[i], distance })
      best.sort((a, b) => a.distance - b.distance)
      if (best.length > NEAREST) best.pop()
    }
    if (i % SCAN_STEP === SCAN_STEP - 1) yield
  }
  return samples.map(({ best }) => new Set(best.map(({ doc }) => doc)))
}
