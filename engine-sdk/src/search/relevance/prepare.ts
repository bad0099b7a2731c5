/**
 * What relevance searches ask of the thread that writes: indexes of their units for what is large. It makes them before
 * anybody searches what it publishes, once it has been told which; little work is left to a search itself.
 */
import type { CollectionReader } from "../../index/reader.ts"
import type { RelevanceUnit, SearchPlan } from "../../plan.ts"
import { missingDocs } from "./unit-columns.ts"
import { sectionNameOf } from "./unit-sections.ts"

/** Documents that a search may read on its own: about ten milliseconds. */
export const INLINE_DOCS = 500
/** Lists of units that are made ready in a collection: those that searches asked for last. */
const ASKED_MAX = 4

/** Lists of units by what they are called together, the one asked for last at the end. */
export class AskedUnits {
  private readonly lists = new Map<string, ReadonlyArray<RelevanceUnit>>()
  /** False where it is there already. */
  note(units: ReadonlyArray<RelevanceUnit>): boolean {
    const key = keyOf(units)
    if (this.lists.has(key)) return false
    this.lists.set(key, units)
    for (const oldest of this.lists.keys()) {
      if (this.lists.size <= ASKED_MAX) break
      this.lists.delete(oldest)
    }
    return true
  }
  get all(): ReadonlyArray<ReadonlyArray<RelevanceUnit>> {
    return [...this.lists.values()]
  }
}
/** Weights say nothing of what is indexed. */
const keyOf = (units: ReadonlyArray<RelevanceUnit>): string => JSON.stringify(units.map(sectionNameOf))

/** What the writer was told. */
const told = new WeakMap<CollectionReader, AskedUnits>()
interface AskedOf {
  readonly collection: string
  readonly units: ReadonlyArray<RelevanceUnit>
  /** More is missing than the search reads itself: it waits. */ readonly waits: boolean
}
/** What the writer is to be asked for these searches. */
export const askedOf = (
  plans: ReadonlyArray<SearchPlan>,
  readerOf: (collection: string) => CollectionReader | undefined
): ReadonlyArray<AskedOf> => {
  const asked: AskedOf[] = []
  for (const { collection, text } of plans) {
    const reader = readerOf(collection),
      units = text?.relevance?.units
    if (reader === undefined || units === undefined) continue
    let known = told.get(reader)
    if (known === undefined) told.set(reader, (known = new AskedUnits()))
    const waits = missingDocs(reader.views, units) > INLINE_DOCS
    if (known.note(units) || waits) asked.push({ collection, units, waits })
  }
  return asked
}
