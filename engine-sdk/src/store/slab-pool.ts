/**
 * Shared memory in reusable slabs. The garbage collector does not account for shared buffers, so allocating one per
 * segment would grow without bound. Here, buffers of a few size classes circulate: each is lent to a segment, retired
 * with it, and reused once no reader can still hold it.
 */
import type { LinearMemory } from "../index/compiled.ts"
import { allocateLinear } from "../index/graph-kernel.ts"
import type { Allocate, Region } from "../index/sections.ts"

const SMALLEST = 65_536
/** Four size classes per doubling, so at most a quarter of a slab is unused. */
const classOf = (bytes: number): number => {
  let size = SMALLEST
  while (size < bytes) size *= 2
  for (const part of [0.625, 0.75, 0.875]) if (bytes <= size * part && size > SMALLEST) return size * part
  return size
}

/** How much larger than its content a graph's memory may be. */
const SLACK = 1.25

export class SlabPool {
  private readonly free = new Map<number, SharedArrayBuffer[]>()
  /**
   * The memory of a graph released last, because the next graph may have the same size. Memory that does not fit is
   * left to the garbage collector, which is slow, but graphs are built rarely and take long.
   */
  private freeLinear: LinearMemory | undefined
  private readonly lent = new Map<SharedArrayBuffer, number>()
  private retired: Array<{ region: Region; at: number }> = []
  private holds = 0
  private freeBytes = 0
  private lentBytes_ = 0
  private readonly freeMax_bytes: number
  /** Number of publications, which dates a retirement. */ publications = 0
  private released = 0
  private readonly dropFile: (path: string) => void
  /** `dropFile`: called with the file of a segment that no reader can still hold. */
  constructor(dropFile: (path: string) => void, freeMax_bytes = 268_435_456) {
    this.dropFile = dropFile
    this.freeMax_bytes = freeMax_bytes
  }

  get lentBytes(): number {
    return this.lentBytes_
  }
  readonly allocate: Allocate = (bytes) => {
    const size = classOf(bytes)
    const list = this.free.get(size)
    let buffer = list?.pop()
    if (buffer === undefined) buffer = new SharedArrayBuffer(size)
    else this.freeBytes -= size
    this.lent.set(buffer, size)
    this.lentBytes_ += size
    return { buffer, offset: 0, length: bytes }
  }
  readonly allocateLinear: Allocate = (bytes) => {
    const linear = this.freeLinear,
      size_bytes = linear?.buffer.byteLength ?? 0
    const isUsable = linear !== undefined && size_bytes >= bytes && size_bytes <= bytes * SLACK
    const region = isUsable ? { buffer: linear.buffer, offset: 0, length: bytes, linear } : allocateLinear(bytes)
    this.freeLinear = undefined
    const size = region.buffer.byteLength
    this.lent.set(region.buffer as SharedArrayBuffer, size)
    this.lentBytes_ += size
    return region
  }
  /** Removes the segment for the writer; readers may read it until they have applied the latest publication. */
  readonly retire = (region: Region): void => {
    if (this.lent.has(region.buffer as SharedArrayBuffer)) {
      this.retired.push({ region, at: this.publications })
      this.reclaim()
    }
  }
  /** Called when every reader has applied publications up to this one. */
  seen(publication: number): void {
    this.released = Math.max(this.released, publication)
    this.reclaim()
  }
  /** Nothing is reused while `work` runs, because a snapshot reads regions that a merge may retire. */
  async holding<A>(work: () => Promise<A>): Promise<A> {
    this.holds++
    try {
      return await work()
    } finally {
      this.holds--
      this.reclaim()
    }
  }
  private reclaim(): void {
    if (this.holds > 0) return
    this.retired = this.retired.filter(({ region, at }) => {
      if (at > this.released) return true
      if (region.outside !== undefined) this.dropFile(region.outside)
      const buffer = region.buffer as SharedArrayBuffer
      const size = this.lent.get(buffer)!
      this.lent.delete(buffer)
      this.lentBytes_ -= size
      if (region.linear !== undefined) this.freeLinear = region.linear
      else if (this.freeBytes + size <= this.freeMax_bytes) {
        this.freeBytes += size
        const list = this.free.get(size)
        if (list === undefined) this.free.set(size, [buffer])
        else list.push(buffer)
      }
      return false
    })
  }
}
