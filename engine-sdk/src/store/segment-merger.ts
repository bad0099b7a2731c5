/**
 * Keeps the number of a collection's segments small: merges run in the background, one at a time and in slices, and
 * after a quiet period everything becomes one segment. `merge-policy.ts` decides what is merged.
 */
import { hasBit } from "../index/bits.ts"
import { regionsOf, type DerivedSection } from "../index/derived-sections.ts"
import { GONE, mergeSegments, type Merged } from "../index/merge.ts"
import { PREPARED_DOCS_MIN, type PublishedSegment, type SegmentView } from "../index/reader.ts"
import type { Allocate, Outside, Region } from "../index/sections.ts"
import type { CollectionSchema } from "../schema.ts"
import { inSlices, nextTurn } from "../turns.ts"
import type { LiveSegments } from "./live-segments.ts"
import { isWorthCompacting, mergeableOf, type Importing } from "./merge-policy.ts"
import type { Publisher } from "./publisher.ts"
import type { SegmentSections } from "./segment-sections.ts"

/** Work between two turns of the event loop. Other work (a single upsert, a search) waits for at most one slice. */
const SLICE_MS = 0.5
/** Slice during writes: merging must keep up with writes, but leave them most of the time. */
const WRITING_SLICE_MS = 0.25
/** An import counts as running for this long after a full chunk, and its collection as searched after a search. */
const IMPORTING_MS = 1_500
const QUIET_MS = 1_000
/** A merge of fewer documents does not wait for a turn of its own. */
const SMALL_MERGE_DOCS = 256

/** Lets readers prepare a segment before it replaces others; resolves when they have, or if they do not search it. */
export type PrepareSegment = (segment: PublishedSegment, replaced: ReadonlyArray<number>) => Promise<void>

interface MergerOptions {
  readonly segments: LiveSegments
  readonly sections: SegmentSections
  readonly publisher: Publisher
  readonly schema: () => CollectionSchema
  readonly isWriting: () => boolean
  /** Called when there is nothing left to merge for now. */ readonly rested: () => void
  readonly prepare: PrepareSegment | undefined
  /** A number that each search changes; undefined: searches are not seen here. */
  readonly searches: (() => number) | undefined
  readonly allocate: Allocate
  /** Where vectors are stored. */ readonly outside: Outside | undefined
  readonly release: (region: Region) => void
}

export class SegmentMerger {
  private readonly options: MergerOptions
  /** Merged segments that readers may still be reading. */ private readonly leaving = new Set<SegmentView>()
  /** Interim results that will be merged again, so their documents are not reordered yet. */
  private readonly passing = new WeakSet<SegmentView>()
  /** Time of the last full chunk. */ private importedAt = Number.NEGATIVE_INFINITY
  private searches = 0
  private searchedAt = Number.NEGATIVE_INFINITY
  private merging: Promise<void> | undefined
  private quiet: ReturnType<typeof setTimeout> | undefined
  private isClosed = false

  constructor(options: MergerOptions) {
    this.options = options
  }
  /** The merge in progress. */
  get running(): Promise<void> | undefined {
    return this.merging
  }
  /** Merged segments whose memory has not been released yet. */
  get held(): ReadonlyArray<SegmentView> {
    return [...this.leaving]
  }
  /** Called when a write filled an entire chunk: an import is running. */
  noteImport(): void {
    this.importedAt = performance.now()
  }
  /** Starts no more merges; resolves when the current one has ended. */
  async close(): Promise<void> {
    this.isClosed = true
    clearTimeout(this.quiet)
    await this.merging
  }

