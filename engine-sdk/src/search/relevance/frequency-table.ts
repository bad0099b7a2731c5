/**
 * How many documents of a collection have each root in one unit, by the root's hash. Document vectors are weighted by
 * these frequencies, so that they do not depend on how documents are distributed over segments. The table is updated as
 * segments are added and removed. Colliding hashes add up, which only makes a cosine slightly less exact.
 */
import type { CollectionReader } from "../../index/reader.ts"
import { slotOf } from "../../slots.ts"
import { keepTable } from "./kept-tables.ts"
import type { UnitIndex } from "./unit-index.ts"

interface Added {
  readonly hashes: Uint32Array
  readonly starts: Uint32Array
}
class FrequencyTable {
  private keys = new Uint32Array(1024)
  private counts = new Uint32Array(1024)
  private size = 0
  /**
   * Indexes counted so far, with a copy of what was added for each, because the memory of a removed index may be reused
   * by the time its counts are subtracted.
   */
  private readonly included = new Map<UnitIndex, Added>()
  get bytes(): number {
    let total = this.keys.byteLength + this.counts.byteLength
    for (const { hashes } of this.included.values()) total += hashes.byteLength * 2
    return total
  }

  /** O(roots of the changed indexes). */
  follow(indexes: ReadonlyArray<UnitIndex>): void {
    const now = new Set(indexes)
    for (const [index, added] of this.included)
      if (!now.has(index)) {
        this.add(added, -1)
        this.included.delete(index)
      }
    for (const index of now)
      if (!this.included.has(index)) {
        const added = { hashes: index.hashes.slice(), starts: index.starts.slice() }
        this.add(added, 1)
        this.included.set(index, added)
      }
  }
  frequency(hash: number): number {
    return this.counts[this.slotOf(hash)]
  }
  private add({ hashes, starts }: Added, sign: 1 | -1): void {
    for (let term = 0; term < hashes.length; term++) {
      if ((this.size + 1) * 3 > this.keys.length * 2) this.grow()
      const slot = this.slotOf(hashes[term])
      if (this.keys[slot] === 0) {
        this.keys[slot] = keyOf(hashes[term])
        this.size++
      }
      this.counts[slot] += sign * (starts[term + 1] - starts[term])
    }
  }
  private slotOf(hash: number): number {
    const wanted = keyOf(hash)
    return slotOf(this.keys, Math.imul(wanted, 0x9e3779b1) >>> 8, (key) => key === wanted)
  }
  /** Enlarges the table; roots that no document has any more are dropped. */
  private grow(): void {
    const { counts, keys } = this
    let used = 0
    for (const count of counts) if (count > 0) used++
    const size = used * 3 > keys.length ? keys.length * 2 : keys.length
    this.keys = new Uint32Array(size)
    this.counts = new Uint32Array(size)
    this.size = used
    for (let i = 0; i < keys.length; i++) {
      if (counts[i] === 0) continue
      const slot = this.slotOf(keys[i])
      this.keys[slot] = keys[i]
      this.counts[slot] = counts[i]
    }
  }
}
/** Zero marks a free slot. */
const keyOf = (hash: number): number => (hash === 0 ? 1 : hash)

const PREFIX = "relevance frequencies "
/** The table of a unit for the collection's current state. */
export const frequenciesOf = (
  reader: CollectionReader,
  unit: string,
  indexes: ReadonlyArray<UnitIndex>
): { frequency(hash: number): number } => {
  const key = PREFIX + unit
  const known = reader.derived.get(key)
  const table = known instanceof FrequencyTable ? known : new FrequencyTable()
  keepTable(reader.derived, key, table)
  table.follow(indexes)
  return table
}
