/**
 * A search through the graph of a segment's vectors (HNSW; Malkov and Yashunin, 2016): from the entry point down to the
 * lowest level, and there to the `width` nearest by their bytes. The caller then decides by the vectors themselves
 * which of them are nearest.
 */
import { Heap } from "./heap.ts"
import { productIn, type Product } from "./graph-kernel.ts"
import { SectionReader, type Region, type SegmentMeta } from "./sections.ts"
import { firstNotBefore } from "../sorted.ts"

/** One byte per number; the largest number of a vector becomes 127. */
const LARGEST = 127
/** Numbers that the kernel processes at once. */
export const strideOf = (dimensions: number): number => (dimensions + 15) & ~15
/**
 * Maximum number of threads with a query in the shared memory at the same time; a thread without a slot uses plain
 * loops.
 */
export const PLACES = 8
/** Exceeds the rounding error of a cosine in single precision. */
const ROUNDING = 1e-5
/** Bytes per node in a list of the lowest level. */
export const LINK_BYTES = 3

/** Writes a vector as bytes; returns the scale that was applied, 0 if all numbers are zero or one is NaN. */
export const toBytes = (vector: ArrayLike<number>, into: Int8Array | Int16Array, at: number): number => {
  let most = 0
  for (let i = 0; i < vector.length; i++) most = Math.max(most, Math.abs(vector[i]))
  const factor = LARGEST / most
  if (!(factor > 0 && factor < Infinity)) {
    into.fill(0, at, at + vector.length)
    return 0
  }
  for (let i = 0; i < vector.length; i++) into[at + i] = Math.round(vector[i] * factor)
  return 1 / factor
}

/** One pair per thread, because searches do not overlap. They grow to the largest graph and the widest search. */
const near = new Heap(),
  next = new Heap()
let seen = new Uint32Array(0)

