/**
 * What readers hear of a collection, in which order: batches in the order of their commits, none behind a commit that
 * failed. A small batch is told before the disk has it, and told again when it is readable.
 */
import type { Publication, SegmentView } from "../index/reader.ts"

/** What was written is not stored, or nobody knows whether it is. */
export class CommitFailed extends Error {
  constructor(cause: unknown) {
    super(`The disk did not take a write: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}

export interface PublisherOptions {
  readonly publish: (publication: Publication) => void
  /** A commit failed: this writer and its readers hold what the disk does not have. */
  readonly broken: (error: Error) => void
  /** Work behind the writes failed, for another reason than the disk. */
  readonly defective: (error: Error) => void
}

export class Publisher {
  /** Why nothing is written or published any more. */ failure: CommitFailed | undefined
  /** Segments that readers have not heard of. */ readonly unpublished = new Set<SegmentView>()
  private readonly options: PublisherOptions
  /** Never rejects: a commit that failed breaks the whole writer off. */ private published: Promise<void> =
    Promise.resolve()
  private pending = 0
  private earlyBatches = 0

  constructor(options: PublisherOptions) {
    this.options = options
  }
  /** At once. */
  send(publication: Publication): void {
    this.options.publish(publication)
  }
  /** True while publications wait for commits. */
  get isPending(): boolean {
    return this.pending > 0
  }
  /** Resolves when everything that was committed until now is published, or a commit failed. */
  get done(): Promise<void> {
    return this.published
  }

  /** Calls `publish` when all commits until now, and this one, are readable. */
  enqueue(committed: Promise<void> | undefined, publish: () => void): void {
    if (committed === undefined && this.pending === 0) {
      if (this.failure === undefined) publish()
      return
    }
    // It may fail before its turn comes to be looked at.
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
  /** With a segment that readers do not have: it is `unpublished` until they hear of it. */
  enqueueSegment(view: SegmentView | undefined, committed: Promise<void> | undefined, publish: () => void): void {
    if (view !== undefined) this.unpublished.add(view)
    this.enqueue(committed, () => {
      if (view !== undefined) this.unpublished.delete(view)
      publish()
    })
  }
  /** Before the disk has it. `texts`: of the documents, which readers keep until they can read them. */
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
  /** Nobody waits for it: what fails ends this collection's writer, not the thread that writes for all. */
  behind(work: Promise<void>): Promise<void> {
    return work.catch((error: unknown) => {
      this.failure ??= new CommitFailed(error)
      this.options.defective(error instanceof Error ? error : new Error(String(error)))
    })
  }
}
