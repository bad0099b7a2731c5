/**
 * The order in which the reference engine iterates hash tables of names: parents of fields by the bucket of a table
 * that does not grow; fields detected in a document as the GNU C++ standard library iterates a map: newest first, but
 * next to entries that share a bucket. It only affects the order in which a schema lists its fields.
 */
const utf8 = new TextEncoder()
const MASK = 0xffff_ffff_ffff_ffffn
const FACTOR = 0xc6a4_a793_5bd1_e995n
const SEED = 0xc70f_6907n
const folded = (value: bigint): bigint => value ^ (value >> 47n)
const mixed = (value: bigint): bigint => (folded((value * FACTOR) & MASK) * FACTOR) & MASK

/** 64-bit Murmur hash, as that library hashes text. About a microsecond per name. */
export const hashOfName = (name: string): bigint => {
  const bytes = utf8.encode(name)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const { length } = bytes
  let hash = SEED ^ ((BigInt(length) * FACTOR) & MASK)
  let at = 0
  for (; at + 8 <= length; at += 8) hash = ((hash ^ mixed(view.getBigUint64(at, true))) * FACTOR) & MASK
  if (at < length) {
    let rest = 0n
    for (let i = length - 1; i >= at; i--) rest = (rest << 8n) | BigInt(bytes[i])
    hash = ((hash ^ rest) * FACTOR) & MASK
  }
  return folded((folded(hash) * FACTOR) & MASK)
}

const PARENT_BUCKETS = 32n
/** Parents in the order in which their children are searched. */
export const parentOrder = <A>(parents: ReadonlyArray<A>, nameOf: (parent: A) => string): A[] =>
  parents
    .map((parent) => ({ parent, bucket: Number(hashOfName(nameOf(parent)) % PARENT_BUCKETS) }))
    .sort((a, b) => a.bucket - b.bucket)
    .map(({ parent }) => parent)

/** Bucket counts of a map as it grows; a larger map keeps the last one. */
const SIZES = [13, 29, 59, 127, 257, 541, 1_109, 2_357, 5_087, 10_273, 20_753]
const HEAD = -1
const END = -2

/** One chain through all buckets: each bucket stores the node before its first item. */
class Chain {
  private readonly hashes: ReadonlyArray<bigint>
  private readonly next = new Map<number, number>([[HEAD, END]])
  private readonly beforeBucket = new Map<number, number>()
  private readonly size: bigint
  constructor(hashes: ReadonlyArray<bigint>, size: number) {
    this.hashes = hashes
    this.size = BigInt(size)
  }
  put(item: number): this {
    const bucket = this.bucketOf(item),
      before = this.beforeBucket.get(bucket) ?? HEAD
    const after = this.next.get(before)!
    this.next.set(item, after)
    this.next.set(before, item)
    if (this.beforeBucket.has(bucket)) return this
    if (after !== END) this.beforeBucket.set(this.bucketOf(after), item)
    this.beforeBucket.set(bucket, HEAD)
    return this
  }
  get items(): number[] {
    const items: number[] = []
    for (let at = this.next.get(HEAD)!; at !== END; at = this.next.get(at)!) items.push(at)
    return items
  }
  private bucketOf(item: number): number {
    return Number(this.hashes[item] % this.size)
  }
}
/** Distinct names that were inserted into a map in this order, in the order in which the map lists them. O(names). */
export const listedOrder = <A>(items: ReadonlyArray<A>, nameOf: (item: A) => string): A[] => {
  const hashes = items.map((item) => hashOfName(nameOf(item)))
  let grown = 0
  let chain = new Chain(hashes, SIZES[0])
  for (let added = 0; added < items.length; added++) {
    if (added === SIZES[grown] && grown + 1 < SIZES.length) {
      const { items: listed } = chain
      chain = new Chain(hashes, SIZES[++grown])
      for (const item of listed) chain.put(item)
    }
    chain.put(added)
  }
  return chain.items.map((at) => items[at])
}