export class GraphSearch {
  private readonly codes: Int8Array
  private readonly scales: Float32Array
  /** The document of each node. */ readonly docs: Uint32Array
  private readonly starts: Uint32Array
  private readonly links: Uint8Array
  /** Nodes of the upper levels, ascending; the start of each node's lists; and the lists, lowest level first. */
  private readonly upper: Uint32Array
  private readonly upperLists: Uint32Array
  private readonly upperStarts: Uint32Array
  private readonly upperLinks: Uint32Array
  private readonly entry: number
  private readonly levels: number
  private readonly locks: Int32Array
  private readonly places: Int16Array
  private readonly stride: number
  private readonly product: Product | undefined
  /** The query of the running search: its slot in the shared memory (-1: none was free), or else here. */
  private place = -1
  private readonly own: Int16Array
  constructor(meta: SegmentMeta, region: Region) {
    const sections = new SectionReader(meta, region)
    this.locks = sections.i32("locks")
    this.places = sections.i16("places")
    this.codes = sections.i8("codes")
    this.scales = sections.f32("scales")
    this.docs = sections.u32("docs")
    this.starts = sections.u32("starts")
    this.links = sections.u8("links")
    this.upper = sections.u32("upper")
    this.upperLists = sections.u32("upperLists")
    this.upperStarts = sections.u32("upperStarts")
    this.upperLinks = sections.u32("upperLinks")
    ;[this.entry, this.levels] = sections.u32("entry")
    this.stride = this.places.length / PLACES
    this.own = new Int16Array(this.stride)
    this.product = productIn(region)
  }
  /** The documents nearest by their bytes, nearest first, at most `width`. */
  search(vector: ArrayLike<number>, width: number): Uint32Array {
    toBytes(vector, this.own, 0)
    this.asked(() => this.walk(width))
    const found = new Uint32Array(near.size)
    for (let i = near.size - 1; i >= 0; i--) {
      found[i] = this.docs[near.nodes[0]]
      near.pop()
    }
    return found
  }
  /**
   * Lower and upper bounds of the cosine of each document's vector: a byte is off by up to half a unit, and so is the
   * query's. `docs` ascend; for a document that is not in the graph the bounds are arbitrary.
   */
  cosines(vector: ArrayLike<number>, norm: number, docs: Uint32Array): readonly [Float32Array, Float32Array] {
    const unit = toBytes(vector, this.own, 0)
    let sum = 0,
      squares = 0
    for (let i = 0; i < vector.length; i++) {
      sum += Math.abs(vector[i])
      squares += (vector[i] - this.own[i] * unit) ** 2
    }
    const off = Math.sqrt(squares) / norm,
      offByScale = sum / 2 / norm + (off * Math.sqrt(vector.length)) / 2
    const low = new Float32Array(docs.length).fill(-Infinity),
      high = new Float32Array(docs.length).fill(Infinity)
    this.asked(() => {
      for (let i = 0, node = 0; i < docs.length; i++) {
        while (node < this.docs.length && this.docs[node] < docs[i]) node++
        if (this.docs[node] !== docs[i]) continue
        const cosine = (this.nearness(node) * unit) / norm,
          most = off + offByScale * this.scales[node] + ROUNDING
        low[i] = cosine - most
        high[i] = cosine + most
      }
    })
    return [low, high]
  }
  /** Runs `work` with the query in the memory that the kernel reads. */
  private asked(work: () => void): void {
    this.place = this.product === undefined ? -1 : this.placeTaken()
    try {
      if (this.place >= 0) this.places.set(this.own, this.place * this.stride)
      work()
    } finally {
      if (this.place >= 0) Atomics.store(this.locks, this.place, 0)
    }
  }
  /** A thread that ended during a search keeps its slot forever, which leaves one less for the others. */
  private placeTaken(): number {
    for (let place = 0; place < PLACES; place++)
      if (Atomics.compareExchange(this.locks, place, 0, 1) === 0) return place
    return -1
  }
  private nearness(node: number): number {
    const { codes, own, place, product, stride } = this
    let sum = 0
    if (place >= 0)
      sum = product!(this.places.byteOffset + place * stride * 2, codes.byteOffset + node * stride, stride)
    else for (let i = 0, at = node * stride; i < stride; i++, at++) sum += own[i] * codes[at]
    return sum * this.scales[node]
  }
  private walk(width: number): void {
    near.size = next.size = 0
    const words = (this.docs.length + 31) >>> 5
    if (seen.length < words) seen = new Uint32Array(words)
    else seen.fill(0, 0, words)
    const first = this.descended()
    const nearness = this.nearness(first)
    seen[first >>> 5] |= 1 << (first & 31)
    near.push(nearness, first)
    next.push(-nearness, first)
    while (next.size > 0) {
      if (near.size >= width && -next.keys[0] < near.keys[0]) return
      const node = next.nodes[0]
      next.pop()
      this.visit(node, width)
    }
  }
  private visit(node: number, width: number): void {
    const { links, starts } = this
    for (let i = starts[node] * LINK_BYTES, end = starts[node + 1] * LINK_BYTES; i < end; i += LINK_BYTES) {
      const other = links[i] | (links[i + 1] << 8) | (links[i + 2] << 16)
      const bit = 1 << (other & 31)
      if ((seen[other >>> 5] & bit) !== 0) continue
      seen[other >>> 5] |= bit
      const nearness = this.nearness(other)
      if (near.size >= width) {
        if (nearness <= near.keys[0]) continue
        near.pop()
      }
      near.push(nearness, other)
      next.push(-nearness, other)
    }
  }
  /** The nearest node that the upper levels lead to. */
  private descended(): number {
    let node = this.entry,
      best = this.nearness(node)
    for (let level = this.levels; level > 0; level--)
      for (let isNearer = true; isNearer;) {
        isNearer = false
        const list = this.upperListOf(node, level)
        for (let i = this.upperStarts[list]; i < this.upperStarts[list + 1]; i++) {
          const other = this.upperLinks[i],
            nearness = this.nearness(other)
          if (nearness <= best) continue
          best = nearness
          node = other
          isNearer = true
        }
      }
    return node
  }
  private upperListOf(node: number, level: number): number {
    const { upper } = this
    return this.upperLists[firstNotBefore(0, upper.length - 1, (at) => upper[at] < node)] + level - 1
  }
}
