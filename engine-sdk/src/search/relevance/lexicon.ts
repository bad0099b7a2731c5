/**
 * The units of a search over all segments of a collection: where a word occurs, how many documents have it, and how
 * often two words occur together. Statistics count deleted documents until a merge drops them; they are the same for
 * every filter, so a filter never changes a score.
 */
import { encodeUtf8, passingUtf8 } from "../../index/bytes.ts"
import { expandTerm } from "../../index/expand.ts"
import { spend } from "../../budget/cutoff.ts"
import type { CollectionReader, SegmentView } from "../../index/reader.ts"
import type { RelevanceUnit } from "../../plan.ts"
import { frequenciesOf } from "./frequency-table.ts"
import { unitsOf } from "./unit-columns.ts"
import { FIRST_TERM, GAP, PARTS, type UnitIndex } from "./unit-index.ts"

/** Term number of one root per segment and unit (segment · units + unit), -1 where it is absent. */
export type Places = ReadonlyArray<number>

/** Words less than this many positions apart are near each other. */
const NEAR = 8

export class Lexicon {
  readonly units: ReadonlyArray<RelevanceUnit>
  /** Per segment, in the order of `units`. */ readonly segments: ReadonlyArray<ReadonlyArray<UnitIndex>>
  readonly docs: number
  /** Average number of words of each unit, over documents that have it. */ readonly lengthMeans: ReadonlyArray<number>
  readonly views: ReadonlyArray<SegmentView>
  /** Identifies data derived for these units. */ readonly name: string
  /** Data cached with the collection between searches. */ readonly derived: Map<string, unknown>
  private readonly reader: CollectionReader
  private readonly known = new Map<string, Places | undefined>()

  constructor(reader: CollectionReader, units: ReadonlyArray<RelevanceUnit>) {
    this.reader = reader
    this.derived = reader.derived
    this.views = reader.views
    this.name = JSON.stringify(units.map(({ name }) => name))
    this.units = units
    this.segments = reader.views.map((view) => unitsOf(reader, view, units))
    this.docs = reader.views.reduce((sum, { segment }) => sum + segment.docs, 0)
    this.lengthMeans = units.map((_unit, u) => {
      let total = 0,
        docsWith = 0
      for (const own of this.segments) {
        total += own[u].lengthTotal
        docsWith += own[u].docsWith
      }
      return docsWith === 0 ? 1 : total / docsWith
    })
  }

  /** undefined when no document has the root. */
  places(stem: string): Places | undefined {
    if (this.known.has(stem)) return this.known.get(stem)
    const found = this.placesOf(passingUtf8(stem))
    this.known.set(stem, found)
    return found
  }
  private placesOf(bytes: Uint8Array): Places | undefined {
    const width = this.units.length
    const places: number[] = []
    let isKnown = false
    for (let s = 0; s < this.segments.length; s++)
      for (let u = 0; u < width; u++) {
        const term = this.segments[s][u].terms.find(bytes)
        places.push(term)
        if (term >= 0) isKnown = true
      }
    return isKnown ? places : undefined
  }
  /** Number of documents with a root in the unit where it is most frequent: a lower bound for all units together. */
  frequency(places: Places): number {
    const width = this.units.length
    let most = 0
    for (let u = 0; u < width; u++) {
      let docs = 0
      for (let s = 0; s < this.segments.length; s++) {
        const term = places[s * width + u]
        if (term >= 0) docs += this.segments[s][u].frequency(term)
      }
      if (docs > most) most = docs
    }
    return most
  }
  /**
   * Number of documents that have the root of a unit's term, in the unit where it is most frequent. While the tables
   * are not up to date, the root is looked up in every segment, which takes microseconds; a search has some thousand.
   */
  frequencies(): (unit: UnitIndex, term: number) => number {
    const tables = this.units.map(({ name }, u) =>
      frequenciesOf(
        this.reader,
        name,
        this.segments.map((own) => own[u])
      )
    )
    if (!tables.every((table) => table !== undefined))
      return ({ terms }, term) => this.frequency(this.placesOf(terms.key(term))!)
    return ({ hashes }, term) => {
      const hash = hashes[term]
      let most = 0
      for (const table of tables) most = Math.max(most, table.frequency(hash))
      return most
    }
  }
  /** Calls `visit` with each word of any segment and unit at exactly `cost` edits, or with completions at cost 0. */
  expand(surface: string, cost: number, prefix: boolean, visit: (surface: string, stem: string) => void): void {
    const bytes = encodeUtf8(surface)
    for (const own of this.segments)
      for (const unit of own) {
        const { surfaces, terms } = unit
        expandTerm(surfaces, bytes, cost, prefix, (at) =>
          visit(surfaces.terms.text(at), terms.text(surfaces.termOf[at]))
        )
      }
  }
}

/** How often two terms are adjacent, and how often they are near each other, in the document counted last. */
export let adjacent = 0
export let near = 0
/** Counts both in one document of a unit. `a` and `b` are term numbers of that unit. O(words). */
export const countPairs = (unit: UnitIndex, doc: number, a: number, b: number): void => {
  adjacent = 0
  near = 0
  const { stream, streamStarts } = unit
  const start = streamStarts[doc],
    end = streamStarts[doc + 1]
  if (end - start < 2) return
  spend(end - start)
  const first = a + FIRST_TERM,
    second = b + FIRST_TERM
  let lastA = -NEAR,
    lastB = -NEAR
  for (let i = start; i < end; i++) {
    const term = stream[i]
    if (term === first) {
      if (i - lastB < NEAR) near++
      lastA = i
    } else if (term === second) {
      if (i - lastA === 1) adjacent++
      if (i - lastA < NEAR) near++
      lastB = i
    } else if (term <= PARTS) {
      if (term !== GAP) return
      lastA = -NEAR
      lastB = -NEAR
    }
  }
}
