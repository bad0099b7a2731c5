/**
 * Which ids a collection may have, as a filter over all segments: most writes add new ids, which then need no lookup in
 * every segment. It is built from the existing documents in the background, and rebuilt when half of its ids belong to
 * deleted documents.
 */
import type { SegmentView } from "../index/reader.ts"
import { inSlices } from "../turns.ts"
import { IdFilters } from "./id-filter.ts"

/** Short, because this work runs between writes, which it must not delay. */
const SLICE_MS = 0.25
const RENEWED_MIN_IDS = 65_536

export class KnownIds {
  private readonly views: ReadonlyArray<SegmentView>
  private readonly behind: (work: Promise<void>) => Promise<void>
  /** Ids of all segments; undefined until they have been read. */
  private ids: IdFilters | undefined = new IdFilters(0)
  /** The filter that is being built; new ids are added to it, too. */ private next: IdFilters | undefined
  private learning: Promise<void> | undefined
  private isClosed = false

  /** `views`: the collection's own list of views, which changes. */
  constructor(views: ReadonlyArray<SegmentView>, behind: (work: Promise<void>) => Promise<void>) {
    this.views = views
    this.behind = behind
  }
  /** False only if no document has the id. `hash`: `hashText` of it. */
  mayHold(hash: number): boolean {
    return this.ids === undefined || this.ids.mayHold(hash)
  }
  add(hash: number): void {
    this.ids?.add(hash)
    this.next?.add(hash)
  }
  /** Forgets the ids: until `learn` has read them again, any id may exist. */
  forget(): void {
    this.ids = undefined
  }
  /** Starts to read the ids of all segments. `documents`: their approximate number. */
  learn(documents: number): void {
    const next = (this.next = new IdFilters(documents))
    this.learning = this.behind(
      inSlices(this.addIds(next), SLICE_MS).then(() => {
        this.ids = next
        this.next = undefined
        this.learning = undefined
      })
    )
  }
  /** Rebuilds the filter when half of its ids belong to deleted documents. */
  renew(documents: () => number): void {
    if (this.learning !== undefined || this.ids === undefined || this.ids.ids <= RENEWED_MIN_IDS) return
    const count = documents()
    if (this.ids.ids > count * 2) this.learn(count)
  }
  /** Stops background work; resolves when it has ended. */
  async close(): Promise<void> {
    this.isClosed = true
    await this.learning
  }
  /** Segments that a merge removes are skipped, because their documents are in another one, which is read in turn. */
  private *addIds(filter: IdFilters): Generator<void, void> {
    const read = new Set<SegmentView>()
    for (;;) {
      const view = this.isClosed ? undefined : this.views.find((candidate) => !read.has(candidate))
      if (view === undefined) return
      read.add(view)
      for (let doc = 0; doc < view.segment.docs; doc++) {
        filter.add(view.segment.idHash(doc))
        if ((doc & 4_095) !== 4_095) continue
        yield
        if (!this.views.includes(view)) break
      }
    }
  }
}
