/**
 * Decides when a collection's segments get graphs of their vectors: after they are published, once merging has come to
 * rest, one at a time and in short slices on the writer's thread. Until then, and without the optional library,
 * searches are exact.
 *
 * waiting (a timer runs) -> building (slices) -> laid out -> saved (if there is a disk) -> published. If a merge
 * removes the segment in the meantime, or the collection closes, the build ends and its result is dropped.
 */
import { bitsOf, countBits, fillBits, andNotInto } from "../index/bits.ts"
import type { PublishedGraph, SegmentView } from "../index/reader.ts"
import type { Allocate, Region } from "../index/sections.ts"
import {
  attachGraph,
  failedGraph,
  graphOf,
  insertVectors,
  measuredGraph,
  placedGraph,
  vectorLibrary,
  VectorGraph
} from "../index/vector-graph.ts"
import type { CollectionSchema, Field } from "../schema.ts"
import type { Journal, StoredSegment } from "./journal.ts"
import { linksOf } from "./native-links.ts"
import { inSlices } from "../turns.ts"

/** With fewer vectors, a full scan is as fast, and exact. */
export const APPROXIMATE_FROM = 10_000
const SLICE_MS = 0.5
const REST_MS = 1_000
/** Under steady writes a collection never rests, so after this many waits it builds anyway. */
const WAITS_MAX = 10

export interface GraphOptions {
  readonly from: number
  /**
   * Runs one build at a time over all collections, because a build holds memory for a second copy of its vectors, and
   * the library's own.
   */
  readonly alone: (work: () => Promise<void>) => Promise<void>
}
export const graphOptions = (from = APPROXIMATE_FROM): GraphOptions => {
  let last: Promise<void> = Promise.resolve()
  return {
    from,
    alone: (work) => {
      const run = last.then(work)
      // A failed build must not block the others; its caller receives the failure.
      last = run.catch(() => {})
      return run
    }
  }
}
interface Owner {
  readonly journal: Journal
  readonly allocate: Allocate
  readonly release: (region: Region) => void
  readonly views: () => ReadonlyArray<SegmentView>
  readonly schema: () => CollectionSchema
  readonly isMerging: () => boolean
  /** Whether writes are in progress, or segments are about to be compacted. */ readonly isWriting: () => boolean
  readonly publish: (graph: PublishedGraph) => void
}
interface Candidate {
  readonly view: SegmentView
  readonly field: Field
  readonly at: number
}

export class VectorGraphs {
  private readonly key: number
  private readonly options: GraphOptions
  private readonly owner: Owner
  private timer: ReturnType<typeof setTimeout> | undefined
  private waits = 0
  private building: Promise<void> | undefined
  private isWaitingTurn = false
  private isClosed = false
  constructor(key: number, options: GraphOptions, owner: Owner) {
    this.key = key
    this.options = options
    this.owner = owner
  }

  /** Memory for graphs of a snapshot; undefined if graphs are not used. */
  get allocate(): Allocate | undefined {
    return this.options.from === Infinity ? undefined : this.owner.allocate
  }
  /** Adopts graphs of a snapshot; returns them in the form in which they are published to readers. */
  adopt(segments: ReadonlyArray<StoredSegment>): PublishedGraph[] {
    return segments.flatMap(({ id, graphs }) =>
      graphs.map(({ record, region }): PublishedGraph => {
        const view = this.owner.views().find(({ segment }) => segment.id === id)
        if (view !== undefined) attachGraph(view.segment, new VectorGraph(record, region))
        return { segment: id, record, region }
      })
    )
  }

