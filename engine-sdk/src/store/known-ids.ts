/**
 * Which ids a collection may have, as a filter over all segments: most writes bring new ids, and are told so without a
 * look into every segment. It is made of what is there behind the writes, and again when half of it is of documents
 * that are gone.
 */
import type { SegmentView } from "../index/reader.ts"
import { inSlices } from "../turns.ts"
import { IdFilters } from "./id-filter.ts"

/** Between writes, which it must not hold up. */
const SLICE_MS = 0.25
const RENEWED_MIN_IDS = 65_536

export class KnownIds {
  private readonly views: ReadonlyArray<SegmentView>
  private readonly behind: (work: Promise<void>) => Promise<void>
  /** Ids of all segments; undefined until they have been read. */
  private ids: IdFilters | undefined = new IdFilters(0)
  /** The one that is being made of what is there; takes in what comes meanwhile. */ private next: IdFilters | undefined
  private learning: Promise<void> | undefined
  private isClosed = false

  /** `views`: those of the collection, which come and go. */
  constructor(views: ReadonlyArray<SegmentView>, behind: (work: Promise<void>) => Promise<void>) {
    this.views = views
    this.behind = behind
  }
  /** False only where no document has the id. `hash`: `hashText` of it. */
  mayHold(hash: number): boolean {
    return this.ids === undefined || this.ids.mayHold(hash)
  }
  add(hash: number): void {
    this.ids?.add(hash)
    this.next?.add(hash)
  }
  /** Any id may be there until `learn` has read them. */
  forget(): void {
    this.ids = undefined
  }
  /** `documents`: how many there are about. */
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
  /** Learns anew when half of the ids are of documents that are gone. */
  renew(documents: () => number): void {
    if (this.learning !== undefined || this.ids === undefined || this.ids.ids <= RENEWED_MIN_IDS) return
    const count = documents()
    if (this.ids.ids > count * 2) this.learn(count)
  }
  /** Ends what runs behind; resolves when it has ended. */
  async close(): Promise<void> {
    this.isClosed = true
    await this.learning
  }
  /** Segments that a merge takes away are left: their documents are in another one, which has its turn. */
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
