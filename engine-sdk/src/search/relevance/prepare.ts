/**
 * Building what a relevance search reads before it runs, in slices, so that the first search of a large collection (or
 * the first after a large merge) does not hold up the others. Little work is left to the search itself.
 */
import type { CollectionReader } from "../../index/reader.ts"
import type { RelevanceUnit, SearchPlan } from "../../plan.ts"
import { inSlices, pause } from "../../turns.ts"
import { buildMissing, missingDocs } from "./unit-columns.ts"

/** Documents that a search may read on its own: about ten milliseconds. */
const INLINE_DOCS = 500
const SLICE_ms = 1
/**
 * A collection that changes faster than it can be read is searched with what is there; the search reads the rest
 * itself.
 */
const ROUNDS_MAX = 4

/** One build per reader and set of units at a time: searches that come meanwhile wait for the same one. */
const running = new WeakMap<CollectionReader, Map<string, Promise<void>>>()

/** Units that searches of a collection asked for last, so that what comes new is made ready before the next one. */
const asked = new WeakMap<CollectionReader, Map<string, ReadonlyArray<RelevanceUnit>>>()
const ASKED_MAX = 4
const keyOf = (units: ReadonlyArray<RelevanceUnit>): string => JSON.stringify(units.map(({ name }) => name))
const noteAsked = (reader: CollectionReader, units: ReadonlyArray<RelevanceUnit>): void => {
  let own = asked.get(reader)
  if (own === undefined) asked.set(reader, (own = new Map()))
  const key = keyOf(units)
  own.delete(key)
  own.set(key, units)
  for (const oldest of own.keys()) {
    if (own.size <= ASKED_MAX) return
    own.delete(oldest)
  }
}
/**
 * What was published since, for the units that are asked for; searches that come meanwhile wait for the same.
 * `isWanted` is asked before each step: stored documents cannot be read once their engine has closed.
 */
export const prepareAsked = async (reader: CollectionReader, isWanted: () => boolean): Promise<void> => {
  for (const units of [...(asked.get(reader)?.values() ?? [])])
    if (isWanted() && missingDocs(reader.views, units) > INLINE_DOCS) await building(reader, units, isWanted)
}
function* whileWanted(work: Generator<void, void>, isWanted: () => boolean): Generator<void, void> {
  while (isWanted() && work.next().done !== true) yield
}

/** undefined when nothing large is missing. */
export const prepareRelevance = (
  plans: ReadonlyArray<SearchPlan>,
  readerOf: (collection: string) => CollectionReader | undefined
): Promise<void> | undefined => {
  const works: Array<Promise<void>> = []
  for (const { collection, text } of plans) {
    const reader = readerOf(collection),
      units = text?.relevance?.units
    if (reader === undefined || units === undefined) continue
    noteAsked(reader, units)
    if (missingDocs(reader.views, units) > INLINE_DOCS) works.push(building(reader, units))
  }
  return works.length === 0 ? undefined : Promise.all(works).then(() => undefined)
}

const building = (
  reader: CollectionReader,
  units: ReadonlyArray<RelevanceUnit>,
  isWanted = (): boolean => true
): Promise<void> => {
  let own = running.get(reader)
  if (own === undefined) running.set(reader, (own = new Map()))
  const key = keyOf(units)
  let work = own.get(key)
  if (work === undefined) own.set(key, (work = build(reader, units, isWanted).finally(() => own.delete(key))))
  return work
}
const build = async (
  reader: CollectionReader,
  units: ReadonlyArray<RelevanceUnit>,
  isWanted: () => boolean
): Promise<void> => {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    for (const view of reader.views)
      await inSlices(whileWanted(buildMissing(reader, view, units), isWanted), SLICE_ms, pause)
    // Segments that were published meanwhile are read in the next round.
    if (!isWanted() || missingDocs(reader.views, units) <= INLINE_DOCS) return
  }
}
