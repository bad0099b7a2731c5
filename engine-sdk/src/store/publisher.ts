/**
 * The order in which publications reach a collection's readers: batches in commit order, none after a failed commit. A
 * small batch is published before it is on disk, and announced again when it is readable.
 */
import type { Publication, SegmentView } from "../index/reader.ts"

/** What was written is not stored, or may not be. */
export class CommitFailed extends Error {
  constructor(cause: unknown) {
    super(`The disk did not take a write: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}

export interface PublisherOptions {
  readonly publish: (publication: Publication) => void
  /** Called when a commit failed: this writer and its readers hold documents that are not on disk. */
  readonly broken: (error: Error) => void
  /** Called when background work failed for a reason other than the disk. */
  readonly defective: (error: Error) => void
}

export class Publisher {
  /** Why nothing is written or published any more; undefined while all is well. */ failure: CommitFailed | undefined
  /** Segments that have not been published to readers yet. */ readonly unpublished = new Set<SegmentView>()
  private readonly options: PublisherOptions
  /** Never rejects: a failed commit aborts the entire writer. */ private published: Promise<void> = Promise.resolve()
  private pending = 0
  private earlyBatches = 0

  constructor(options: PublisherOptions) {
    this.options = options
  }
  /** Publishes immediately. */
  send(publication: Publication): void {
    this.options.publish(publication)
  }
  /** True while publications wait for commits. */
  get isPending(): boolean {
    return this.pending > 0
  }
  /** Resolves when everything committed so far is published, or a commit failed. */
  get done(): Promise<void> {
    return this.published
  }

  /** Calls `publish` when all commits so far, and this one, are readable. */
  enqueue(committed: Promise<void> | undefined, publish: () => void): void {
    if (committed === undefined && this.pending === 0) {
      if (this.failure === undefined) publish()
      return
    }
    // The commit may reject before it is awaited.
    committed?.catch(() => {})
    this.pending++
    this.published = this.published.then(async () => {
      try {
        await committed
      } catch (error) {
        this.breakOff(error)
      }
      this.pending--
      if (this.failure === undefined) publish()
    })
  }
  /** Like `enqueue`, with a segment that readers do not have; it is `unpublished` until they receive it. */
  enqueueSegment(view: SegmentView | undefined, committed: Promise<void> | undefined, publish: () => void): void {
    if (view !== undefined) this.unpublished.add(view)
    this.enqueue(committed, () => {
      if (view !== undefined) this.unpublished.delete(view)
      publish()
    })
  }
  /** Publishes before the batch is on disk. `texts`: the documents, which readers keep until they can read them. */
  sendEarly(publication: Publication, texts: ReadonlyArray<readonly [number, string]>, committed: Promise<void>): void {
    const batch = ++this.earlyBatches
    this.send({ ...publication, early: { batch, texts } })
    this.enqueue(committed, () => {
      this.send({ added: [], removed: [], deletions: [], readable: batch })
    })
  }

  breakOff(error: unknown): void {
    if (this.failure !== undefined) return
    this.failure = new CommitFailed(error)
    this.options.broken(this.failure)
  }
  /** Runs work in the background. A failure ends only this collection's writer, not the thread that writes for all. */
  behind(work: Promise<void>): Promise<void> {
    return work.catch((error: unknown) => {
      this.failure ??= new CommitFailed(error)
      this.options.defective(error instanceof Error ? error : new Error(String(error)))
    })
  }
}