  /** Called after a change; builds what is missing after a delay. */
  schedule(): void {
    if (this.isClosed || this.timer !== undefined || this.isWaitingTurn || this.candidate() === undefined) return
    this.timer = setTimeout(() => {
      this.timer = undefined
      if (this.isClosed) return
      if (this.owner.isMerging() || (this.owner.isWriting() && ++this.waits < WAITS_MAX)) {
        this.schedule()
        return
      }
      this.waits = 0
      this.isWaitingTurn = true
      void this.options
        .alone(async () => {
          this.building = this.buildNext()
          await this.building
        })
        .finally(() => {
          this.building = undefined
          this.isWaitingTurn = false
          this.schedule()
        })
    }, REST_MS)
    // A missing graph must not keep the process alive.
    ;(this.timer as { unref?: () => void }).unref?.()
  }
  /** The largest segment that has enough live vectors and no graph yet. */
  private candidate(): Candidate | undefined {
    if (this.options.from === Infinity) return undefined
    const fields = this.owner.schema().fields.filter(({ num_dim, index }) => num_dim > 0 && index)
    if (fields.length === 0) return undefined
    for (const view of [...this.owner.views()].sort((a, b) => b.segment.docs - a.segment.docs)) {
      if (view.segment.docs - view.deletedCount < this.options.from) continue
      for (const field of fields) {
        const column = view.segment.vectors(field.name)
        if (column === undefined || graphOf(view.segment, field.name) !== undefined) continue
        const live = view.deleted === undefined ? column.has : andNotInto(column.has.slice(), view.deleted)
        // The library is loaded for the first collection that needs it; if it is missing, loading is not tried again.
        if (countBits(live) >= this.options.from && vectorLibrary().library !== undefined)
          return { view, field, at: view.segment.meta.fields.indexOf(field.name) }
      }
    }
    return undefined
  }
  private async buildNext(): Promise<void> {
    const candidate = this.isClosed ? undefined : this.candidate()
    if (candidate === undefined) return
    const { view, field } = candidate
    const isStale = (): boolean => this.isClosed || !this.owner.views().includes(view)
    let graph: VectorGraph | undefined
    try {
      graph = await this.built(candidate, isStale)
    } catch (error) {
      // A graph only makes searches faster: without it (for lack of space, say) the segment stays exact, and `usage`
      // reports why.
      graph = failedGraph(
        field,
        `A vector graph cannot be built: ${error instanceof Error ? error.message : String(error)}`
      )
    }
    if (graph === undefined) return
    const { failure, record, region } = graph
    if (isStale()) {
      if (region !== undefined) this.owner.release(region)
      return
    }
    attachGraph(view.segment, graph)
    this.owner.publish({
      segment: view.segment.id,
      record,
      region,
      ...(failure === undefined ? {} : { failure })
    })
  }
  /** The built graph; undefined if it is no longer needed. */
  private async built({ at, field, view }: Candidate, isStale: () => boolean): Promise<VectorGraph | undefined> {
    const { segment } = view,
      { journal, release } = this.owner,
      column = segment.vectors(field.name)!
    const live =
      view.deleted === undefined ? undefined : andNotInto(fillBits(bitsOf(segment.docs), segment.docs), view.deleted)
    const inserted = await inSlices(unless(isStale, insertVectors(segment, column, live, field)), SLICE_MS)
    if (inserted === undefined) return undefined
    const links = await linksOf(inserted, journal.graphFolder)
    const placed = await inSlices(placedGraph(links, inserted.vectors, column, field, this.owner.allocate), SLICE_MS)
    const region = placed.region!
    try {
      const graph = await inSlices(unless(isStale, measuredGraph(segment, column, placed)), SLICE_MS)
      if (graph === undefined) {
        release(region)
        return undefined
      }
      // Even if its links are of no use, the graph's bytes show which vectors need not be read.
      const name = journal.graphFolder === undefined ? "" : `${this.key}-${segment.id}-${at}.graph`
      const hash = await journal.saveGraph(name, graph.record.meta!, region)
      return new VectorGraph({ ...graph.record, name, hash }, region)
    } catch (error) {
      release(region)
      throw error
    }
  }
  /** Stops the current build and waits for it to end; a build queued behind other collections is not waited for. */
  async close(): Promise<void> {
    this.isClosed = true
    clearTimeout(this.timer)
    await this.building
  }
}

/** Runs the work, but abandons it (undefined) as soon as it is no longer needed. */
function* unless<A>(isStale: () => boolean, work: Generator<void, A>): Generator<void, A | undefined> {
  for (;;) {
    if (isStale()) return undefined
    const step = work.next()
    if (step.done === true) return step.value
    yield
  }
}
