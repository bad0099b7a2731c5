/**
 * How many documents of a collection have each root in one unit, by the root's hash. Document vectors are weighted by
 * these frequencies, so that they do not depend on how documents are distributed over segments. The table is updated as
 * segments are added and removed, between searches if that is more than a search should do. Colliding hashes add up,
 * which only makes a cosine slightly less exact.
 */
import type { CollectionReader } from "../../index/reader.ts"
import { slotOf } from "../../slots.ts"
import { inSlices, pause } from "../../turns.ts"
import { warn } from "../../warning.ts"
import { keepTable } from "./kept-tables.ts"
import type { UnitIndex } from "./unit-index.ts"

/** Number of roots that a search counts itself, in two milliseconds; a million take a quarter of a second. */
const AT_ONCE_ROOTS = 16_384
/** Roots between two chances to yield, less one. */
const STEP_MASK = 1_023
/** Duration of one slice of the work between searches. */
const SLICE_MS = 0.5
interface Added {
  readonly hashes: Uint32Array
  readonly starts: Uint32Array
}
interface Change {
  readonly index: UnitIndex
  readonly added: Added
  readonly sign: 1 | -1
}
class FrequencyTable {
  private keys = new Uint32Array(1024)
  private counts = new Uint32Array(1024)
  private size = 0
  /** Whether an update is under way; until it ends, the counts belong to no state of the collection. */
  private isChanging = false
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

  /** False if it does not count exactly these indexes yet; it is then updated between searches. */
  follow(indexes: ReadonlyArray<UnitIndex>): boolean {
    if (this.isChanging) return false
    const changes = this.changesTo(new Set(indexes))
    if (changes.length === 0) return true
    const work = this.making(changes)
    if (changes.reduce((sum, { added }) => sum + added.hashes.length, 0) <= AT_ONCE_ROOTS) {
      while (work.next().done !== true);
      return true
    }
    this.isChanging = true
    inSlices(work, SLICE_MS, pause).then(
      () => {
        this.isChanging = false
      },
      // Half-made counts are never used: searches go on looking roots up.
      (error: unknown) => warn("the frequencies of roots were not counted", error)
    )
    return false
  }
  frequency(hash: number): number {
    return this.counts[this.slotOf(hash)]
  }
  private changesTo(now: ReadonlySet<UnitIndex>): ReadonlyArray<Change> {
    const changes: Change[] = []
    for (const [index, added] of this.included) if (!now.has(index)) changes.push({ index, added, sign: -1 })
    for (const index of now)
      if (!this.included.has(index))
        changes.push({ index, added: { hashes: index.hashes.slice(), starts: index.starts.slice() }, sign: 1 })
    return changes
  }
  /** O(roots of the changed indexes). */
  private *making(changes: ReadonlyArray<Change>): Generator<void, void> {
    for (const { added, index, sign } of changes) {
      yield* this.adding(added, sign)
      if (sign > 0) this.included.set(index, added)
      else this.included.delete(index)
    }
  }
  private *adding({ hashes, starts }: Added, sign: 1 | -1): Generator<void, void> {
    for (let term = 0; term < hashes.length; term++) {
      if ((term & STEP_MASK) === STEP_MASK) yield
      if ((this.size + 1) * 3 > this.keys.length * 2) yield* this.growing()
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
  private *growing(): Generator<void, void> {
    const { counts, keys } = this
    let used = 0
    for (let i = 0; i < counts.length; i++) {
      if ((i & STEP_MASK) === STEP_MASK) yield
      if (counts[i] > 0) used++
    }
    const size = used * 3 > keys.length ? keys.length * 2 : keys.length
    this.keys = new Uint32Array(size)
    this.counts = new Uint32Array(size)
    this.size = used
    for (let i = 0; i < keys.length; i++) {
      if ((i & STEP_MASK) === STEP_MASK) yield
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
/** The table of a unit for the collection's current state; undefined until it is up to date. */
export const frequenciesOf = (
  reader: CollectionReader,
  unit: string,
  indexes: ReadonlyArray<UnitIndex>
): { frequency(hash: number): number } | undefined => {
  const key = PREFIX + unit
  const known = reader.derived.get(key)
  const table = known instanceof FrequencyTable ? known : new FrequencyTable()
  keepTable(reader.derived, key, table)
  return table.follow(indexes) ? table : undefined
}