  /** Merges what qualifies now, then what qualifies after that. */
  schedule(): void {
    const { publisher, rested, segments } = this.options
    if (this.merging !== undefined || this.isClosed || publisher.failure !== undefined) return
    const chosen = mergeableOf(segments.views, this.importing)
    if (chosen === undefined) {
      this.compactWhenQuiet()
      rested()
      return
    }
    this.begin(this.merge(chosen, this.isImporting))
  }
  private begin(merge: Promise<void>): void {
    this.merging = this.options.publisher.behind(merge).finally(() => {
      this.merging = undefined
      this.schedule()
    })
  }
  /** After a period without writes, merges everything into one segment if enough of it is new. */
  private compactWhenQuiet(): void {
    const { isWriting, segments } = this.options
    const isWorth = (): boolean => isWorthCompacting(segments.views, (view) => this.passing.has(view))
    clearTimeout(this.quiet)
    if (!isWorth() && !this.isImporting) return
    this.quiet = setTimeout(() => {
      if (this.isClosed || this.merging !== undefined || isWriting()) return
      // Too little is new to merge everything: the import is over, and its segments merge by the smaller size classes
      // of single writes.
      if (!isWorth()) {
        this.importedAt = Number.NEGATIVE_INFINITY
        this.schedule()
        return
      }
      this.begin(this.merge([...segments.views], false))
    }, QUIET_MS)
    // A pending compaction must not keep the process alive.
    ;(this.quiet as { unref?: () => void }).unref?.()
  }
  private get isImporting(): boolean {
    return performance.now() - this.importedAt < IMPORTING_MS
  }
  private get importing(): Importing {
    const searches = this.options.searches?.()
    if (searches !== this.searches) {
      this.searches = searches ?? 0
      this.searchedAt = performance.now()
    }
    if (!this.isImporting) return "no"
    return searches === undefined || performance.now() - this.searchedAt < IMPORTING_MS ? "searched" : "unsearched"
  }

  /** `isPassing`: the result will soon be merged again. */
  private async merge(views: ReadonlyArray<SegmentView>, isPassing: boolean): Promise<void> {
    const { allocate, isWriting, outside, publisher, release, schema, segments } = this.options
    const sources = views.map(({ segment, deleted }) => ({ segment, deleted: deleted?.slice() }))
    const live = views.reduce((n, { segment, deletedCount }) => n + segment.docs - deletedCount, 0)
    if (live > SMALL_MERGE_DOCS) await nextTurn()
    const work = mergeSegments(schema(), sources, allocate, isPassing, outside)
    const slice_ms = (): number => (isWriting() ? WRITING_SLICE_MS : SLICE_MS)
    const merged = await inSlices(work, slice_ms)
    const id = segments.takeNumber(),
      removed = views.map(({ segment }) => segment.id)
    const sections = await this.prepared(id, merged, views, isPassing, slice_ms)
    if (this.isClosed || !views.every((view) => segments.views.includes(view))) {
      for (const { region } of [merged, ...sections]) release(region)
      return
    }
    const lost = deletedMeanwhile(views, merged.moved)
    segments.remove(views)
    // If one document is written repeatedly, all but the newest segment are empty.
    const added = merged.meta.docs === 0 ? undefined : segments.adopt(merged.meta, merged.region, lost, id, sections)
    if (added === undefined) release(merged.region)
    else if (isPassing) this.passing.add(added.view)
    for (const old of views) this.leaving.add(old)
    publisher.enqueueSegment(added?.view, undefined, () => {
      publisher.send({ added: added === undefined ? [] : [added.published], removed, deletions: [] })
      for (const old of views) {
        this.leaving.delete(old)
        for (const region of regionsOf(old.segment)) release(region)
      }
    })
  }
  /** Derives the merged segment's sections, here and in the searching threads. */
  private async prepared(
    id: number,
    merged: Merged,
    views: ReadonlyArray<SegmentView>,
    isPassing: boolean,
    slice_ms: () => number
  ): Promise<ReadonlyArray<DerivedSection>> {
    if (this.isClosed) return []
    const { prepare, sections } = this.options,
      { meta, moved, region } = merged
    const derived = await inSlices(sections.ofMerged(id, merged, { views, moved }, isPassing), slice_ms)
    if (meta.docs >= PREPARED_DOCS_MIN)
      await prepare?.(
        { id, meta, region, sections: derived },
        views.map(({ segment }) => segment.id)
      )
    return derived
  }
}

/** Documents deleted during a merge must be deleted in its result; returns their numbers there. */
const deletedMeanwhile = (
  views: ReadonlyArray<SegmentView>,
  moved: ReadonlyArray<ArrayLike<number>>
): ReadonlyArray<number> => {
  const lost: number[] = []
  views.forEach((view, s) => {
    if (view.deleted === undefined) return
    for (let doc = 0; doc < view.segment.docs; doc++)
      if (hasBit(view.deleted, doc) && moved[s][doc] !== GONE) lost.push(moved[s][doc])
  })
  return lost
}
