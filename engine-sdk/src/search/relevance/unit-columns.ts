/**
 * Which units of a segment are indexed: those that the writing thread built (`unit-sections.ts`) and, for small
 * segments and units not built yet, those that a search on this thread reads from stored documents itself. The latter
 * are cached with the segment and counted in its bytes; the least recently used is evicted when there are too many.
 */
import { GIVE_WAY, spend } from "../../budget/cutoff.ts"
import { hasBit } from "../../index/bits.ts"
import type { CollectionReader, SegmentView } from "../../index/reader.ts"
import type { Segment } from "../../index/segment.ts"
import type { RelevanceUnit } from "../../plan.ts"
import { buildingUnits } from "./unit-building.ts"
import type { UnitIndex } from "./unit-index.ts"
import { attachedUnit, sectionNameOf } from "./unit-sections.ts"

/** Units cached per segment, more than any single request may name. */
const UNITS_MAX = 128
const KEY = "relevance"

/** Cost of reading the words of a document, in steps. */
const DOCUMENT_STEPS = 1_024
type Building = ReturnType<typeof buildingUnits>

class UnitColumns {
  private readonly units = new Map<string, UnitIndex>()
  /**
   * What a search was reading when the thread's quantum ended. The next search continues it; if it restarted each time,
   * work longer than a quantum would never finish.
   */
  private begun: { readonly names: string; readonly work: Building } | undefined
  private readonly segment: Segment
  constructor(segment: Segment) {
    this.segment = segment
  }
  get bytes(): number {
    let total = 0
    for (const unit of this.units.values()) total += unit.bytes
    return total
  }
  has(unit: RelevanceUnit): boolean {
    return this.units.has(sectionNameOf(unit)) || attachedUnit(this.segment, unit) !== undefined
  }
  /** The most recently used is last. A shared index replaces one that this thread built. */
  get(unit: RelevanceUnit): UnitIndex | undefined {
    const attached = attachedUnit(this.segment, unit)
    if (attached !== undefined) {
      if (this.units.size > 0) this.units.delete(sectionNameOf(unit))
      return attached
    }
    const name = sectionNameOf(unit),
      own = this.units.get(name)
    if (own !== undefined) {
      this.units.delete(name)
      this.units.set(name, own)
    }
    return own
  }
  /** Builds what is missing, and keeps the progress if it is interrupted. */
  build(missing: ReadonlyArray<RelevanceUnit>, begin: () => Building): void {
    const names = JSON.stringify(missing.map(sectionNameOf))
    const { work } = this.begun?.names === names ? this.begun : (this.begun = { names, work: begin() })
    const made = this.ended(work)
    this.begun = undefined
    missing.forEach((unit, i) => this.set(unit, made[i]))
  }
  private ended(work: Building): ReadonlyArray<UnitIndex> {
    try {
      let step = work.next()
      for (; step.done !== true; step = work.next()) spend(DOCUMENT_STEPS)
      return step.value
    } catch (error) {
      // Do not resume after a document that could not be read.
      if (error !== GIVE_WAY) this.begun = undefined
      throw error
    }
  }
  set(unit: RelevanceUnit, index: UnitIndex): void {
    this.units.set(sectionNameOf(unit), index)
    for (const oldest of this.units.keys()) {
      if (this.units.size <= UNITS_MAX) return
      this.units.delete(oldest)
    }
  }
}
const columnsOf = (segment: Segment): UnitColumns => {
  let columns = segment.derived.get(KEY) as UnitColumns | undefined
  if (columns === undefined) segment.derived.set(KEY, (columns = new UnitColumns(segment)))
  return columns
}

/** Indexes of units, in their order; missing ones are built immediately. */
export const unitsOf = (
  reader: CollectionReader,
  view: SegmentView,
  units: ReadonlyArray<RelevanceUnit>
): UnitIndex[] => {
  const columns = columnsOf(view.segment)
  // Read through `get`, so that the units this search needs are evicted last.
  const missing = units.filter((unit) => columns.get(unit) === undefined)
  if (missing.length > 0) columns.build(missing, () => buildingUnits(sourceOf(reader, view), missing))
  return units.map((unit) => columns.get(unit)!)
}
const sourceOf = ({ documents, schema }: CollectionReader, { deleted, segment }: SegmentView) => ({
  segment,
  schema,
  isGone: (doc: number) => deleted !== undefined && hasBit(deleted, doc),
  text: (seq: number) => documents.text(seq)
})
/** Number of documents whose words a search over these units still has to read. */
export const missingDocs = (views: ReadonlyArray<SegmentView>, units: ReadonlyArray<RelevanceUnit>): number => {
  let docs = 0
  for (const { segment } of views) {
    const columns = columnsOf(segment)
    if (!units.every((unit) => columns.has(unit))) docs += segment.docs
  }
  return docs
}
