/**
 * What relevance searches request from the writing thread: indexes of their units for large segments. Once a list of
 * units was requested, the writer builds them before publishing a segment, so a search has little left to read.
 */
import type { CollectionReader } from "../../index/reader.ts"
import type { RelevanceUnit, SearchPlan } from "../../plan.ts"
import { missingDocs } from "./unit-columns.ts"
import { sectionNameOf } from "./unit-sections.ts"

/** Number of documents that a search may read itself, in about ten milliseconds. */
export const INLINE_DOCS = 500
/** Number of lists of units that a collection keeps ready; the most recently requested ones are kept. */
const ASKED_MAX = 4

/** Lists of units by their combined key, the most recently requested last. */
export class AskedUnits {
  private readonly lists = new Map<string, ReadonlyArray<RelevanceUnit>>()
  /** Records a list of units; false if it is already recorded. */
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
/** Weights are left out, because they do not affect the index. */
const keyOf = (units: ReadonlyArray<RelevanceUnit>): string => JSON.stringify(units.map(sectionNameOf))

/** What was requested from the writer, by collection. */
const requested = new WeakMap<CollectionReader, AskedUnits>()
interface AskedOf {
  readonly collection: string
  readonly units: ReadonlyArray<RelevanceUnit>
  /** The search waits, because more is missing than it may read itself. */ readonly waits: boolean
}
/** What to request from the writer for these searches. */
export const askedOf = (
  plans: ReadonlyArray<SearchPlan>,
  readerOf: (collection: string) => CollectionReader | undefined
): ReadonlyArray<AskedOf> => {
  const asked: AskedOf[] = []
  for (const { collection, text } of plans) {
    const reader = readerOf(collection),
      units = text?.relevance?.units
    if (reader === undefined || units === undefined) continue
    let known = requested.get(reader)
    if (known === undefined) requested.set(reader, (known = new AskedUnits()))
    const waits = missingDocs(reader.views, units) > INLINE_DOCS
    if (known.note(units) || waits) asked.push({ collection, units, waits })
  }
  return asked
}
