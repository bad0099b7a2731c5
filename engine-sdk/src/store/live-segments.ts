/**
 * The segments of a collection as its writer sees them, which may be ahead of what was published to readers: what is
 * indexed, what is deleted, and where each document is.
 */
import { hasBit } from "../index/bits.ts"
import { encodeUtf8, hashText } from "../index/bytes.ts"
import { attachSections, type DerivedSection } from "../index/derived-sections.ts"
import { markDeleted, type Publication, type PublishedSegment, type SegmentView } from "../index/reader.ts"
import type { Region, SegmentMeta } from "../index/sections.ts"
import { Segment } from "../index/segment.ts"
import type { StoredSegment } from "./journal.ts"
import { KnownIds } from "./known-ids.ts"

/** Where a live document is indexed. */
export interface Place {
  readonly view: SegmentView
  readonly doc: number
}

export class LiveSegments {
  readonly views: SegmentView[] = []
  readonly ids: KnownIds
  private nextSegment = 1

  /** `behind`: runs background work. */
  constructor(behind: (work: Promise<void>) => Promise<void>) {
    this.ids = new KnownIds(this.views, behind)
  }
  get documentCount(): number {
    let total = 0
    for (const view of this.views) total += view.segment.docs - view.deletedCount
    return total
  }
  /** Takes a number for a new segment, or for a section derived from one. */
  takeNumber(): number {
    return this.nextSegment++
  }

  /** Adds a stored segment, keeping its number. */
  load({ deleted, id, meta, region, sections }: Omit<StoredSegment, "graphs">): PublishedSegment {
    const view: SegmentView = { segment: new Segment(id, meta, region), deleted: undefined, deletedCount: 0 }
    markDeleted(view, deleted)
    attachSections(view.segment, sections)
    this.views.push(view)
    for (const number of [id, ...sections.map((section) => section.id)])
      this.nextSegment = Math.max(this.nextSegment, number + 1)
    return { id, meta, region, deleted: deletedDocs(view), sections }
  }
  /** Adds a new segment. `deleted`: its documents that newer ones have replaced. */
  adopt(
    meta: SegmentMeta,
    region: Region,
    deleted?: ReadonlyArray<number>,
    id = this.takeNumber(),
    sections: ReadonlyArray<DerivedSection> = []
  ): { readonly view: SegmentView; readonly published: PublishedSegment } {
    const view: SegmentView = { segment: new Segment(id, meta, region), deleted: undefined, deletedCount: 0 }
    if (deleted !== undefined) markDeleted(view, deleted)
    attachSections(view.segment, sections)
    this.views.push(view)
    return {
      view,
      published: { id, meta, region, sections, ...(deleted === undefined || deleted.length === 0 ? {} : { deleted }) }
    }
  }
  remove(views: ReadonlyArray<SegmentView>): void {
    for (const view of views) this.views.splice(this.views.indexOf(view), 1)
  }

  /** Marks the documents with these insertion numbers deleted. */
  deleteSeqs(seqs: ReadonlyArray<number>): Publication["deletions"] {
    const deletions: Array<{ segment: number; docs: number[] }> = []
    for (const view of this.views) {
      const docs: number[] = []
      for (const seq of seqs)
        for (const doc of view.segment.docsOfSeq(seq))
          if (view.deleted === undefined || !hasBit(view.deleted, doc)) docs.push(doc)
      if (docs.length > 0) {
        markDeleted(view, docs)
        deletions.push({ segment: view.segment.id, docs })
      }
    }
    return deletions
  }
  /** Marks the live documents with these ids deleted. */
  deleteIds(ids: Iterable<string>): ReadonlyMap<SegmentView, ReadonlyArray<number>> {
    const deletions = new Map<SegmentView, number[]>()
    for (const id of ids) {
      const place = this.locate(id)
      if (place === undefined) continue
      markDeleted(place.view, [place.doc])
      const list = deletions.get(place.view)
      if (list === undefined) deletions.set(place.view, [place.doc])
      else list.push(place.doc)
    }
    return deletions
  }

  /** Where an id is indexed. Cost: O(segments); for most new ids one lookup in a filter. */
  locate(id: string): Place | undefined {
    const hash = hashText(id)
    if (!this.ids.mayHold(hash)) return undefined
    const key = encodeUtf8(id)
    for (let at = this.views.length - 1; at >= 0; at--) {
      const view = this.views[at]
      for (const doc of view.segment.docsOfKey(key, hash))
        if (view.deleted === undefined || !hasBit(view.deleted, doc)) return { view, doc }
    }
    return undefined
  }
  /** Adds the ids of a new segment. */
  learnIds({ segment }: SegmentView): void {
    for (let doc = 0; doc < segment.docs; doc++) this.ids.add(segment.idHash(doc))
  }
}

export const deletedDocs = (view: SegmentView): number[] => {
  const docs: number[] = []
  if (view.deleted !== undefined)
    for (let doc = 0; doc < view.segment.docs; doc++) if (hasBit(view.deleted, doc)) docs.push(doc)
  return docs
}
